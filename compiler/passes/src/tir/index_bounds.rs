//! Bounds of the indices of accesses over the iterations of loops.

use hammock_ir::{
    PrimExpr,
    arith::{self, Analyzer},
    prim::{BinaryOp, PrimKind, Substitution, Var},
    tir::regions::Domains,
};

/// Range of a loop variable.
#[derive(Clone)]
pub struct LoopRange {
    /// The variable.
    pub var: Var,
    /// Minimum.
    pub min: PrimExpr,
    /// Maximum.
    pub last: PrimExpr,
}

/// A range of indices, both ends included.
pub type Span = (PrimExpr, PrimExpr);

impl LoopRange {
    /// The range `min..min + extent`.
    pub fn new(var: &Var, min: &PrimExpr, extent: &PrimExpr) -> Self {
        let last = minus_one(&arith::binary(BinaryOp::Add, min.clone(), extent.clone()));
        LoopRange { var: var.clone(), min: min.clone(), last: arith::cast(last, var.dtype()) }
    }
}

/// Returns the expression minus one.
pub fn minus_one(e: &PrimExpr) -> PrimExpr {
    arith::binary(BinaryOp::Sub, e.clone(), PrimExpr::int(1, e.dtype()))
}

/// Returns the expression plus one.
pub fn plus_one(e: &PrimExpr) -> PrimExpr {
    arith::binary(BinaryOp::Add, e.clone(), PrimExpr::int(1, e.dtype()))
}

/// Returns the bounds of `extent` indices from `min`, over all iterations of loops; inner loops come first.
pub fn bounds_of((min, extent): &(PrimExpr, PrimExpr), loops: &[LoopRange]) -> Option<Span> {
    let high = arith::binary(BinaryOp::Add, min.clone(), minus_one(extent));
    match (affine_extremum(min, loops, true), affine_extremum(&high, loops, false)) {
        (Some(minimum), Some(maximum)) => Some((minimum, maximum)),
        _ => conservative_bounds(min, extent, loops),
    }
}

/// Returns the minimum or maximum of an expression that is affine in each loop variable.
pub fn affine_extremum(e: &PrimExpr, loops: &[LoopRange], minimum: bool) -> Option<PrimExpr> {
    loops.iter().try_fold(e.clone(), |e, l| {
        if !e.uses(&l.var) {
            return Some(e);
        }
        let value = if (coefficient(&e, &l.var)? > 0) == minimum { &l.min } else { &l.last };
        let value = arith::cast(value.clone(), l.var.dtype());
        Some(e.substitute(&Substitution::from_iter([(l.var.clone(), value)])))
    })
}

fn conservative_bounds(min: &PrimExpr, extent: &PrimExpr, loops: &[LoopRange]) -> Option<Span> {
    let mut domains = Domains::default();
    for l in loops.iter().rev() {
        domains.add_loop(&l.var, &l.min, &arith::binary(BinaryOp::Sub, plus_one(&l.last), l.min.clone()));
    }
    let range = domains.range(min)?.extended_by(&domains.range(extent)?);
    Some((range.begin, minus_one(&range.end)))
}

/// Returns the coefficient of a variable in an affine expression.
pub fn coefficient(e: &PrimExpr, var: &Var) -> Option<i64> {
    let next = e.substitute(&Substitution::from_iter([(var.clone(), plus_one(&var.expr()))]));
    Analyzer::new().difference(&next, e).filter(|coefficient| *coefficient != 0)
}

/// Returns the conjuncts of a condition.
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

/// Returns a comparison as `a < b`: both sides.
pub fn as_less_than(condition: &PrimExpr) -> Option<(PrimExpr, PrimExpr)> {
    let PrimKind::Binary(op, a, b) = condition.kind() else { return None };
    match op {
        BinaryOp::Lt => Some((a.clone(), b.clone())),
        BinaryOp::Le => Some((a.clone(), plus_one(b))),
        BinaryOp::Gt => Some((b.clone(), a.clone())),
        BinaryOp::Ge => Some((b.clone(), plus_one(a))),
        _ => None,
    }
}
