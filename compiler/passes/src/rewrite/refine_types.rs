//! Type refinement: after a rewriting, types of variables may be known more precisely than declared.

use crate::{
    analysis::types::{is_incomplete, is_known_outside, refine_type, value_ty},
    rewrite,
};
use hammock_ir::{
    Module,
    relax::{Body, Function},
};

/// Completes the declared types of a function's variables and of its result by inference.
pub fn refine(module: &Module, function: &mut Function) {
    let body = rewrite::take_body(function);
    refine_body(module, function, &body);
    let result = function.operand_ty(module, &body.result);
    let declared = refine_type(&function.lambda.ret_ty, &result);
    if is_known_outside(function, &declared) {
        function.lambda.ret_ty = declared;
    }
    function.lambda.body = body;
}

fn refine_body(module: &Module, function: &mut Function, body: &Body) {
    for binding in body.bindings() {
        binding.value.each_body(&mut |nested| refine_body(module, function, nested));
        if is_incomplete(function.ty(binding.var))
            && let Ok(inferred) = value_ty(module, function, &binding.value)
        {
            function.vars[binding.var].ty = refine_type(function.ty(binding.var), &inferred);
        }
    }
}
