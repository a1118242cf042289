//! Normalization of operands for kernels.
//!
//! A kernel takes tensors, not tuples, with named sizes. So a variable of tuple type is replaced by its members, and
//! one of known rank but unknown shape is cast to a type with a new symbolic variable per size, which the cast binds at
//! run time.

use super::Emit;
use crate::CallContext;
use hammock_ir::{
    PrimExpr, TensorShape, TensorType, Type,
    prim::Var,
    relax::{Call, InferError, Operand, Value},
    types::ShapeType,
};

/// Returns true if a call's operands are already in the form of [`normalize_operands`].
pub fn has_normal_operands(cx: &CallContext) -> bool {
    cx.call.args.iter().all(|a| !is_open(a, &cx.type_of(a)))
}

/// Normalizes the operands of a call.
///
/// # Errors
/// When a member or a cast cannot be bound.
pub fn normalize_operands(cx: &CallContext, emit: &mut dyn Emit) -> Result<Call, InferError> {
    let mut call = cx.call.clone();
    for arg in &mut call.args {
        *arg = written(arg, &cx.type_of(arg), emit)?;
    }
    Ok(call)
}

fn is_open(operand: &Operand, ty: &Type) -> bool {
    match (operand, ty) {
        (Operand::Tuple(members), Type::Tuple(types)) => members.iter().zip(types).any(|(m, t)| is_open(m, t)),
        (Operand::Var(_), Type::Tuple(_)) => true,
        _ => named_sizes(ty).is_some(),
    }
}

/// Normalizes an operand. Its type is passed, since newly bound variables are not in the context's function.
fn written(operand: &Operand, ty: &Type, emit: &mut dyn Emit) -> Result<Operand, InferError> {
    match (operand, ty) {
        (Operand::Tuple(members), Type::Tuple(types)) => {
            let all = members.iter().zip(types).map(|(m, t)| written(m, t, emit));
            Ok(Operand::Tuple(all.collect::<Result<_, _>>()?))
        }
        (Operand::Var(_), Type::Tuple(types)) => {
            let mut members = Vec::new();
            for (i, ty) in types.iter().enumerate() {
                let member = emit.emit(Value::TupleGet(operand.clone(), i))?;
                members.push(written(&member, ty, emit)?);
            }
            Ok(Operand::Tuple(members))
        }
        _ => match named_sizes(ty) {
            Some(named) => {
                let cast = emit.emit(Value::MatchCast(operand.clone(), named.clone()))?;
                // the sizes themselves are simpler than a variable that holds them
                Ok(if let Type::Shape(ShapeType::Known(dims)) = named { Operand::Shape(dims.to_vec()) } else { cast })
            }
            None => Ok(operand.clone()),
        },
    }
}

/// The type with new variables for sizes, if only its rank is known.
fn named_sizes(ty: &Type) -> Option<Type> {
    let names = |rank: usize| (0..rank).map(|i| Var::int64(format!("s{i}")).expr()).collect::<Vec<PrimExpr>>();
    match ty {
        Type::Shape(ShapeType::Rank(rank)) => Some(Type::shape(names(*rank))),
        Type::Tensor(t) if t.dims().is_none() => {
            let shape = TensorShape::Known(names(t.ndim()?).into());
            Some(TensorType { shape, ..t.clone() }.into())
        }
        _ => None,
    }
}
