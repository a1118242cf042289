//! Types of values, and comparison of declared with inferred types.

use hammock_ir::{
    Module, PrimExpr, TensorType, Type,
    prim::Var,
    relax::{Function, InferError, OpTable, Value},
};
use hammock_ops::Table;
use rustc_hash::FxHashSet;

/// Infers the type of a value; fails for branches and nested functions.
pub fn value_ty(module: &Module, function: &Function, value: &Value) -> Result<Type, InferError> {
    match value {
        Value::Call(call) => Table.infer(module, function, call),
        Value::Operand(o) => Ok(function.operand_ty(module, o)),
        Value::MatchCast(_, ty) => Ok(ty.clone()),
        Value::TupleGet(t, i) => match function.operand_ty(module, t).as_tuple() {
            Some(fields) if *i < fields.len() => Ok(fields[*i].clone()),
            _ => Err(InferError::new("a member of something that is not such a tuple")),
        },
        _ => Err(InferError::new("a decomposition binds calls, operands and casts only")),
    }
}

/// Returns true if the parameters define all symbolic variables of a type.
pub fn is_known_outside(function: &Function, ty: &Type) -> bool {
    let mut known: FxHashSet<Var> = FxHashSet::default();
    for param in &function.lambda.params {
        known.extend(function.scalar(*param).cloned());
        function.ty(*param).each_expr(&mut |e| known.extend(e.as_var().cloned()));
    }
    let (mut all, mut shapes) = (true, false);
    ty.each_expr(&mut |e: &PrimExpr| e.each_var(&mut |var| all &= known.contains(var)));
    ty.each_var(&mut |_| shapes = true);
    all && !shapes
}

/// Returns true if shapes or dtypes of tensors are unknown in a type.
pub fn is_incomplete(ty: &Type) -> bool {
    match ty {
        Type::Tensor(t) => t.dims().is_none() || t.dtype.is_none(),
        Type::Tuple(members) => members.iter().any(is_incomplete),
        _ => false,
    }
}

/// Completes a declared type with the shapes and dtypes of the inferred one.
pub fn refine_type(declared: &Type, inferred: &Type) -> Type {
    match (declared, inferred) {
        (Type::Tensor(own), Type::Tensor(found)) => {
            let shape = if own.dims().is_none() && found.dims().is_some() { &found.shape } else { &own.shape };
            TensorType { shape: shape.clone(), dtype: own.dtype.or(found.dtype), ..own.clone() }.into()
        }
        (Type::Tuple(own), Type::Tuple(found)) if own.len() == found.len() => {
            Type::Tuple(own.iter().zip(found).map(|(own, found)| refine_type(own, found)).collect())
        }
        _ => declared.clone(),
    }
}
