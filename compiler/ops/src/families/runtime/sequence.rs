//! Sequences: immutable lists of values whose length is only known at run time; optional values. They run as functions of the runtime.
//!
//! The type of a sequence is `R.Any`; a tuple is a sequence, too.

use crate::{
    CallContext,
    op::{NONE, Op, OperandKind},
    rules::Inferred,
};
use hammock_ir::{
    DType, PrimExpr, TensorType, Type,
    relax::{InferError, Operand},
};

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    vec![
        construct(),
        Op::new("sequence_insert")
            .doc("The sequence with a value inserted before a position, by default at the end. Negative positions count from the end.")
            .example("x: float32[2]; y: float32[3]", "(x, y), x, 1")
            .operand("sequence", OperandKind::Any)
            .operand("value", OperandKind::Any)
            .operand_or("position", OperandKind::Any, NONE)
            .infer(changed)
            .packed("hammock.sequence.insert"),
        Op::new("sequence_erase")
            .doc("The sequence without the value at a position, by default the last.")
            .example("x: float32[2]; y: float32[3]", "(x, y), 0")
            .operand("sequence", OperandKind::Any)
            .operand_or("position", OperandKind::Any, NONE)
            .infer(changed)
            .packed("hammock.sequence.erase"),
        Op::new("sequence_at")
            .doc("The value at a position of a sequence. Its type is unknown unless the sequence is a tuple: `R.match_cast` states it.")
            .example("x: float32[2]; y: float32[3]", "(x, y), -1")
            .operand("sequence", OperandKind::Any)
            .operand("position", OperandKind::Any)
            .infer(element_type)
            .packed("hammock.sequence.at"),
        Op::new("sequence_length")
            .doc("The number of values of a sequence, as an int64 scalar tensor.")
            .example("x: float32[2]; y: float32[3]", "(x, y)")
            .operand("sequence", OperandKind::Any)
            .infer(|cx| {
                expect_sequence(cx)?;
                Ok(TensorType::new([] as [PrimExpr; 0], DType::INT64).into())
            })
            .packed("hammock.sequence.length"),
        concat(),
        split(),
        Op::new("has_value")
            .doc("False for the null value and true for any other, as a bool scalar tensor.")
            .example("x: float32[2]", "x")
            .operand("value", OperandKind::Any)
            .infer(|_| Ok(TensorType::new([] as [PrimExpr; 0], DType::BOOL).into()))
            .packed("hammock.has_value"),
    ]
}

fn construct() -> Op {
    Op::new("sequence_construct")
        .doc("A sequence of the given values; without any, the empty sequence.")
        .example("x: float32[2]; y: float32[3]", "x, y")
        .operand("values", OperandKind::Variadic)
        .infer(|_| Ok(Type::Any))
        .packed("hammock.sequence.construct")
}

fn concat() -> Op {
    Op::new("sequence_concat")
        .doc(
            "The tensors of a sequence, concatenated along an axis or, with `new_axis`, stacked along a new one. `dtype` and `shape` are those of the tensors; only the result for an empty sequence depends on them.",
        )
        .example("x: float32[2, 3]", "(x, x), 0, False")
        .operand("sequence", OperandKind::Any)
        .operand("axis", OperandKind::Prim)
        .operand_or("new_axis", OperandKind::Prim, false)
        .operand_or("dtype", OperandKind::DType, NONE)
        .operand_or("shape", OperandKind::Shape, NONE)
        .infer(concat_type)
        .packed("hammock.sequence.concat")
}

fn split() -> Op {
    Op::new("sequence_split")
        .doc(
            "The parts of a tensor along an axis, as a sequence. `parts` is the size of each part, or a vector of all sizes; without it, each part has size one, and without `keepdims`, lacks the axis.",
        )
        .example("x: float32[4, 3]", "x, axis=1, keepdims=False")
        .tensor("x")
        .operand_or("axis", OperandKind::Prim, 0i64)
        .operand_or("keepdims", OperandKind::Prim, true)
        .operand_or("parts", OperandKind::OptionalTensor, NONE)
        .infer(split_type)
        .packed("hammock.sequence.split")
}

fn expect_sequence(cx: &CallContext) -> Result<Type, InferError> {
    match cx.ty("sequence")? {
        ty @ (Type::Any | Type::Tuple(_)) => Ok(ty),
        other => Err(cx.mismatch("sequence", "a sequence (`R.Any` or a tuple)", &other)),
    }
}

/// Returns the position if it is a constant.
fn constant_position(cx: &CallContext) -> Result<Option<i64>, InferError> {
    let Some(position) = cx.optional("position") else { return Ok(None) };
    match (position, cx.type_of(position)) {
        (Operand::Prim(value), _) => Ok(value.as_int()),
        (_, Type::Prim(dtype)) if dtype.is_integer() => Ok(None),
        (_, Type::Tensor(ty))
            if ty.dtype.is_none_or(|dtype| dtype.is_integer()) && ty.ndim().is_none_or(|n| n <= 1) =>
        {
            Ok(None)
        }
        (_, Type::Any) => Ok(None),
        (_, other) => Err(cx.mismatch("position", "an integer, or a tensor of one", &other)),
    }
}

fn changed(cx: &CallContext) -> Inferred {
    expect_sequence(cx)?;
    constant_position(cx)?;
    Ok(Type::Any)
}

fn element_type(cx: &CallContext) -> Inferred {
    let (sequence, position) = (expect_sequence(cx)?, constant_position(cx)?);
    let (Type::Tuple(fields), Some(position)) = (sequence, position) else { return Ok(Type::Any) };
    let len = fields.len() as i64;
    let index = if position < 0 { position.saturating_add(len) } else { position };
    let field = usize::try_from(index).ok().and_then(|index| fields.get(index));
    let outside = || cx.error_at("position", format_args!("index {position} is out of range for a sequence of {len}"));
    field.cloned().ok_or_else(outside)
}

fn number(cx: &CallContext, param: &str) -> Result<i64, InferError> {
    cx.prim(param)?.as_int().ok_or_else(|| cx.error_at(param, format_args!("`{param}` must be a constant")))
}

fn concat_type(cx: &CallContext) -> Inferred {
    expect_sequence(cx)?;
    let (axis, new_axis) = (number(cx, "axis")?, number(cx, "new_axis")? != 0);
    let dtype = match cx.optional("dtype") {
        None => None,
        Some(Operand::DType(dtype)) => Some(*dtype),
        Some(other) => return Err(cx.mismatch("dtype", "a dtype", &cx.type_of(other))),
    };
    let ndim = match cx.optional("shape") {
        Some(_) if dtype.is_none() => return Err(cx.error_at("shape", "`shape` needs `dtype`")),
        Some(_) => cx.shape("shape")?.ndim(),
        None => None,
    };
    let ndim = ndim.map(|ndim| ndim + usize::from(new_axis));
    if let Some(ndim) = ndim {
        cx.normalize_axis("axis", axis, ndim)?;
    }
    Ok(TensorType::with_rank(ndim, dtype).into())
}

fn split_type(cx: &CallContext) -> Inferred {
    let (x, axis) = (cx.tensor("x")?, number(cx, "axis")?);
    number(cx, "keepdims")?;
    if let Some(ndim) = x.ndim() {
        cx.normalize_axis("axis", axis, ndim)?;
    }
    if let Some(parts) = cx.optional_tensor("parts")? {
        let is_valid = parts.dtype.is_none_or(|dtype| dtype.is_integer()) && parts.ndim().is_none_or(|ndim| ndim <= 1);
        if !is_valid {
            return Err(cx.mismatch("parts", "an integer scalar or vector", &parts.into()));
        }
    }
    Ok(Type::Any)
}
