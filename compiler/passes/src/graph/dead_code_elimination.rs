//! DeadCodeElimination: removes unused bindings and unreachable functions.
//!
//! A binding is removed if its variable is unused and its value has no side effect; `match_cast` stays, because it
//! checks, and so do writes to memory that is read later or belongs to the caller. A global function is removed if it
//! is private and no remaining function refers to it.

use crate::{Context, OptionKind, Pass, PassOption, rewrite::dead_code};
use hammock_diagnostics::Diagnostic;
use hammock_ir::Module;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "DeadCodeElimination",
    doc: "Removes unused bindings without side effects and unreachable private functions",
    options: &[PassOption {
        name: "entry_functions",
        kind: OptionKind::Texts,
        default: "[]",
        doc: "Functions to keep, with all that they use, in addition to those that are not private",
    }],
    run,
};

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    dead_code::eliminate(module, context.options.texts("entry_functions"))
}
