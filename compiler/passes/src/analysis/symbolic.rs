//! Symbolic expressions of a function, and keys for them.

use hammock_ir::{
    Attrs, PrimExpr, TensorShape, Type,
    prim::{Substitution, Var},
    relax::{self, Binding, Body, Function, Value},
    tir::EXACT,
    types::ShapeType,
};

/// Returns a string that is equal for structurally equal expressions; variables are compared by identity.
pub fn key(expr: &PrimExpr) -> String {
    format!("{expr:?}")
}

/// Returns the attributes of a TIR function that computes sizes on the host, without integer overflow.
pub fn size_function() -> Attrs {
    Attrs::new().with(EXACT, true)
}

/// Returns the distinct symbolic variables of an expression, in order of appearance.
pub fn vars(expr: &PrimExpr) -> Vec<Var> {
    let mut seen: Vec<Var> = Vec::new();
    expr.each_var(&mut |v| {
        if !seen.contains(v) {
            seen.push(v.clone());
        }
    });
    seen
}

/// Returns the dimensions of a tensor or shape type, if known.
pub fn dims(ty: &Type) -> Option<&[PrimExpr]> {
    match ty {
        Type::Tensor(t) => t.dims(),
        Type::Shape(ShapeType::Known(d)) => Some(d),
        Type::DTensor(t) => match &t.tensor.shape {
            TensorShape::Known(d) => Some(d),
            _ => None,
        },
        _ => None,
    }
}

/// Calls `f` on every dimension in a type, members of tuples included.
pub fn each_dim<'a>(ty: &'a Type, f: &mut dyn FnMut(&'a PrimExpr)) {
    match ty {
        Type::Tuple(fields) => fields.iter().for_each(|t| each_dim(t, f)),
        _ => dims(ty).into_iter().flatten().for_each(f),
    }
}

/// Returns the symbolic variables that parameters define: variables that are a dimension of their types, and scalars.
pub fn defined(function: &Function, params: &[relax::Var]) -> Vec<Var> {
    let mut found: Vec<Var> = params.iter().filter_map(|v| function.scalar(*v).cloned()).collect();
    for param in params {
        each_dim(function.ty(*param), &mut |dim| found.extend(dim.as_var().cloned()));
    }
    found
}

/// Matches a parameter's type against an argument's and records the values of the parameter's variables.
pub fn match_types(param: &Type, argument: &Type, values: &mut Substitution) {
    if let (Type::Tuple(params), Type::Tuple(arguments)) = (param, argument) {
        params.iter().zip(arguments).for_each(|(param, argument)| match_types(param, argument, values));
        return;
    }
    let (Some(own), Some(sizes)) = (dims(param), dims(argument)) else { return };
    for (dim, size) in own.iter().zip(sizes) {
        if let Some(var) = dim.as_var() {
            values.entry(var.clone()).or_insert_with(|| size.clone());
        }
    }
}

/// Calls `f` on every symbolic expression computed in a body and nested bodies: operands, and types that are checked
/// at run time.
pub fn each_expr<'a>(body: &'a Body, f: &mut dyn FnMut(&'a PrimExpr)) {
    for binding in body.bindings() {
        each_binding_expr(binding, f);
        binding.value.each_body(&mut |b| each_expr(b, f));
    }
    body.result.each_expr(f);
}

/// Like [`each_expr`], without nested bodies.
pub fn each_own_expr<'a>(body: &'a Body, f: &mut dyn FnMut(&'a PrimExpr)) {
    body.bindings().for_each(|binding| each_binding_expr(binding, f));
    body.result.each_expr(f);
}

fn each_binding_expr<'a>(binding: &'a Binding, f: &mut dyn FnMut(&'a PrimExpr)) {
    each_value_expr(&binding.value, f);
}

/// Calls `f` on every symbolic expression computed by a value itself.
pub fn each_value_expr<'a>(value: &'a Value, f: &mut dyn FnMut(&'a PrimExpr)) {
    if let Value::MatchCast(_, ty) = value {
        each_dim(ty, f);
    }
    value.each_operand(&mut |o| o.each_expr(f));
}
