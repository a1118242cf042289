//! Operators that move elements without changing them.

use crate::{
    context::CallContext,
    dims,
    legalize::Builder,
    op::{AttrKind, NONE, Op, OperandKind},
    rules::Inferred,
    text::dims_text,
};
use hammock_ir::{PrimExpr, TensorShape, TensorType, types::ShapeType};

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    vec![permute_dims(), reshape()]
}

fn permute_dims() -> Op {
    Op::new("permute_dims")
        .doc("The dimensions in another order, reversed when no axes are given.")
        .tensor("x")
        .attr("axes", AttrKind::OptionalInts, NONE)
        .infer(|cx| {
            let x = cx.tensor("x")?;
            let Some(ndim) = x.ndim() else { return Ok(x.into()) };
            let axes = permutation(cx, ndim)?;
            let shape = match x.dims() {
                Some(d) => TensorShape::Known(axes.iter().map(|a| d[*a].clone()).collect()),
                None => TensorShape::Rank(ndim),
            };
            Ok(TensorType { shape, ..x }.into())
        })
        .legalize(|cx| {
            let mut b = Builder::new(cx, "transpose")?;
            let x = b.input("x")?;
            let axes = permutation(cx, x.ndim())?;
            let out = b.output("T_transpose")?;
            b.compute(&out, |i| {
                let mut own = i.to_vec();
                axes.iter().zip(i).for_each(|(a, i)| own[*a] = i.clone());
                x.at(&own)
            });
            Ok(b.finish())
        })
}

/// The axes of `permute_dims`.
fn permutation(cx: &CallContext, ndim: usize) -> Result<Vec<usize>, hammock_ir::relax::InferError> {
    if cx.attr("axes")?.is_none() {
        return Ok((0..ndim).rev().collect());
    }
    let axes = cx.axes("axes", ndim)?;
    if axes.len() != ndim {
        let given = axes.len();
        return Err(cx.error(format_args!("`axes` must name all {ndim} axes of `x`, but it names {given}")));
    }
    Ok(axes)
}

fn reshape() -> Op {
    Op::new("reshape")
        .doc("The same elements in row-major order under another shape.")
        .tensor("x")
        .operand("shape", OperandKind::Shape)
        .infer(reshape_type)
        .legalize(|cx| {
            let mut b = Builder::new(cx, "reshape")?;
            let x = b.input("x")?;
            let out = b.output("T_reshape")?;
            b.compute(&out, |i| x.at(&unflatten(&flatten(i, &out.shape), x.shape())));
            Ok(b.finish())
        })
}

fn reshape_type(cx: &CallContext) -> Inferred {
    let (x, shape) = (cx.tensor("x")?, cx.shape("shape")?);
    let shape = match (shape, cx.operand("shape")?.as_var()) {
        (ShapeType::Known(new), _) => {
            if let Some(old) = x.dims() {
                let (before, after) = (dims::product(old), dims::product(new.iter()));
                if dims::equal(&before, &after) == Some(false) {
                    let text = format!("{} has other elements than {}", dims_text(&new), dims_text(old));
                    return Err(cx.error_at("shape", text).help("a reshape keeps the number of elements"));
                }
            }
            TensorShape::Known(new)
        }
        (shape, Some(var)) => TensorShape::Var(var, shape.ndim()),
        (shape, None) => shape.ndim().map_or(TensorShape::Unknown, TensorShape::Rank),
    };
    Ok(TensorType { shape, ..x }.into())
}

/// The position of an index in row-major order.
pub fn flatten(indices: &[PrimExpr], shape: &[PrimExpr]) -> PrimExpr {
    let mut dims = indices.iter().zip(shape);
    let Some((first, _)) = dims.next() else { return PrimExpr::int64(0) };
    dims.fold(first.clone(), |at, (i, extent)| dims::add(&dims::mul(&at, extent), i))
}

/// The index at a position in row-major order. Each is reduced to its extent, so that a position beyond the end stays
/// in bounds.
pub fn unflatten(position: &PrimExpr, shape: &[PrimExpr]) -> Vec<PrimExpr> {
    let mut stride = PrimExpr::int64(1);
    let mut indices = Vec::new();
    for extent in shape.iter().rev() {
        indices.push(match dims::is(extent, 1) {
            true => PrimExpr::int64(0),
            false => dims::floordiv(position, &stride).floormod(extent.clone()),
        });
        stride = dims::mul(&stride, extent);
    }
    indices.reverse();
    indices
}
