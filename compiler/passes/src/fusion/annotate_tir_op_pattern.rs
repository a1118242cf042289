//! AnnotateTIROpPattern: classifies TIR functions by what they can be fused with.
//!
//! FuseOps reads the attribute `op_pattern`; a function that has it already keeps it. See [`OpPattern`].

use crate::{
    Context, OptionKind, Pass, PassOption,
    analysis::op_pattern::{OP_PATTERN, OpPattern},
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{Function, Module};

/// Treats symbolic sizes like constants, which TVM's pass does not do.
pub const SYMBOLIC: PassOption = PassOption {
    name: "symbolic_indices",
    kind: OptionKind::Bool,
    default: "false",
    doc: "Treat functions whose indices use symbolic sizes, such as reshapes, as injective; otherwise they are opaque",
};

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "AnnotateTIROpPattern",
    doc: "Sets the attribute `op_pattern` of TIR functions from their access patterns",
    options: &[SYMBOLIC],
    run,
};

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let symbolic = context.options.is_on(SYMBOLIC.name);
    for function in module.functions.values_mut() {
        if let Function::Tir(func) = function
            && func.attrs.get(OP_PATTERN).is_none_or(|stated| stated.as_int() == Some(0))
        {
            func.attrs.set(OP_PATTERN, OpPattern::of(func, symbolic) as i64);
        }
    }
    Ok(())
}
