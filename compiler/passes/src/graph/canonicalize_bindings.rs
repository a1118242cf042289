//! CanonicalizeBindings: one name for one value.
//!
//! - `y = x` disappears and uses of `y` become uses of `x`; `t = (a, b)` followed by `t[0]` becomes `a`, and
//!   `(t[0], t[1])` becomes `t`. A dataflow variable that was renamed to an output takes the output's name and becomes
//!   visible outside; one that is an output and not used outside becomes invisible.
//! - A constant stands where the variable that is bound to it was used.
//! - A symbolic variable that `match_cast` binds to a known size is that size; a `match_cast` that then checks nothing
//!   disappears.
//! - Types of values whose operands have changed say what is known of them now.

use crate::{
    Context, Pass,
    rewrite::{self, canonicalize},
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::Module;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "CanonicalizeBindings",
    doc: "Replaces aliases by the variables they stand for, and fields of known tuples by their values",
    options: &[],
    run,
};

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    rewrite::relax_functions(module, |module, _, function| {
        canonicalize::canonicalize_with_types(module, function);
        Ok(())
    })
}
