//! Gathers with index tensors. Negative indices count from the end.

use super::{expect_all_inside, expect_inside, expect_integers, from_end, int64};
use crate::{
    CallContext,
    legalize::{Builder, Input, Legalized},
    op::{AttrKind, Op, OperandKind},
    relayout,
    rules::{Inferred, broadcast_shapes, common_vdevice},
};
use hammock_ir::{PrimExpr, TensorShape, TensorType, count, relax::InferError};

/// The operators of this file.
pub fn ops() -> Vec<Op> {
    vec![gather_elements(), gather_nd(), index_tensor()]
}

fn gather_elements() -> Op {
    Op::new("gather_elements")
        .doc(
            "Gathers elements: along `axis` the position comes from `indices`, along the other axes it is the \
              index's own.",
        )
        .example("x: float32[2, 3]; i: int64[2, 1]", "x, i, axis=1")
        .tensor("data")
        .tensor("indices")
        .attr("axis", AttrKind::Int, 0)
        .layouts(relayout::gather_elements)
        .infer(|cx| {
            let (data, indices) = (cx.tensor("data")?, cx.tensor("indices")?);
            expect_integers(cx, "indices", &indices)?;
            if let (Some(a), Some(b)) = (data.ndim(), indices.ndim())
                && a != b
            {
                return Err(
                    cx.error_at("indices", format_args!("`data` has {}, but `indices` has {b}", count(a, "dimension")))
                );
            }
            if let Some(ndim) = data.ndim() {
                let axis = cx.axis("axis", ndim)?;
                let (Some(d), Some(i)) = (data.dims(), indices.dims()) else { return gathered(cx, data, indices) };
                expect_inside(cx, "indices", cx.operand("indices")?, &d[axis..=axis])?;
                let longer = |a: &usize| i[*a].as_int().zip(d[*a].as_int()).is_some_and(|(i, d)| i > d);
                if let Some(other) = (0..ndim).filter(|a| *a != axis).find(longer) {
                    return Err(cx.error_at("indices", format_args!("`indices` is longer than `data` in axis {other}")));
                }
            }
            gathered(cx, data, indices)
        })
        .legalize(|cx| {
            let mut b = Builder::new(cx, "gather")?;
            let (data, indices) = (b.input("data")?, b.input("indices")?);
            let axis = cx.axis("axis", data.ndim())?;
            let out = b.output("T_gather")?;
            for other in (0..data.ndim()).filter(|other| *other != axis) {
                let (own, longest) = (indices.shape()[other].clone(), data.shape()[other].clone());
                b.require(own.le(longest), &format!("`indices` is longer than `data` in axis {other}"));
            }
            b.compute(&out, |i| {
                let mut at = i.to_vec();
                at[axis] = from_end(indices.index_at(i), &data.shape()[axis]);
                data.at(&at)
            });
            Ok(b.finish())
        })
}

/// The type of elements of `data` in the shape of `indices`.
fn gathered(cx: &CallContext, data: TensorType, indices: TensorType) -> Inferred {
    let vdevice = common_vdevice(cx, [&data, &indices])?;
    Ok(TensorType { shape: indices.shape, dtype: data.dtype, vdevice }.into())
}

fn gather_nd() -> Op {
    Op::new("gather_nd")
        .doc(
            "For each index vector in the last axis of `indices`, the slice of `data` at that index, after \
             `batch_dims` shared axes.",
        )
        .example("x: float32[2, 3]; i: int64[4, 1]", "x, i")
        .tensor("data")
        .tensor("indices")
        .attr("batch_dims", AttrKind::Int, 0)
        .infer(gather_nd_type)
        .legalize(gather_nd_tir)
}

/// Number of batch axes, and number of axes per index vector.
fn gather_nd_axes(cx: &CallContext, data: usize, rows: &PrimExpr) -> Result<Option<(usize, usize)>, InferError> {
    let batch = usize::try_from(cx.int("batch_dims")?)
        .map_err(|_| cx.error_at("batch_dims", "`batch_dims` must not be negative"))?;
    let Some(count) = rows.as_int() else { return Ok(None) };
    let count = count.max(0) as usize;
    if batch + count > data {
        let text = format_args!(
            "an index of {} after {} is too long for `data` of {}",
            hammock_ir::count(count, "number"),
            hammock_ir::count(batch, "shared dimension"),
            hammock_ir::count(data, "dimension"),
        );
        return Err(cx.error_at("indices", text));
    }
    Ok(Some((batch, count)))
}

fn gather_nd_type(cx: &CallContext) -> Inferred {
    let (data, indices) = (cx.tensor("data")?, cx.tensor("indices")?);
    expect_integers(cx, "indices", &indices)?;
    let vdevice = common_vdevice(cx, [&data, &indices])?;
    let unknown = |shape| Ok(TensorType { shape, dtype: data.dtype, vdevice: vdevice.clone() }.into());
    if indices.ndim() == Some(0) {
        return Err(cx.error_at("indices", "`indices` must have at least one dimension"));
    }
    let (Some(ndim), Some(places)) = (data.ndim(), indices.dims()) else { return unknown(TensorShape::Unknown) };
    let Some((batch, count)) = gather_nd_axes(cx, ndim, &places[places.len() - 1])? else {
        return unknown(TensorShape::Unknown);
    };
    let outer = &places[..places.len() - 1];
    match data.dims() {
        Some(dims) => {
            expect_inside(cx, "indices", cx.operand("indices")?, &dims[batch..batch + count])?;
            unknown(TensorShape::Known([outer, &dims[batch + count..]].concat().into()))
        }
        None => unknown(TensorShape::Rank(outer.len() + ndim - batch - count)),
    }
}

fn gather_nd_tir(cx: &CallContext) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, "gather_nd")?;
    let (data, indices) = (b.input("data")?, b.input("indices")?);
    let out = b.output("T_gather_nd")?;
    let outer = indices.ndim() - 1;
    let axes = gather_nd_axes(cx, data.ndim(), &indices.shape()[outer])?;
    let (batch, count) = axes.ok_or_else(|| cx.error_at("indices", "the last size of `indices` must be known"))?;
    for (a, c) in indices.shape()[..batch].iter().zip(data.shape()) {
        b.require_equal(a, c, "`indices` and `data` differ in a shared axis");
    }
    b.compute(&out, |i| {
        let place = |n: usize| {
            let at = [&i[..outer], &[PrimExpr::int64(n as i64)]].concat();
            from_end(indices.index_at(&at), &data.shape()[batch + n])
        };
        let at: Vec<_> =
            i[..batch].iter().cloned().chain((0..count).map(place)).chain(i[outer..].iter().cloned()).collect();
        data.at(&at)
    });
    Ok(b.finish())
}

fn index_tensor() -> Op {
    Op::new("index_tensor")
        .doc("`data[i, j, …]` with index tensors that broadcast to one shape, for the leading axes.")
        .example("x: float32[2, 3]; i: int64[4]", "x, (i,)")
        .tensor("data")
        .operand("indices", OperandKind::Tensors)
        .infer(index_tensor_type)
        .legalize(|cx| {
            let mut b = Builder::new(cx, "index_tensor")?;
            let (data, indices) = (b.input("data")?, b.inputs("indices")?);
            let out = b.output("T_index_tensor")?;
            let outer = out.ndim() + indices.len() - data.ndim();
            b.compute(&out, |i| {
                let place = |(n, t): (usize, &Input)| {
                    from_end(int64(t.broadcast_to(&i[..outer], &out.shape[..outer])), &data.shape()[n])
                };
                let at: Vec<_> = indices.iter().enumerate().map(place).chain(i[outer..].iter().cloned()).collect();
                data.at(&at)
            });
            Ok(b.finish())
        })
}

fn index_tensor_type(cx: &CallContext) -> Inferred {
    let (data, indices) = (cx.tensor("data")?, cx.tensors("indices")?);
    if indices.is_empty() {
        return Err(cx.error_at("indices", "`indices` must not be empty"));
    }
    indices.iter().try_for_each(|t| expect_integers(cx, "indices", t))?;
    let vdevice = common_vdevice(cx, std::iter::once(&data).chain(&indices))?;
    let named: Vec<(&str, &TensorType)> = indices.iter().map(|t| ("indices", t)).collect();
    let outer = broadcast_shapes(cx, &named)?;
    let Some(ndim) = data.ndim() else {
        return Ok(TensorType { shape: TensorShape::Unknown, dtype: data.dtype, vdevice }.into());
    };
    if indices.len() > ndim {
        return Err(cx.error_at(
            "indices",
            format_args!(
                "`data` has {}, fewer than `indices` has members, {}",
                count(ndim, "dimension"),
                indices.len()
            ),
        ));
    }
    if let Some(dims) = data.dims() {
        expect_all_inside(cx, "indices", dims)?;
    }
    let shape = match (&outer, data.dims()) {
        (TensorShape::Known(outer), Some(dims)) => TensorShape::Known([outer, &dims[indices.len()..]].concat().into()),
        _ => match outer.ndim() {
            Some(n) => TensorShape::Rank(n + ndim - indices.len()),
            None => TensorShape::Unknown,
        },
    };
    Ok(TensorType { shape, dtype: data.dtype, vdevice }.into())
}
