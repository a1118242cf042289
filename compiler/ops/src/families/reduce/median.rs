//! `median`

use super::kept_dims;
use crate::{
    CallContext, dims,
    families::{
        manipulate::unflatten,
        sort::{Order, Sorted},
    },
    legalize::{Builder, Legalized},
    op::{AttrKind, NONE, Op},
    rules::Inferred,
};
use hammock_ir::{DType, PrimExpr, TensorShape, TensorType, Type, relax::InferError};

/// `median`
pub fn median() -> Op {
    Op::new("median")
        .doc("The median, the lower one of two: along an axis, with its index, or of all elements, without.")
        .example("x: float32[2, 5]", "x, axis=[1]")
        .tensor("x")
        .attr("axis", AttrKind::OptionalInts, NONE)
        .attr("keepdims", AttrKind::Bool, false)
        .infer(median_type)
        .legalize(median_tir)
}

/// The axis; `None` for all elements.
fn axis_of(cx: &CallContext, ndim: usize) -> Result<Option<usize>, InferError> {
    match cx.optional_ints("axis")?.unwrap_or_default().as_slice() {
        [] => Ok(None),
        [axis] => cx.normalize_axis("axis", *axis, ndim).map(Some),
        _ => Err(cx.error_at("axis", "`axis` must be one axis, or none for all elements")),
    }
}

fn median_type(cx: &CallContext) -> Inferred {
    let x = cx.tensor("x")?;
    let keep = cx.bool("keepdims")?;
    let single = cx.optional_ints("axis")?.is_some_and(|a| a.len() == 1);
    let shape = match x.ndim() {
        None if single || keep => TensorShape::Unknown,
        None => TensorShape::Known([].into()),
        Some(ndim) => {
            let axes = axis_of(cx, ndim)?.map_or((0..ndim).collect(), |a| vec![a]);
            match x.dims() {
                Some(dims) => TensorShape::Known(kept_dims(dims, &axes, keep).into()),
                None => TensorShape::Rank(if keep { ndim } else { ndim - axes.len() }),
            }
        }
    };
    let values = Type::from(TensorType { shape: shape.clone(), ..x.clone() });
    let positions = TensorType { shape, dtype: Some(DType::INT64), ..x };
    Ok(if single { Type::Tuple(vec![values, positions.into()]) } else { values })
}

fn median_tir(cx: &CallContext) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, "median")?;
    let x = b.input("x")?;
    let keep = cx.bool("keepdims")?;
    let axis = axis_of(cx, x.ndim())?;
    let line = match axis {
        Some(_) => x.clone(),
        None => {
            let shape = x.shape().to_vec();
            b.stage("flat", vec![dims::product(&shape)], x.dtype(), |i| x.at(&unflatten(&i[0], &shape)))
        }
    };
    let along = axis.unwrap_or(0);
    let sorted = Sorted::along(&mut b, &line, along, Order::Ascending, axis.map(|_| DType::INT64));
    let middle = middle(&line.shape()[along]);
    let values = b.output("median")?;
    let place = |i: &[PrimExpr]| match axis {
        None => vec![middle.clone()],
        Some(axis) if keep => [&i[..axis], &i[axis + 1..], std::slice::from_ref(&middle)].concat(),
        Some(_) => [i, std::slice::from_ref(&middle)].concat(),
    };
    b.compute(&values, |i| sorted.value(&place(i)));
    if axis.is_some() {
        let positions = b.output("median_at")?;
        b.compute(&positions, |i| sorted.position(&place(i)));
    }
    Ok(b.finish())
}

/// The index of the lower median of a sorted line.
fn middle(length: &PrimExpr) -> PrimExpr {
    dims::floordiv(&dims::max(&dims::sub(length, &1i64.into()), &0i64.into()), &2i64.into())
}
