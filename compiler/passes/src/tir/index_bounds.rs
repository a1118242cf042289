//! Boxes around the indices of accesses: what they cover while loops run.

use hammock_ir::{
    PrimExpr,
    arith::{self, Analyzer},
    prim::{BinaryOp, PrimKind, Substitution, Var},
    tir::regions::Domains,
};

/// The values of a loop's variable.
#[derive(Clone)]
pub struct LoopRange {
    /// The variable.
    pub var: Var,
    /// The least.
    pub min: PrimExpr,
    /// The greatest.
    pub last: PrimExpr,
}

/// The indices from one to another, both included.
pub type Span = (PrimExpr, PrimExpr);

impl LoopRange {
    /// So many values.
    pub fn new(var: &Var, min: &PrimExpr, extent: &PrimExpr) -> Self {
        let last = before(&arith::binary(BinaryOp::Add, min.clone(), extent.clone()));
        LoopRange { var: var.clone(), min: min.clone(), last: arith::cast(last, var.dtype()) }
    }
}

/// One less.
pub fn before(e: &PrimExpr) -> PrimExpr {
    arith::binary(BinaryOp::Sub, e.clone(), PrimExpr::int(1, e.dtype()))
}

/// One more.
pub fn after(e: &PrimExpr) -> PrimExpr {
    arith::binary(BinaryOp::Add, e.clone(), PrimExpr::int(1, e.dtype()))
}

/// The least box around so many indices from one on, over all values of loops; inner loops come first.
pub fn box_of((min, extent): &(PrimExpr, PrimExpr), loops: &[LoopRange]) -> Option<Span> {
    let high = arith::binary(BinaryOp::Add, min.clone(), before(extent));
    match (extreme(min, loops, true), extreme(&high, loops, false)) {
        (Some(least), Some(most)) => Some((least, most)),
        _ => roughly(min, extent, loops),
    }
}

/// The least or greatest value of an expression that grows or shrinks evenly with each loop.
pub fn extreme(e: &PrimExpr, loops: &[LoopRange], least: bool) -> Option<PrimExpr> {
    loops.iter().try_fold(e.clone(), |e, l| {
        if !e.uses(&l.var) {
            return Some(e);
        }
        let value = if (step(&e, &l.var)? > 0) == least { &l.min } else { &l.last };
        let value = arith::cast(value.clone(), l.var.dtype());
        Some(e.substitute(&Substitution::from_iter([(l.var.clone(), value)])))
    })
}

fn roughly(min: &PrimExpr, extent: &PrimExpr, loops: &[LoopRange]) -> Option<Span> {
    let mut domains = Domains::default();
    for l in loops.iter().rev() {
        domains.add_loop(&l.var, &l.min, &arith::binary(BinaryOp::Sub, after(&l.last), l.min.clone()));
    }
    let range = domains.range(min)?.widened(&domains.range(extent)?);
    Some((range.begin, before(&range.end)))
}

/// By how much an expression grows with a variable.
pub fn step(e: &PrimExpr, var: &Var) -> Option<i64> {
    let next = e.substitute(&Substitution::from_iter([(var.clone(), after(&var.expr()))]));
    Analyzer::new().difference(&next, e).filter(|step| *step != 0)
}

/// The conditions that all hold where a condition does.
pub fn conjuncts(condition: &PrimExpr) -> Vec<&PrimExpr> {
    match condition.kind() {
        PrimKind::Binary(BinaryOp::And, a, b) => {
            let mut all = conjuncts(a);
            all.extend(conjuncts(b));
            all
        }
        _ => match condition.as_intrin("likely") {
            Some(call) => call.args.iter().flat_map(conjuncts).collect(),
            None => vec![condition],
        },
    }
}

/// What a comparison says: `a < b`, for both.
pub fn limit(condition: &PrimExpr) -> Option<(PrimExpr, PrimExpr)> {
    let PrimKind::Binary(op, a, b) = condition.kind() else { return None };
    match op {
        BinaryOp::Lt => Some((a.clone(), b.clone())),
        BinaryOp::Le => Some((a.clone(), after(b))),
        BinaryOp::Gt => Some((b.clone(), a.clone())),
        BinaryOp::Ge => Some((b.clone(), after(a))),
        _ => None,
    }
}
