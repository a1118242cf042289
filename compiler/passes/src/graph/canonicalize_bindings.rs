//! CanonicalizeBindings: removes aliases, so that each value has one name.
//!
//! - `y = x` is removed and uses of `y` become uses of `x`; `t = (a, b)` followed by `t[0]` becomes `a`, and the
//!   tuple of all fields of `t` becomes `t`. A dataflow variable with an output as its alias takes the output's name
//!   and becomes visible outside; an output that is not used outside becomes invisible.
//! - Uses of a variable bound to a constant become the constant.
//! - A symbolic variable that `match_cast` binds to a known size is replaced by that size; a `match_cast` that then
//!   checks nothing is removed.
//! - Types of values whose operands have changed are refined.

use crate::{
    Context, Pass,
    rewrite::{self, canonicalize},
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::Module;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "CanonicalizeBindings",
    doc: "Removes aliases of variables, and replaces fields of known tuples by their values",
    options: &[],
    run,
};

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    rewrite::relax_functions(module, |module, _, function| {
        canonicalize::canonicalize_with_types(module, function);
        Ok(())
    })
}
