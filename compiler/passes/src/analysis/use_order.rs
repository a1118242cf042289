//! Ordering of bindings, definitions before uses.

use super::symbolic;
use hammock_ir::{
    prim::Var as Dim,
    relax::{Binding, Function, Value, Var},
};
use rustc_hash::FxHashMap;

/// Sorts the bindings of a block so that definitions come before uses, otherwise stably.
pub fn sort_by_use(function: &Function, bindings: Vec<Binding>) -> Vec<Binding> {
    let definers = definers(function, &bindings);
    let positions: FxHashMap<Var, usize> = bindings.iter().map(|binding| binding.var).zip(0..).collect();
    let mut requirements: Vec<Vec<usize>> = Vec::with_capacity(bindings.len());
    for (position, binding) in bindings.iter().enumerate() {
        let mut required = Vec::new();
        each_used(function, &definers, binding, &mut |used| {
            required.extend(positions.get(&used).filter(|used| **used != position))
        });
        // The first requirement is pushed last, so it is popped first.
        required.reverse();
        requirements.push(required);
    }
    let mut bindings: Vec<Option<Binding>> = bindings.into_iter().map(Some).collect();
    let mut ordered = Vec::with_capacity(bindings.len());
    for start in 0..bindings.len() {
        let mut stack = vec![start];
        while let Some(position) = stack.last().copied() {
            let missing = std::mem::take(&mut requirements[position]);
            if missing.iter().any(|required| bindings[*required].is_some()) {
                stack.extend(missing.into_iter().filter(|required| bindings[*required].is_some()));
            } else {
                ordered.extend(bindings[position].take());
                stack.pop();
            }
        }
    }
    ordered
}

/// Returns the binding that defines each symbolic variable.
pub fn definers<'b>(function: &Function, bindings: impl IntoIterator<Item = &'b Binding>) -> FxHashMap<Dim, Var> {
    let mut definers = FxHashMap::default();
    for binding in bindings {
        definers.extend(function.scalar(binding.var).map(|dim| (dim.clone(), binding.var)));
        if let Value::MatchCast(_, ty) = &binding.value {
            ty.each_expr(&mut |e| {
                if let Some(dim) = e.as_var() {
                    definers.entry(dim.clone()).or_insert(binding.var);
                }
            });
        }
    }
    definers
}

/// Calls `f` on each variable that a binding uses, in nested bodies and through symbolic variables too.
pub fn each_used(function: &Function, definers: &FxHashMap<Dim, Var>, binding: &Binding, f: &mut dyn FnMut(Var)) {
    binding.value.each_var(f);
    binding.value.each_body(&mut |nested| nested.each_use(f));
    function.ty(binding.var).each_var(f);
    if definers.is_empty() {
        return;
    }
    let mut used = |e: &hammock_ir::PrimExpr| e.each_var(&mut |dim| definers.get(dim).into_iter().for_each(|v| f(*v)));
    symbolic::each_value_expr(&binding.value, &mut used);
    function.ty(binding.var).each_expr(&mut used);
    binding.value.each_body(&mut |nested| symbolic::each_expr(nested, &mut used));
}
