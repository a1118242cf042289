//! Operators whose result size depends on the data. They run as functions of the runtime.

use crate::{
    CallContext,
    op::{NONE, Op, OperandKind},
    rules::Inferred,
};
use hammock_ir::{DType, TensorType, Type, relax::InferError};

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    vec![unique(), nonzero()]
}

fn unique() -> Op {
    Op::new("unique")
        .doc(
            "The distinct elements, or slices of an axis, in order of value or of first appearance; optionally with first positions, inverse indices and counts.",
        )
        .example("x: int64[5]", "x, return_counts=True")
        .tensor("x")
        .operand_or("sorted", OperandKind::Prim, true)
        .operand_or("return_index", OperandKind::Prim, false)
        .operand_or("return_inverse", OperandKind::Prim, false)
        .operand_or("return_counts", OperandKind::Prim, false)
        .operand_or("axis", OperandKind::Prim, NONE)
        .infer(unique_type)
        .packed("relax.run.unique")
}

fn flag(cx: &CallContext, param: &str) -> Result<bool, InferError> {
    let value = cx.prim(param)?.as_int();
    value.map(|v| v != 0).ok_or_else(|| cx.error_at(param, format_args!("`{param}` must be True or False")))
}

fn unique_type(cx: &CallContext) -> Inferred {
    let x = cx.tensor("x")?;
    flag(cx, "sorted")?;
    let values = match cx.optional("axis") {
        None => TensorType { vdevice: x.vdevice.clone(), ..TensorType::with_rank(Some(1), x.dtype) },
        Some(_) => {
            let axis = cx.prim("axis")?.as_int().ok_or_else(|| cx.error_at("axis", "`axis` must be a number"))?;
            if let Some(ndim) = x.ndim() {
                cx.normalize_axis("axis", axis, ndim)?;
            }
            TensorType { vdevice: x.vdevice.clone(), ..TensorType::with_rank(x.ndim(), x.dtype) }
        }
    };
    let mut members = vec![Type::from(values)];
    for param in ["return_index", "return_inverse", "return_counts"] {
        if flag(cx, param)? {
            let positions = TensorType::with_rank(Some(1), Some(DType::INT64));
            members.push(TensorType { vdevice: x.vdevice.clone(), ..positions }.into());
        }
    }
    Ok(if members.len() == 1 { members.remove(0) } else { Type::Tuple(members) })
}

fn nonzero() -> Op {
    Op::new("nonzero")
        .doc("The indices of the nonzero elements: one row per dimension, one column per element.")
        .example("x: float32[2, 3]", "x")
        .tensor("x")
        .infer(|cx| {
            let x = cx.tensor("x")?;
            Ok(TensorType { vdevice: x.vdevice, ..TensorType::with_rank(Some(2), Some(DType::INT64)) }.into())
        })
        .packed("relax.run.nonzero")
}
