//! Repetition and reversal of elements.

use crate::{
    CallContext, dims,
    legalize::Builder,
    op::{AttrKind, NONE, Op},
    relayout,
    rules::{Inferred, expect_ndim, same_as},
};
use hammock_ir::{PrimExpr, TensorShape, TensorType, relax::InferError};

use super::unflatten;

/// The operators of this file.
pub fn ops() -> Vec<Op> {
    vec![repeat(), tile(), flip(), reverse_sequence()]
}

fn repeat() -> Op {
    Op::new("repeat")
        .doc("Repeats each element along an axis, or each element of the flattened tensor.")
        .example("x: float32[2, 3]", "x, repeats=2, axis=0")
        .tensor("data")
        .required("repeats", AttrKind::Int)
        .attr("axis", AttrKind::OptionalInt, NONE)
        .layouts(relayout::repeated)
        .infer(repeat_type)
        .legalize(|cx| {
            let mut b = Builder::new(cx, "repeat")?;
            let x = b.input("data")?;
            let times = PrimExpr::int64(cx.int("repeats")?);
            let axis = cx.optional_int("axis")?.map(|_| cx.axis("axis", x.ndim())).transpose()?;
            let out = b.output("T_repeat")?;
            b.compute(&out, |i| {
                let mut own = i.to_vec();
                let place = axis.unwrap_or(0);
                own[place] = dims::floordiv(&i[place], &times);
                if axis.is_none() { x.at(&unflatten(&own[0], x.shape())) } else { x.at(&own) }
            });
            Ok(b.finish())
        })
}

fn repeat_type(cx: &CallContext) -> Inferred {
    let x = cx.tensor("data")?;
    let times = positive(cx, "repeats", cx.int("repeats")?)?;
    let Some(axis) = cx.optional_int("axis")? else {
        let flat = x.dims().map(|d| dims::mul(&dims::product(d), &times));
        let shape = flat.map_or(TensorShape::Rank(1), |n| TensorShape::Known([n].into()));
        return Ok(TensorType { shape, ..x }.into());
    };
    let Some(ndim) = x.ndim() else { return Ok(x.into()) };
    let axis = cx.normalize_axis("axis", axis, ndim)?;
    let shape = match x.dims() {
        Some(dims) => {
            let mut dims = dims.to_vec();
            dims[axis] = dims::mul(&dims[axis], &times);
            TensorShape::Known(dims.into())
        }
        None => TensorShape::Rank(ndim),
    };
    Ok(TensorType { shape, ..x }.into())
}

fn positive(cx: &CallContext, name: &str, value: i64) -> Result<PrimExpr, InferError> {
    if value <= 0 {
        return Err(cx.error_at(name, format_args!("`{name}` must be positive, not {value}")));
    }
    Ok(value.into())
}

fn tile() -> Op {
    Op::new("tile")
        .doc(
            "Repeats the whole tensor along each axis; the shorter of shape and `repeats` is padded with leading ones.",
        )
        .example("x: float32[2, 3]", "x, repeats=(2, 1)")
        .tensor("data")
        .required("repeats", AttrKind::Ints)
        .layouts(relayout::tiled)
        .infer(|cx| {
            let x = cx.tensor("data")?;
            let times = cx.ints("repeats")?;
            if let Some(bad) = times.iter().find(|t| **t < 0) {
                return Err(cx.error_at("repeats", format_args!("`repeats` must not hold {bad}")));
            }
            let Some(ndim) = x.ndim() else { return Ok(TensorType { shape: TensorShape::Unknown, ..x }.into()) };
            let rank = ndim.max(times.len());
            let shape = x.dims().map(|dims| {
                let size = |i: usize| {
                    let own = (i + ndim).checked_sub(rank).map_or(1i64.into(), |i| dims[i].clone());
                    let times = (i + times.len()).checked_sub(rank).map_or(1, |i| times[i]);
                    dims::mul(&own, &times.into())
                };
                TensorShape::Known((0..rank).map(size).collect())
            });
            Ok(TensorType { shape: shape.unwrap_or(TensorShape::Rank(rank)), ..x }.into())
        })
        .legalize(|cx| {
            let mut b = Builder::new(cx, "tile")?;
            let x = b.input("data")?;
            let out = b.output("T_tile")?;
            b.compute(&out, |i| {
                let own = i[out.ndim() - x.ndim()..].iter().zip(x.shape());
                x.at(&own
                    .map(|(i, size)| if dims::is(size, 1) { 0i64.into() } else { i.clone().floormod(size) })
                    .collect::<Vec<_>>())
            });
            Ok(b.finish())
        })
}

fn flip() -> Op {
    Op::new("flip")
        .doc("Reverses the elements along an axis.")
        .example("x: float32[2, 3]", "x, axis=1")
        .tensor("data")
        .required("axis", AttrKind::Int)
        .layouts(relayout::along)
        .infer(|cx| {
            let x = cx.tensor("data")?;
            if let Some(ndim) = x.ndim() {
                cx.axis("axis", ndim)?;
            }
            Ok(x.into())
        })
        .legalize(|cx| {
            let mut b = Builder::new(cx, "flip")?;
            let x = b.input("data")?;
            let axis = cx.axis("axis", x.ndim())?;
            let out = b.output("T_flip")?;
            b.compute(&out, |i| {
                let mut own = i.to_vec();
                own[axis] = dims::sub(&dims::sub(&x.shape()[axis], &i[axis]), &1i64.into());
                x.at(&own)
            });
            Ok(b.finish())
        })
}

fn reverse_sequence() -> Op {
    Op::new("reverse_sequence")
        .doc("Reverses the first `seq_lengths[b]` elements along one axis, for each `b` of the batch axis.")
        .example("x: float32[2, 3]; n: int64[2]", "x, n, seq_axis=1, batch_axis=0")
        .tensor("data")
        .tensor("seq_lengths")
        .attr("seq_axis", AttrKind::Int, 1)
        .attr("batch_axis", AttrKind::Int, 0)
        .infer(|cx| {
            let (x, lengths) = (cx.tensor("data")?, cx.tensor("seq_lengths")?);
            expect_ndim(cx, "seq_lengths", &lengths, 1)?;
            if lengths.dtype.is_some_and(|t| !t.is_integer()) {
                return Err(cx.error_at("seq_lengths", "`seq_lengths` must hold integers"));
            }
            let Some(ndim) = x.ndim() else { return Ok(x.into()) };
            let (_, batch) = (cx.axis("seq_axis", ndim)?, cx.axis("batch_axis", ndim)?);
            if let (Some(x), Some(l)) = (x.dims(), lengths.dims())
                && dims::equal(&x[batch], &l[0]) == Some(false)
            {
                return Err(
                    cx.error_at("seq_lengths", "`seq_lengths` must have one length for each index of the batch axis")
                );
            }
            same_as("data")(cx)
        })
        .legalize(|cx| {
            let mut b = Builder::new(cx, "reverse_sequence")?;
            let (x, lengths) = (b.input("data")?, b.input("seq_lengths")?);
            let (axis, batch) = (cx.axis("seq_axis", x.ndim())?, cx.axis("batch_axis", x.ndim())?);
            let out = b.output("T_reverse_sequence")?;
            let text = "`seq_lengths` must have one length for each index of the batch axis";
            b.require_equal(&lengths.shape()[0], &x.shape()[batch], text);
            b.compute(&out, |i| {
                let length = lengths.index_at(&i[batch..=batch]);
                let mirrored = length.clone() - &i[axis] - 1i64;
                let mut own = i.to_vec();
                own[axis] = i[axis].clone().lt(length).select(mirrored, i[axis].clone());
                x.at(&own)
            });
            Ok(b.finish())
        })
}
