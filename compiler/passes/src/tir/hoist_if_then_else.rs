//! HoistIfThenElse: hoists loop-invariant branches out of loops (loop unswitching).
//!
//! The branch must be the whole loop body. Its condition reads no memory, which the loop may write to, and cannot
//! fail, since a loop without iterations does not evaluate it. A branch with two sides becomes a branch around two
//! loops. The result is simplified.

use super::{each_kernel, has_effects, map, may_divide_by_zero, remove_no_op, stmt_simplify, take};
use crate::{Context, Pass};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Module, PrimExpr,
    prim::{PrimKind, Substitution},
    tir::{ForKind, Loop, Stmt, StmtKind, fresh},
};

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "s_tir.HoistIfThenElse",
    doc: "Hoists loop-invariant branches out of loops (unswitching)",
    options: &[],
    run,
};

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    each_kernel(module, |_, kernel| {
        kernel.body = map(take(&mut kernel.body), &mut hoist);
        Ok(())
    })?;
    context.then(&stmt_simplify::PASS, module)?;
    context.then(&remove_no_op::PASS, module)
}

/// Hoists the branch out of a loop, repeatedly.
fn hoist(stmt: Stmt) -> Stmt {
    let span = stmt.span;
    match stmt.kind {
        StmtKind::For(mut l) if has_invariant_branch(&l) => {
            let StmtKind::If(condition, then, otherwise) = take(&mut l.body).kind else { return Stmt::nop() };
            let around = |body: Stmt| Stmt::new(StmtKind::For(Box::new(Loop { body, ..(*l).clone() }))).at(span);
            // each loop has its own variable
            let otherwise = otherwise.map(|body| hoist(fresh::copy(&around(*body), Substitution::default())));
            let then = hoist(around(*then));
            Stmt::new(StmtKind::If(condition, Box::new(then), otherwise.map(Box::new))).at(span)
        }
        kind => Stmt { kind, span },
    }
}

/// Returns true if a loop's body is a loop-invariant branch.
fn has_invariant_branch(l: &Loop) -> bool {
    let StmtKind::If(condition, ..) = &l.body.kind else { return false };
    let on_threads = matches!(l.kind, ForKind::ThreadBinding(_));
    !on_threads && !condition.uses(&l.var) && !has_effects(condition) && !condition.any(&mut reads_or_fails)
}

fn reads_or_fails(e: &PrimExpr) -> bool {
    matches!(e.kind(), PrimKind::Load(..)) || may_divide_by_zero(e)
}
