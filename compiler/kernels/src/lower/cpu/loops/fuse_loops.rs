//! Loop fusion of an elementwise stage with the reduction that follows it: each element is combined while in a
//! register.
//!
//! Both have the same loops over one axis, and the reduction loads each element at the index at which it was stored. So
//! the reduction of an element can run in the iteration that computes it.

use crate::schedule::{LoopKind, StagePlan};
use hammock_ir::{
    PrimExpr,
    prim::{PrimKind, Substitution},
    tir::{ForKind, Stmt, StmtKind},
};
use hammock_loopnest::{Stage, index::same_expr};

/// Fuses the loops of an elementwise stage and of the reduction that follows it, if possible.
pub fn fuse_reduction(elements: (&Stage, &StagePlan), sum: (&Stage, &StagePlan), stmts: [Stmt; 2]) -> Vec<Stmt> {
    let [first, mut second] = stmts;
    if !is_fusible(elements, sum) {
        return vec![first, second];
    }
    let mut parts = match first.kind {
        StmtKind::Seq(parts) => parts,
        _ => vec![first],
    };
    match insert_body(&mut parts, &mut second) {
        true => vec![second],
        false => parts.into_iter().chain([second]).collect(),
    }
}

/// Returns true if both plans have the same loops over a single axis, and the reduction loads elements at the indices
/// at which they are stored.
fn is_fusible((elements, plan): (&Stage, &StagePlan), (sum, other): (&Stage, &StagePlan)) -> bool {
    let ([axis], [term]) = (&elements.axes[..], &sum.axes[..]) else { return false };
    let is_plain = |stage: &Stage| stage.arg_result.is_none() && !stage.regions;
    let in_vectors = |plan: &StagePlan| {
        let serial_first = plan.loops.first().is_some_and(|l| l.kind == LoopKind::Serial);
        serial_first && plan.vector().is_some() && plan.staged.is_empty() && !plan.hoists_reciprocal
    };
    let renamed = Substitution::from_iter([(axis.var.clone(), term.var.expr())]);
    let accesses: Vec<PrimExpr> = elements.indices.iter().map(|index| index.substitute(&renamed)).collect();
    let reads_other = |e: &PrimExpr| match e.kind() {
        PrimKind::Load(buffer, indices, _) if *buffer == elements.buffer => {
            indices.len() != accesses.len() || !indices.iter().zip(&accesses).all(|(a, b)| same_expr(a, b))
        }
        _ => false,
    };
    let reads_sum = |e: &PrimExpr| matches!(e.kind(), PrimKind::Load(buffer, ..) if *buffer == sum.buffer || buffer == sum.target());
    !axis.reduce
        && term.reduce
        && is_plain(elements)
        && is_plain(sum)
        && in_vectors(plan)
        && in_vectors(other)
        && plan.loops == other.loops
        && same_expr(&axis.extent, &term.extent)
        && !sum.values().any(|value| value.any(&mut |e| reads_other(e)))
        && !elements.values().any(|value| value.any(&mut |e| reads_sum(e)))
}

/// Moves the body of the first statement, a loop, into the matching loop of a reduction, and the other statements, its
/// tail, after that loop. Returns false, and does nothing, if no loop matches.
fn insert_body(elements: &mut Vec<Stmt>, sum: &mut Stmt) -> bool {
    match &mut sum.kind {
        StmtKind::Seq(stmts) => {
            let Some(at) = stmts.iter_mut().position(|stmt| insert_body(elements, stmt)) else { return false };
            stmts.splice(at + 1..at + 1, elements.drain(..));
            true
        }
        StmtKind::For(own) if own.kind == ForKind::Serial => {
            let Some(StmtKind::For(l)) = elements.first_mut().map(|stmt| &mut stmt.kind) else { return false };
            if l.kind != ForKind::Serial || !same_expr(&l.extent, &own.extent) || !same_expr(&l.min, &own.min) {
                return false;
            }
            let mut body = std::mem::replace(&mut l.body, Stmt::nop());
            body.substitute(&Substitution::from_iter([(l.var.clone(), own.var.expr())]));
            elements.remove(0);
            let combined = std::mem::replace(&mut own.body, Stmt::nop());
            own.body = Stmt::new(StmtKind::Seq(vec![body, combined]));
            true
        }
        _ => false,
    }
}
