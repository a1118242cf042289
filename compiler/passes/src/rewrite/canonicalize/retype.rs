//! Types of values whose operands have changed.

use crate::{
    analysis::types::{is_known_outside, refine_type, value_ty},
    rewrite::{self},
};
use hammock_ir::{
    Module, equal,
    relax::{Binding, Body, Function, Replacements, Var},
};
use rustc_hash::FxHashSet;

/// Returns the variables whose values use a replaced variable.
pub fn users(function: &Function, values: &Replacements) -> FxHashSet<Var> {
    let mut users = FxHashSet::default();
    if !values.is_empty() {
        function.lambda.body.walk(&mut |binding| {
            binding.value.each_var(&mut |used| {
                if values.contains_key(&used) {
                    users.insert(binding.var);
                }
            });
        });
    }
    users
}

/// Completes the types of these variables, or of all, by inference; then those of their users, and the type of the
/// function's result.
pub fn retype(module: &Module, function: &mut Function, changed: FxHashSet<Var>, all: bool) {
    if changed.is_empty() && !all {
        return;
    }
    let body = rewrite::take_body(function);
    let mut retyper = Retyper { module, function, changed, all, has_refined: false };
    retyper.body(&body);
    let has_refined = retyper.has_refined;
    if has_refined {
        let result = function.operand_ty(module, &body.result);
        let declared = refine_type(&function.lambda.ret_ty, &result);
        if is_known_outside(function, &declared) {
            function.lambda.ret_ty = declared;
        }
    }
    function.lambda.body = body;
}

struct Retyper<'a> {
    module: &'a Module,
    function: &'a mut Function,
    changed: FxHashSet<Var>,
    all: bool,
    has_refined: bool,
}

impl Retyper<'_> {
    fn body(&mut self, body: &Body) {
        for binding in body.bindings() {
            binding.value.each_body(&mut |nested| self.body(nested));
            self.binding(binding);
        }
    }

    fn binding(&mut self, binding: &Binding) {
        let mut affected = self.all || self.changed.contains(&binding.var);
        binding.value.each_var(&mut |used| affected |= self.changed.contains(&used));
        if !affected {
            return;
        }
        let inferred = value_ty(self.module, self.function, &binding.value).ok();
        let old = self.function.ty(binding.var);
        let new = inferred.map(|inferred| refine_type(old, &inferred)).filter(|new| !equal::types(new, old));
        match new {
            Some(new) => {
                self.function.vars[binding.var].ty = new;
                self.changed.insert(binding.var);
                self.has_refined = true;
            }
            None => _ = self.changed.remove(&binding.var),
        }
    }
}
