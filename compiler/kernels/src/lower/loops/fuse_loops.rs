//! Elements and a reduction of them in one loop: each is combined while it is in a register.
//!
//! Both have loops of the same steps over one axis, and the reduction reads each element where the loop before stores it.
//! So it can run in the iteration that makes its elements, before others are made.

use crate::{
    index::same_expr,
    plan::{LoopKind, StagePlan},
    stage::Stage,
};
use hammock_ir::{
    PrimExpr,
    prim::{PrimKind, Substitution},
    tir::{ForKind, Stmt, StmtKind},
};

/// The statements of a stage of elements and of a reduction that follows it, as one where they can run together.
pub fn merged(elements: (&Stage, &StagePlan), sum: (&Stage, &StagePlan), stmts: [Stmt; 2]) -> Vec<Stmt> {
    let [first, mut second] = stmts;
    if !fit(elements, sum) {
        return vec![first, second];
    }
    let mut parts = match first.kind {
        StmtKind::Seq(parts) => parts,
        _ => vec![first],
    };
    match put(&mut parts, &mut second) {
        true => vec![second],
        false => parts.into_iter().chain([second]).collect(),
    }
}

/// Returns true if the plans have the same loops over the only axis, and the reduction reads the elements at their own
/// places.
fn fit((elements, plan): (&Stage, &StagePlan), (sum, other): (&Stage, &StagePlan)) -> bool {
    let ([axis], [term]) = (&elements.axes[..], &sum.axes[..]) else { return false };
    let alone = |stage: &Stage| stage.place.is_none() && !stage.regions;
    let in_vectors = |plan: &StagePlan| {
        let serial_first = plan.loops.first().is_some_and(|l| l.kind == LoopKind::Serial);
        serial_first && plan.vector().is_some() && plan.staged.is_empty() && !plan.inverts
    };
    let renamed = Substitution::from_iter([(axis.var.clone(), term.var.expr())]);
    let places: Vec<PrimExpr> = elements.indices.iter().map(|index| index.substitute(&renamed)).collect();
    let elsewhere = |e: &PrimExpr| match e.kind() {
        PrimKind::Load(buffer, indices, _) if *buffer == elements.buffer => {
            indices.len() != places.len() || !indices.iter().zip(&places).all(|(a, b)| same_expr(a, b))
        }
        _ => false,
    };
    let reads_sum = |e: &PrimExpr| matches!(e.kind(), PrimKind::Load(buffer, ..) if *buffer == sum.buffer || buffer == sum.target());
    !axis.reduce
        && term.reduce
        && alone(elements)
        && alone(sum)
        && in_vectors(plan)
        && in_vectors(other)
        && plan.loops == other.loops
        && same_expr(&axis.extent, &term.extent)
        && !sum.values().any(|value| value.any(&mut |e| elsewhere(e)))
        && !elements.values().any(|value| value.any(&mut |e| reads_sum(e)))
}

/// Puts the body of the first of these statements, a loop, into the loop of a reduction, and the others after it: what is
/// left of the axis. Does nothing, and says so, if there is no loop like it.
fn put(elements: &mut Vec<Stmt>, sum: &mut Stmt) -> bool {
    match &mut sum.kind {
        StmtKind::Seq(stmts) => {
            let Some(at) = stmts.iter_mut().position(|stmt| put(elements, stmt)) else { return false };
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
