//! The verifier: is a module well formed?
//!
//! Graphs ([`graph`]):
//! 1. A variable is bound once, and used only where its binding has run: after it, and not outside the branch or the
//!    nested function that holds it.
//! 2. A dataflow variable is used only in its block.
//! 3. A dataflow block has no `if`, and calls nothing impure. A pure function calls nothing impure, unless it is marked
//!    `relax.force_pure`.
//! 4. Global functions that are mentioned exist. A call gives as many arguments as the function has parameters;
//!    `call_tir` calls a TIR function with its inputs and scalars, and names as many results as are left.
//! 5. Operators get what their type rules ask for.
//! 6. A binding's type does not contradict its value's, nor the declared result's type that of the result.
//! 7. A symbolic variable is defined before it is used: by a parameter's type, by a scalar, or by a `match_cast`.
//!
//! TIR ([`kernel`]):
//! 8. A variable is used only where it is defined: by a parameter, the shape of a buffer parameter, a loop, a block's
//!    axis, or a declaration before it.
//! 9. A buffer is accessed with as many indices as it has dimensions, all integers.
//! 10. Operands of arithmetic have one dtype; conditions are bool; a stored value has the buffer's dtype.
//! 11. A block's axes are bound to as many values, and its regions name buffers with a range for each dimension.

mod graph;
mod kernel;
mod types;

use crate::{Function, Module, relax::OpTable};
use hammock_syntax::Diagnostic;

pub use types::contradiction;

/// Everything that is wrong with a module, in the order of its functions.
pub fn module(module: &Module, ops: &dyn OpTable) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (name, function) in &module.functions {
        match function {
            Function::Relax(f) => graph::verify(module, name, f, ops, &mut found),
            Function::Tir(f) => kernel::verify(name, f, &mut found),
            Function::Extern(_) => {}
        }
    }
    found
}
