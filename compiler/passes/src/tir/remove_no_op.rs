//! RemoveNoOp: removes statements without effect, and empty loops and branches.
//!
//! These are evaluations without side effects, stores of the element that is already there, and loops without
//! iterations. Expressions of a removed loop or branch are kept if they may have side effects.

use super::{each_kernel, has_effects, is_element, map, take};
use crate::{Context, Pass};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Module, PrimExpr, arith,
    tir::{Stmt, StmtKind},
};

/// See the module's documentation.
pub static PASS: Pass =
    Pass { name: "tirx.RemoveNoOp", doc: "Removes statements without effect from kernels", options: &[], run };

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    each_kernel(module, |_, kernel| {
        kernel.body = map(take(&mut kernel.body), &mut without_no_ops);
        Ok(())
    })
}

fn without_no_ops(stmt: Stmt) -> Stmt {
    let span = stmt.span;
    match stmt.kind {
        StmtKind::Seq(stmts) => Stmt::seq(stmts.into_iter().filter(|stmt| !stmt.is_nop())).at(span),
        StmtKind::Evaluate(e) => effects([e]).at(span),
        StmtKind::For(l) if l.extent.as_int().is_some_and(|extent| extent <= 0) => effects([l.min]).at(span),
        StmtKind::For(l) if l.body.is_nop() => effects([l.min, l.extent]).at(span),
        StmtKind::If(condition, then, otherwise) => {
            let otherwise = otherwise.filter(|otherwise| !otherwise.is_nop());
            match (then.is_nop(), otherwise) {
                (true, None) => effects([condition]).at(span),
                (true, Some(otherwise)) => Stmt::new(StmtKind::If(arith::not(condition), otherwise, None)).at(span),
                (false, otherwise) => Stmt::new(StmtKind::If(condition, then, otherwise)).at(span),
            }
        }
        StmtKind::Attr { value, body, .. } if body.is_nop() => effects([value]).at(span),
        StmtKind::Store { buffer, indices, value, predicate } => {
            if is_element(&buffer, &indices, predicate.as_ref(), &value) {
                effects(indices).at(span)
            } else {
                Stmt::new(StmtKind::Store { buffer, indices, value, predicate }).at(span)
            }
        }
        kind => Stmt::new(kind).at(span),
    }
}

/// Returns evaluations of the expressions that have side effects.
fn effects(exprs: impl IntoIterator<Item = PrimExpr>) -> Stmt {
    Stmt::seq(exprs.into_iter().filter(has_effects).map(|e| Stmt::new(StmtKind::Evaluate(e))))
}
