//! AnnotateTIROpPattern: TIR functions say what they can be fused with.
//!
//! FuseOps reads the attribute `op_pattern`, so a user's own function can state it. See [`OpPattern`].

use crate::{
    Context, Pass,
    op_pattern::{OP_PATTERN, OpPattern},
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{Function, Module};

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "AnnotateTIROpPattern",
    doc: "Sets the attribute `op_pattern` of TIR functions from their access patterns",
    options: &[],
    run,
};

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    for function in module.functions.values_mut() {
        if let Function::Tir(func) = function
            && func.attrs.get(OP_PATTERN).is_none_or(|stated| stated.as_int() == Some(0))
        {
            func.attrs.set(OP_PATTERN, OpPattern::of(func) as i64);
        }
    }
    Ok(())
}
