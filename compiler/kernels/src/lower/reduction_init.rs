//! Initializes possibly empty reductions before their loops, except in stages, whose plans do it.

use hammock_ir::tir::{Stmt, StmtKind, empty_reductions::hoist_inits};
use hammock_loopnest::{is_stage, promote_indices};
use std::borrow::Cow;

/// Initializes the reductions of a body that need it.
pub fn init_reductions(body: &mut Stmt) {
    // Stages are raised later, from loops with promoted indices.
    let is_planned = |stmt: &Stmt| {
        let mut promoted = stmt.clone();
        promote_indices(&mut promoted);
        is_stage(&promoted)
    };
    let start = |stmt: Stmt| match hoist_inits(&stmt) {
        Cow::Owned(hoist_inits) if !is_planned(&stmt) => hoist_inits,
        _ => stmt,
    };
    match &mut body.kind {
        StmtKind::Block(block) if block.axes.is_empty() && block.init.is_none() => init_reductions(&mut block.body),
        StmtKind::Seq(stmts) => *stmts = std::mem::take(stmts).into_iter().map(start).collect(),
        _ => *body = start(std::mem::replace(body, Stmt::nop())),
    }
}
