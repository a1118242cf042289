//! HoistIfThenElse: a branch that is all that a loop does, and is the same in each iteration, is taken around the loop.
//!
//! Such a condition reads no memory, which the loop may write to, and cannot fail, since a loop without iterations does
//! not evaluate it. A branch with two sides becomes one around two loops. What is left is simplified.

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
    doc: "Takes branches that are the same in each iteration around their loops",
    options: &[],
    run,
};

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    each_kernel(module, |_, kernel| {
        kernel.body = map(take(&mut kernel.body), &mut hoisted);
        Ok(())
    })?;
    context.then(&stmt_simplify::PASS, module)?;
    context.then(&remove_no_op::PASS, module)
}

/// A loop with its branch around it, as often as it is all that the loop does.
fn hoisted(stmt: Stmt) -> Stmt {
    let span = stmt.span;
    match stmt.kind {
        StmtKind::For(mut l) if can_leave(&l) => {
            let StmtKind::If(condition, then, otherwise) = take(&mut l.body).kind else { return Stmt::nop() };
            let around = |body: Stmt| Stmt::new(StmtKind::For(Box::new(Loop { body, ..(*l).clone() }))).at(span);
            // each loop has a variable of its own
            let otherwise = otherwise.map(|body| hoisted(fresh::copy(&around(*body), Substitution::default())));
            let then = hoisted(around(*then));
            Stmt::new(StmtKind::If(condition, Box::new(then), otherwise.map(Box::new))).at(span)
        }
        kind => Stmt { kind, span },
    }
}

/// Returns true if all that a loop does is a branch that is the same in each iteration.
fn can_leave(l: &Loop) -> bool {
    let StmtKind::If(condition, ..) = &l.body.kind else { return false };
    let on_threads = matches!(l.kind, ForKind::ThreadBinding(_));
    !on_threads && !condition.uses(&l.var) && !has_effects(condition) && !condition.any(&mut reads_or_fails)
}

fn reads_or_fails(e: &PrimExpr) -> bool {
    matches!(e.kind(), PrimKind::Load(..)) || may_divide_by_zero(e)
}
