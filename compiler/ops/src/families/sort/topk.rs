//! The largest or smallest elements.
//!
//! A small `k` takes one pass that maintains the best elements so far in order (see [`super::insertion`]). A large `k`
//! of a longer line takes one that collects candidates (see [`super::reservoir`]), any other a prefix of the sorted
//! line. `k = 1` is an arg-reduction.

use super::{
    Order, Sorted,
    best::Best,
    check_axis, from_line, index_dtype,
    insertion::{Insertion, MAX_INSERTED},
    lanes::{self, LaneSelection},
    rank::ranks,
    reservoir::{self, Reservoir, is_selective},
    to_line,
};
use crate::{
    CallContext,
    legalize::{Builder, Input, Legalized, loops::LANES},
    op::{AttrKind, Op},
    rules::Inferred,
};
use hammock_ir::{DType, PrimExpr, TensorShape, TensorType, Type, relax::InferError, tir::Buffer};

/// Maximum `k` for insertion in lines that are long enough for a reservoir: with `k` of 4 it takes as long in random
/// order, and a fraction in ascending order.
const MAX_INSERTED_OF_LONG_LINES: i64 = 3;

/// `topk`
pub fn topk() -> Op {
    Op::new("topk")
        .doc("The `k` largest elements along an axis, sorted, with their indices; all of them if `k` is less than 1.")
        .example("x: float32[2, 5]", "x, k=2")
        .tensor("data")
        .attr("k", AttrKind::Int, 1)
        .attr("axis", AttrKind::Int, -1)
        .attr("ret_type", AttrKind::Str, "both")
        .attr("largest", AttrKind::Bool, true)
        .attr("dtype", AttrKind::DType, DType::INT32)
        .infer(topk_type)
        .legalize(topk_tir)
}

/// Returns whether values and whether positions are requested.
fn returns(cx: &CallContext) -> Result<(bool, bool), InferError> {
    let kind = cx.one_of("ret_type", &["both", "values", "indices"])?;
    Ok((kind != "indices", kind != "values"))
}

fn topk_type(cx: &CallContext) -> Inferred {
    check_axis(cx, "data")?;
    let data = cx.tensor("data")?;
    let k = cx.int("k")?;
    let shape = match (data.dims(), data.ndim()) {
        (Some(dims), _) if k >= 1 => {
            let axis = cx.axis("axis", dims.len())?;
            if dims[axis].as_int().is_some_and(|n| n < k) {
                let length = crate::text::dim_text(&dims[axis]);
                return Err(cx.error_at("k", format_args!("`k` is {k}, but the size of axis {axis} is only {length}")));
            }
            let mut dims = dims.to_vec();
            dims[axis] = k.into();
            TensorShape::Known(dims.into())
        }
        (Some(dims), _) => TensorShape::Known(dims.into()),
        (None, Some(ndim)) => TensorShape::Rank(ndim),
        (None, None) => TensorShape::Unknown,
    };
    let positions = TensorType { shape: shape.clone(), dtype: cx.dtype("dtype")?, vdevice: data.vdevice.clone() };
    let values = TensorType { shape, ..data };
    Ok(match returns(cx)? {
        (true, true) => Type::Tuple(vec![values.into(), positions.into()]),
        (true, false) => values.into(),
        _ => positions.into(),
    })
}

fn topk_tir(cx: &CallContext) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, "topk")?;
    let x = b.input("data")?;
    let axis = cx.axis("axis", x.ndim())?;
    let order = Order::of(cx.bool("largest")?);
    let k = cx.int("k")?;
    b.require(x.shape()[axis].clone().ge(k), "the axis has fewer than `k` elements");
    let (values, positions) = returns(cx)?;
    let values = values.then(|| b.output("topk_values")).transpose()?;
    let positions = positions.then(|| b.output("topk_indices")).transpose()?;
    let dtype = positions.as_ref().map_or(DType::INT32, |p| index_dtype(p.dtype));
    if k == 1 && order == Order::Descending && (x.dtype().is_floating() || x.dtype().is_integer()) {
        let best = Best::argmax(&mut b, &x, axis);
        values.iter().for_each(|out| b.compute(out, |i| PrimExpr::load(&best.values, i.to_vec())));
        let position = |out: &Buffer, i: &[PrimExpr]| PrimExpr::load(&best.positions, i.to_vec()).cast(out.dtype);
        positions.iter().for_each(|out| b.compute(out, |i| position(out, i)));
    } else if let Some(lane_axis) = lanes::axis(x.shape(), axis, x.dtype(), k) {
        let lanes =
            LaneSelection { x: &x, axis, lane_axis, order, k, values: values.as_ref(), positions: positions.as_ref() };
        lanes.select(&mut b);
    } else if selects(&x.shape()[axis], x.dtype(), k) {
        let best = select(&mut b, &x, axis, order, k, dtype);
        let place = |buffer: &Buffer, i: &[PrimExpr]| PrimExpr::load(buffer, to_line(i, axis));
        values.iter().for_each(|out| b.compute(out, |i| place(&best.values, i)));
        positions.iter().for_each(|out| b.compute(out, |i| place(&best.positions, i).cast(out.dtype)));
    } else {
        let count = if k > 0 { k.into() } else { x.shape()[axis].clone() };
        let sorted = Sorted::first(&mut b, &x, axis, order, Some(dtype), &count);
        values.iter().for_each(|out| b.compute(out, |i| sorted.value(&to_line(i, axis))));
        positions.iter().for_each(|out| b.compute(out, |i| sorted.position(&to_line(i, axis)).cast(out.dtype)));
    }
    Ok(b.finish())
}

/// Returns true if selection is faster than a prefix of the sorted line.
fn selects(length: &PrimExpr, dtype: DType, k: i64) -> bool {
    k > 0 && !ranks(length, dtype, k) && (k <= MAX_INSERTED || is_selective(length, k))
}

/// Returns true if insertion is faster than a reservoir. Dynamic lines are assumed to be short.
fn inserts(length: &PrimExpr, k: i64) -> bool {
    let is_long = length.as_int().is_some_and(|length| length >= reservoir::min_length(k));
    k <= if is_long { MAX_INSERTED_OF_LONG_LINES } else { MAX_INSERTED }
}

/// Selects the best elements by one pass over each line.
fn select(b: &mut Builder, x: &Input, axis: usize, order: Order, k: i64, dtype: DType) -> Best {
    let mut lines = x.shape().to_vec();
    lines.remove(axis);
    let shape = [&lines[..], &[k.into()]].concat();
    let best = Best { values: b.temp("best", shape.clone(), x.dtype()), positions: b.temp("best_at", shape, dtype) };
    let length = &x.shape()[axis];
    let in_vectors = axis + 1 == x.ndim() && length.as_int().is_none_or(|length| length >= 4 * LANES);
    b.block("topk", &lines, |line| match inserts(length, k) {
        true => {
            let element = &|j: &PrimExpr| x.at(&from_line(line, j, axis));
            Insertion { element, position: &PrimExpr::clone, length, in_vectors, line, order, k, best: &best }.select()
        }
        false => Reservoir { x, axis, line, order, k, best: &best }.select(),
    });
    best
}
