//! Shapes as values.

use crate::{
    CallContext,
    op::{Op, OperandKind},
    rules::Inferred,
};
use hammock_ir::{DType, PrimExpr, TensorType, Type, types::ShapeType};

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    vec![
        Op::new("shape_of")
            .doc("The shape of a tensor.")
            .example("x: float32[2, 3]", "x")
            .tensor("expr")
            .infer(infer_shape_of)
            .structural("LowerRuntimeBuiltin"),
        Op::new("shape_to_tensor")
            .doc("Converts a shape to an int64 tensor.")
            .example("", "R.shape([2, 3])")
            .operand("expr", OperandKind::Shape)
            .infer(infer_shape_to_tensor)
            .packed("relax.run.shape_to_tensor"),
        Op::new("tensor_to_shape")
            .doc("Converts an integer vector to a shape.")
            .example("x: int64[2]", "x")
            .tensor("expr")
            .infer(infer_tensor_to_shape)
            .packed("vm.builtin.tensor_to_shape"),
    ]
}

fn infer_shape_of(cx: &CallContext) -> Inferred {
    let tensor = cx.tensor("expr")?;
    Ok(Type::Shape(match (tensor.dims(), tensor.ndim()) {
        (Some(dims), _) => ShapeType::Known(dims.into()),
        (None, Some(n)) => ShapeType::Rank(n),
        (None, None) => ShapeType::Unknown,
    }))
}

fn infer_shape_to_tensor(cx: &CallContext) -> Inferred {
    let ndim = cx.shape("expr")?.ndim();
    let known = |n| TensorType::new([PrimExpr::int64(n as i64)], DType::INT64);
    Ok(ndim.map_or_else(|| TensorType::with_rank(Some(1), Some(DType::INT64)), known).into())
}

fn infer_tensor_to_shape(cx: &CallContext) -> Inferred {
    let tensor = cx.tensor("expr")?;
    if let Some(n) = tensor.ndim().filter(|n| *n != 1) {
        return Err(cx.error_at("expr", format_args!("`expr` must have one dimension, but it has {n}")));
    }
    if let Some(t) = tensor.dtype.filter(|t| !t.is_integer()) {
        return Err(cx.error_at("expr", format_args!("`expr` must hold integers, not {t}")));
    }
    let rank = tensor.dims().and_then(|d| d[0].as_int()).and_then(|n| usize::try_from(n).ok());
    Ok(Type::Shape(rank.map_or(ShapeType::Unknown, ShapeType::Rank)))
}
