//! Slices with a stride.
//!
//! Bounds follow Python: negative ones count from the end, and both are then clamped to the axis. Symbolic dimensions
//! are nonnegative, so only the sign of other expressions is checked at run time.

use super::expect_integers;
use crate::{
    CallContext, dims,
    legalize::{Builder, Legalized},
    op::{AttrKind, NONE, Op, OperandKind},
    precision::Precision,
    relayout,
    rules::{Inferred, expect_ndim},
};
use hammock_ir::{
    DType, PrimExpr, TensorShape, TensorType,
    prim::{BinaryOp, PrimKind},
    relax::InferError,
};

/// The operators of this file.
pub fn ops() -> Vec<Op> {
    vec![strided_slice(), dynamic_strided_slice()]
}

fn strided_slice() -> Op {
    Op::new("strided_slice")
        .doc("Slices some axes by `begin:end:strides`, with Python's rules.")
        .example("x: float32[2, 5]", "x, axes=[1], begin=[0], end=[5], strides=[2]")
        .tensor("x")
        .operand("axes", OperandKind::Prims)
        .operand("begin", OperandKind::Prims)
        .operand("end", OperandKind::Prims)
        .operand_or("strides", OperandKind::Prims, NONE)
        .attr("assume_inbound", AttrKind::Bool, false)
        .layouts(relayout::slices)
        .precision(Precision::Follow)
        .infer(strided_slice_type)
        .legalize(strided_slice_tir)
}

/// The slice of one axis.
struct Slice {
    axis: usize,
    begin: PrimExpr,
    stride: PrimExpr,
    length: PrimExpr,
}

fn strided_slice_type(cx: &CallContext) -> Inferred {
    let x = cx.tensor("x")?;
    let Some(ndim) = x.ndim() else { return Ok(x.into()) };
    let slices = match x.dims() {
        Some(dims) => slices(cx, dims)?,
        None => slices(cx, &vec![PrimExpr::int64(0); ndim])?.and(None),
    };
    let shape = match (slices, x.dims()) {
        (Some(slices), Some(dims)) => {
            let mut dims = dims.to_vec();
            slices.into_iter().for_each(|s| dims[s.axis] = s.length);
            TensorShape::Known(dims.into())
        }
        _ => TensorShape::Rank(ndim),
    };
    Ok(TensorType { shape, ..x }.into())
}

fn strided_slice_tir(cx: &CallContext) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, "strided_slice")?;
    let x = b.input("x")?;
    let out = b.output("T_strided_slice")?;
    let dims = cx.tensor("x")?.dims().map(<[_]>::to_vec).unwrap_or_default();
    let slices = slices(cx, &dims)?.unwrap_or_default();
    let own: Vec<_> = slices.iter().map(|s| (s.axis, b.dim(&s.begin), b.dim(&s.stride))).collect();
    if cx.bool("assume_inbound")? {
        for (axis, begin, stride) in &own {
            let (extent, length) = (&x.shape()[*axis], &out.shape[*axis]);
            let last = dims::add(begin, &dims::mul(&dims::offset(length, -1), stride));
            let inside = |at: &PrimExpr| at.clone().ge(0i64).and(at.clone().lt(extent));
            let fits = length.clone().le(0i64).or(inside(begin).and(inside(&last)));
            b.require(fits, &format!("`begin` and `end` are not inside of axis {axis}, as `assume_inbound` says"));
        }
    }
    b.compute(&out, |i| {
        let mut at = i.to_vec();
        for (axis, begin, stride) in &own {
            at[*axis] = dims::add(begin, &dims::mul(&i[*axis], stride));
        }
        x.at(&at)
    });
    Ok(b.finish())
}

/// The slices of a call; `None` if a tuple of bounds is a variable.
fn slices(cx: &CallContext, dims: &[PrimExpr]) -> Result<Option<Vec<Slice>>, InferError> {
    let (Some(axes), Some(begin), Some(end)) = (cx.prims("axes")?, cx.prims("begin")?, cx.prims("end")?) else {
        return Ok(None);
    };
    let strides = match cx.optional("strides") {
        Some(_) => cx.prims("strides")?,
        None => Some(vec![1i64.into(); axes.len()]),
    };
    let Some(strides) = strides else { return Ok(None) };
    for (name, list) in [("begin", &begin), ("end", &end), ("strides", &strides)] {
        if list.len() != axes.len() {
            let (got, want) = (list.len(), axes.len());
            return Err(cx.error_at(name, format_args!("`{name}` must have one value an axis: {want}, not {got}")));
        }
    }
    let inbound = cx.bool("assume_inbound")?;
    let mut all: Vec<Slice> = Vec::new();
    for (((axis, begin), end), stride) in axes.iter().zip(&begin).zip(&end).zip(&strides) {
        let Some(axis) = axis.as_int() else { return Err(cx.error_at("axes", "`axes` must be numbers")) };
        let axis = cx.normalize_axis("axes", axis, dims.len()).map_err(|e| e.at(1))?;
        if all.iter().any(|s| s.axis == axis) {
            return Err(cx.error_at("axes", format_args!("`axes` names axis {axis} twice")));
        }
        if dims::is(stride, 0) {
            return Err(cx.error_at("strides", "`strides` must not be zero"));
        }
        let [begin, end, stride] = [begin, end, stride].map(|e| e.clone().cast(DType::INT64));
        all.push(slice(cx, axis, &dims[axis], [begin, end, stride], inbound));
    }
    Ok(Some(all))
}

fn slice(cx: &CallContext, axis: usize, extent: &PrimExpr, bounds: [PrimExpr; 3], inbound: bool) -> Slice {
    let [begin, end, stride] = bounds;
    let down = stride.as_int().is_some_and(|s| s < 0);
    let (low, high) = match down {
        true => (PrimExpr::int64(-1), dims::sub(extent, &1i64.into())),
        false => (PrimExpr::int64(0), extent.clone()),
    };
    let place = |bound: &PrimExpr| {
        let (placed, positive) = from_end(cx, bound, extent);
        match inbound {
            true => placed,
            false if positive && !down => dims::min(&placed, &high),
            false => dims::min(&dims::max(&placed, &low), &high),
        }
    };
    let (begin, end) = (place(&begin), place(&end));
    let (way, step) = match down {
        true => (dims::sub(&begin, &end), step_down(&stride)),
        false => (difference(&end, &begin), stride.clone()),
    };
    let from_zero_up = !down && !inbound && dims::is(&begin, 0);
    let never_negative = from_zero_up || matches!(way.kind(), PrimKind::Binary(BinaryOp::Max, ..));
    let length = dims::ceildiv(&way, &step);
    let length = if never_negative || (inbound && length.as_int().is_none()) {
        length
    } else {
        dims::max(&length, &0i64.into())
    };
    Slice { axis, begin, stride, length }
}

/// The magnitude of a negative stride. No axis is 2^63 elements long, so for the minimum the maximum of int64 is
/// equivalent.
fn step_down(stride: &PrimExpr) -> PrimExpr {
    match stride.as_int() {
        Some(stride) => PrimExpr::int64(stride.saturating_neg()),
        None => dims::sub(&0i64.into(), stride),
    }
}

/// `end - begin`, simplified: `n - min(c, n)` is `max(n - c, 0)`, and `n - max(n - c, 0)` is `min(c, n)`.
fn difference(end: &PrimExpr, begin: &PrimExpr) -> PrimExpr {
    let begin = &dims::simplify(begin);
    match begin.kind() {
        PrimKind::Binary(BinaryOp::Min, c, n) if dims::equal(n, end) == Some(true) => {
            dims::max(&dims::sub(end, c), &0i64.into())
        }
        PrimKind::Binary(BinaryOp::Max, zero, rest) if dims::is(zero, 0) => {
            let count = dims::simplify(&dims::sub(end, rest));
            if count.as_int().is_some() { dims::min(&count, end) } else { dims::sub(end, begin) }
        }
        _ => dims::sub(end, begin),
    }
}

/// A bound that counts from the end if negative; the flag is true if the result is certainly nonnegative.
fn from_end(cx: &CallContext, bound: &PrimExpr, extent: &PrimExpr) -> (PrimExpr, bool) {
    match bound.as_int() {
        Some(v) if v < 0 => (dims::add(extent, bound), false),
        Some(_) => (bound.clone(), true),
        None if is_size(cx, bound) => (bound.clone(), true),
        None => (bound.clone().lt(0i64).if_then_else(dims::add(bound, extent), bound.clone()), false),
    }
}

/// Returns true if an expression is certainly nonnegative: symbolic dimensions, and expressions of them without
/// subtraction.
fn is_size(cx: &CallContext, e: &PrimExpr) -> bool {
    match e.kind() {
        PrimKind::Int(v) => *v >= 0,
        PrimKind::Var(v) => cx.function.var_of_scalar(v).is_none(),
        PrimKind::Cast(e) => is_size(cx, e),
        PrimKind::Binary(op, a, b) => {
            use BinaryOp::{Add, Div, FloorDiv, FloorMod, Max, Min, Mul};
            match op {
                Add | Mul | FloorDiv | Div | Min | FloorMod => is_size(cx, a) && is_size(cx, b),
                Max => is_size(cx, a) || is_size(cx, b),
                _ => false,
            }
        }
        _ => false,
    }
}

fn dynamic_strided_slice() -> Op {
    Op::new("dynamic_strided_slice")
        .doc("Slices every axis, with bounds and strides known only at run time.")
        .example("x: float32[4]; b: int64[1]", r#"x, b, R.const([3], "int64"), R.const([1], "int64")"#)
        .tensor("x")
        .tensor("begin")
        .tensor("end")
        .tensor("strides")
        .precision(Precision::Follow)
        .infer(|cx| {
            let x = cx.tensor("x")?;
            for param in ["begin", "end", "strides"] {
                let bounds = cx.tensor(param)?;
                expect_ndim(cx, param, &bounds, 1)?;
                expect_integers(cx, param, &bounds)?;
                let count = bounds.dims().and_then(|d| d[0].as_int());
                if let (Some(ndim), Some(count)) = (x.ndim(), count)
                    && ndim as i64 != count
                {
                    let text = format_args!(
                        "`x` has {}, but `{param}` has length {count}",
                        hammock_ir::count(ndim, "dimension")
                    );
                    return Err(cx.error_at(param, text));
                }
            }
            let shape = x.ndim().map_or(TensorShape::Unknown, TensorShape::Rank);
            Ok(TensorType { shape, ..x }.into())
        })
        .packed("relax.run.dynamic_strided_slice")
}
