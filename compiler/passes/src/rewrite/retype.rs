//! Types that follow from values: after a rewriting, variables may be known better than they were declared.

use crate::{lowering::legalize_ops::value_ty, rewrite};
use hammock_ir::{
    Module, PrimExpr, TensorType, Type,
    prim::Var,
    relax::{Body, Function},
};
use rustc_hash::FxHashSet;

/// Takes from values what the declared types of a function's variables, and of its result, leave open.
pub fn refine(module: &Module, function: &mut Function) {
    let body = rewrite::take_body(function);
    refine_body(module, function, &body);
    let result = function.operand_ty(module, &body.result);
    let declared = refined(&function.lambda.ret_ty, &result);
    if is_known_outside(function, &declared) {
        function.lambda.ret_ty = declared;
    }
    function.lambda.body = body;
}

fn refine_body(module: &Module, function: &mut Function, body: &Body) {
    for binding in body.bindings() {
        binding.value.each_body(&mut |nested| refine_body(module, function, nested));
        if is_vague(function.ty(binding.var))
            && let Ok(inferred) = value_ty(module, function, &binding.value)
        {
            function.vars[binding.var].ty = refined(function.ty(binding.var), &inferred);
        }
    }
}

/// Returns true if parameters define all symbolic variables of a type.
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

/// Returns true if a type leaves shapes or dtypes of tensors open.
pub fn is_vague(ty: &Type) -> bool {
    match ty {
        Type::Tensor(t) => t.dims().is_none() || t.dtype.is_none(),
        Type::Tuple(members) => members.iter().any(is_vague),
        _ => false,
    }
}

/// A declared type with what it leaves open taken from the inferred one.
pub fn refined(declared: &Type, inferred: &Type) -> Type {
    match (declared, inferred) {
        (Type::Tensor(own), Type::Tensor(found)) => {
            let shape = if own.dims().is_none() && found.dims().is_some() { &found.shape } else { &own.shape };
            TensorType { shape: shape.clone(), dtype: own.dtype.or(found.dtype), ..own.clone() }.into()
        }
        (Type::Tuple(own), Type::Tuple(found)) if own.len() == found.len() => {
            Type::Tuple(own.iter().zip(found).map(|(own, found)| refined(own, found)).collect())
        }
        _ => declared.clone(),
    }
}
