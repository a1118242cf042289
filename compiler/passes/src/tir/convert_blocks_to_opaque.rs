//! ConvertBlocksToOpaque: replaces the axes of blocks by the values that loops bind to them.

use super::{block_with_init, each_kernel, misplaced};
use crate::{Context, Pass};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Module,
    prim::Substitution,
    tir::{Stmt, StmtKind, fresh},
};

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "s_tir.ConvertBlocksToOpaque",
    doc: "Replaces the axes of blocks by their bound values",
    options: &[],
    run,
};

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    each_kernel(module, |name, kernel| {
        if let Some(span) = block_with_init(&kernel.body) {
            let help = "run pass `s_tir.LowerInitBlock` first";
            return Err(misplaced(&PASS, name, "a block has a `T.init()`", help, span));
        }
        let mut values = Substitution::default();
        open(&mut kernel.body, &mut values);
        if !values.is_empty() {
            kernel.body = fresh::replace(&kernel.body, values);
        }
        Ok(())
    })
}

/// Removes the axes of blocks and records their values.
fn open(stmt: &mut Stmt, values: &mut Substitution) {
    if let StmtKind::Block(block) = &mut stmt.kind {
        let bindings = block.axes.drain(..).map(|axis| (axis.var, axis.binding.substitute(values)));
        let bindings: Vec<_> = bindings.collect();
        values.extend(bindings);
    }
    stmt.each_child_mut(&mut |child| open(child, values));
}
