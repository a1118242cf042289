//! Einstein summation.
//!
//! `subscripts` names each operand's axes by letters. Axes with the same letter share an index; letters that the output
//! lacks are summed over. `...` denotes broadcast axes. Without `->`, the output has the letters that occur once, in
//! alphabetical order, after the broadcast axes.

mod contraction;
mod path;
mod subscripts;

use crate::{
    CallContext, dims,
    op::{AttrKind, Op, OperandKind},
    rules::{Inferred, common_vdevice},
};
use hammock_ir::{PrimExpr, TensorShape, TensorType, relax::InferError};
use subscripts::{Label, Subscripts};

/// `einsum`
pub fn einsum() -> Op {
    Op::new("einsum")
        .doc("Contraction in Einstein notation: `ij,jk->ik` is a matmul.")
        .example("x: float32[2, 3]; y: float32[3, 4]", r#"(x, y), subscripts="ij,jk->ik""#)
        .operand("operands", OperandKind::Tensors)
        .required("subscripts", AttrKind::Str)
        .infer(einsum_type)
        .legalize(contraction::legalize)
}

fn einsum_type(cx: &CallContext) -> Inferred {
    let operands = cx.tensors("operands")?;
    if operands.is_empty() {
        return Err(cx.error_at("operands", "`operands` must not be empty"));
    }
    let dtype = operands[0].dtype.filter(|_| operands.iter().all(|t| t.dtype.is_some()));
    if operands.iter().any(|t| t.dtype.is_some() && dtype.is_some() && t.dtype != dtype) {
        return Err(cx.error_at("operands", "operands must have one dtype"));
    }
    let vdevice = common_vdevice(cx, &operands)?;
    let Some(ranks) = operands.iter().map(TensorType::ndim).collect::<Option<Vec<_>>>() else {
        return Ok(TensorType { shape: TensorShape::Unknown, dtype, vdevice }.into());
    };
    let subscripts = Subscripts::parse(cx, &ranks)?;
    let rank = subscripts.output.len();
    let shape = match operands.iter().map(TensorType::dims).collect::<Option<Vec<_>>>() {
        Some(shapes) => {
            check_extents(cx, &subscripts, &shapes)?;
            let sizes = subscripts.output.iter().map(|l| (l, subscripts.extent(*l, &shapes)));
            // axes under `...` may have size 1: which one is larger must be known
            let open = |(l, size): &(&Label, PrimExpr)| {
                matches!(l, Label::Dots(_)) && subscripts.sizes(**l, &shapes).any(|s| !fits(s, size))
            };
            match sizes.clone().any(|s| open(&s)) {
                true => TensorShape::Rank(rank),
                false => TensorShape::Known(sizes.map(|(_, size)| size).collect()),
            }
        }
        None => TensorShape::Rank(rank),
    };
    Ok(TensorType { shape, dtype, vdevice }.into())
}

fn check_extents(cx: &CallContext, subscripts: &Subscripts, shapes: &[&[PrimExpr]]) -> Result<(), InferError> {
    for (labels, shape) in subscripts.operands.iter().zip(shapes) {
        for (label, size) in labels.iter().zip(*shape) {
            let extent = subscripts.extent(*label, shapes);
            if !dims::is(size, 1) && dims::equal(size, &extent) == Some(false) {
                let (a, b) = (crate::text::dim_text(size), crate::text::dim_text(&extent));
                let name = if let Label::Letter(c) = label { c.to_string() } else { "...".to_owned() };
                return Err(cx.error_at("operands", format_args!("axes named `{name}` are {b} and {a} long")));
            }
        }
    }
    Ok(())
}

/// Returns true if an axis of this size is certainly compatible with the extent.
fn fits(size: &PrimExpr, extent: &PrimExpr) -> bool {
    dims::is(size, 1) || dims::equal(size, extent) == Some(true)
}
