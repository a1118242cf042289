//! LowerInitBlock: moves the init of a block into its body, under a condition.
//!
//! `T.init()` runs in the first iteration of the reduction axes: if each of them has its first value. A block without
//! reduction axes always runs it. The init of a reduction that may be empty is also emitted before its loops.

use super::each_kernel;
use crate::{Context, Pass};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Module, PrimExpr,
    prim::IterKind,
    tir::{Stmt, StmtKind, empty_reductions::hoist_inits},
};

/// See the module's documentation.
pub static PASS: Pass =
    Pass { name: "s_tir.LowerInitBlock", doc: "Moves the inits of blocks into their bodies", options: &[], run };

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    each_kernel(module, |_, kernel| {
        kernel.body = hoist_inits(&kernel.body).into_owned();
        lower(&mut kernel.body);
        Ok(())
    })
}

fn lower(stmt: &mut Stmt) {
    stmt.each_child_mut(&mut lower);
    let StmtKind::Block(block) = &mut stmt.kind else { return };
    let Some(init) = block.init.take() else { return };
    let reduced = block.axes.iter().filter(|axis| axis.kind == IterKind::Reduce);
    let first = reduced.map(|axis| axis.var.expr().eq(&axis.dom.0)).reduce(PrimExpr::and);
    let span = init.span;
    let init = match first {
        Some(first) => Stmt::new(StmtKind::If(first, Box::new(init), None)).at(span),
        None => init,
    };
    let body = super::take(&mut block.body);
    block.body = Stmt::seq([init, body]);
}
