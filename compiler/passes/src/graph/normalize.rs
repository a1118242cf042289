//! Normalize: establishes the normal form that other passes rely on.
//!
//! The IR is in A-normal form by construction: operands are never calls. This pass merges adjacent blocks of the same
//! kind, removes empty blocks, and makes the result of every body a variable or constant, never a tuple expression.

use crate::{Context, Pass, rewrite};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Module, Span, TensorShape,
    relax::{Binding, Block, Body, Function, Operand, Value},
};

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "Normalize",
    doc: "Merges blocks, removes empty ones, and binds returned tuples to variables",
    options: &[],
    run,
};

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    rewrite::relax_functions(module, |module, _, function| {
        let mut body = rewrite::take_body(function);
        normalize(module, function, &mut body);
        rewrite::merge_blocks(&mut body);
        function.lambda.body = body;
        Ok(())
    })
}

fn normalize(module: &Module, function: &mut Function, body: &mut Body) {
    for block in &mut body.blocks {
        for binding in &mut block.bindings {
            binding.value.each_body_mut(&mut |b| normalize(module, function, b));
        }
    }
    if matches!(body.result, Operand::Tuple(_) | Operand::Shape(_)) {
        let mut ty = function.operand_ty(module, &body.result);
        // Outside its block, a dataflow variable that is the shape of a tensor is not visible.
        ty.each_shape_mut(&mut |shape| {
            if let TensorShape::Var(v, ndim) = shape
                && function.vars[*v].dataflow
            {
                *shape = ndim.map_or(TensorShape::Unknown, TensorShape::Rank);
            }
        });
        let var = function.new_var("gv", ty, false, Span::default());
        let value = Value::Operand(std::mem::replace(&mut body.result, Operand::Var(var)));
        let binding = Binding { var, value, span: Span::default() };
        body.blocks.push(Block { dataflow: false, bindings: vec![binding] });
    }
}
