//! EliminateCommonSubexpr: computes equal values only once.
//!
//! If a binding has the same value as an earlier one, it becomes an alias of the earlier variable, which replaces it
//! from there on (CanonicalizeBindings then removes the alias). This applies only to values without side effects. Two
//! values that may be overwritten later stay separate, and so do two between which an operand is overwritten: see
//! [`memory`]. Values computed in a branch or a nested function are not available outside it, and dataflow variables
//! are not available outside their block.
//!
//! [`memory`]: hammock_ir::relax::memory

use crate::{
    Context, OptionKind, Pass, PassOption,
    rewrite::{self, common_subexpr},
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{Module, relax::memory::Writers};
use hammock_ops::Table;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "EliminateCommonSubexpr",
    doc: "Eliminates common subexpressions",
    options: &[PassOption {
        name: "call_only",
        kind: OptionKind::Bool,
        default: "false",
        doc: "Only calls, not tuples, their fields, shapes and casts",
    }],
    run,
};

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let call_only = context.options.is_on("call_only");
    let writers = Writers::of(module, &Table);
    rewrite::relax_functions(module, |module, _, function| {
        common_subexpr::eliminate(module, function, &writers, call_only);
        Ok(())
    })
}
