//! Questions about expressions, given facts about their variables.

use super::{
    assumptions::{Assumptions, Fact, Range},
    fold,
    interval::Interval,
    normal::{MAX_NODES, Query, is_index},
};
use crate::{
    PrimExpr,
    prim::{BinaryOp, PrimKind, Var},
};

/// Simplifies, bounds and proves things about scalar expressions.
///
/// 32- and 64-bit integers are treated as unbounded, as sizes are (see [`prim`](crate::prim)), unless they are computed
/// from data; divisors are assumed to be nonzero. A positive answer is certain under these assumptions and the given
/// facts; a negative one means "not proven". The work per query is bounded: nothing is known about expressions that are
/// too large or take too long.
#[derive(Clone, Debug, Default)]
pub struct Analyzer {
    assumptions: Assumptions,
}

impl Analyzer {
    /// Creates an analyzer without facts.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an analyzer in which variables default to dimensions, i.e. are at least zero.
    pub fn for_shapes() -> Self {
        Analyzer::with_default_min(0)
    }

    /// Creates an analyzer in which variables default to at least `min`.
    pub fn with_default_min(min: i64) -> Self {
        Analyzer { assumptions: Assumptions { default_min: Some(min), ..Assumptions::default() } }
    }

    /// Binds a variable to `[min, min + extent)`, as a loop does.
    pub fn bind(&mut self, var: &Var, min: &PrimExpr, extent: &PrimExpr) {
        let end = fold::binary(BinaryOp::Add, min.clone(), extent.clone());
        let last = fold::binary(BinaryOp::Sub, end.clone(), one(extent));
        let low = self.interval(min).min;
        let (high, max) = if last.is_data() {
            // The last value as an unbounded integer: computing it may wrap if the loop does not run.
            let high = self.interval(&end).max;
            (if high == i64::MAX { high } else { high.saturating_sub(1) }, Some((end, -1)))
        } else {
            let max = Some(self.simplify(&last)).filter(|e| e.as_int().is_none());
            (self.interval(&last).max, max.map(|last| (last, 0)))
        };
        let interval = Interval::new(low, high.max(low));
        let min = Some(min.clone()).filter(|e| e.as_int().is_none());
        self.assumptions.ranges.insert(var.clone(), Range { interval, min, max });
    }

    /// Restricts a variable to the interval, in addition to its earlier bounds.
    pub fn bound(&mut self, var: &Var, interval: Interval) {
        let mut range = self.assumptions.range(var);
        range.interval = range.interval.intersect(interval);
        self.assumptions.ranges.insert(var.clone(), range);
    }

    /// Assumes that the condition holds.
    pub fn assume(&mut self, condition: &PrimExpr) {
        let PrimKind::Binary(op, a, b) = condition.kind() else { return };
        match op {
            BinaryOp::And => {
                self.assume(a);
                self.assume(b);
            }
            _ if !is_index(a.dtype()) => {}
            BinaryOp::Le => self.assume_at_least(b, a, 0),
            BinaryOp::Ge => self.assume_at_least(a, b, 0),
            BinaryOp::Lt => self.assume_at_least(b, a, 1),
            BinaryOp::Gt => self.assume_at_least(a, b, 1),
            BinaryOp::Eq => {
                self.assume_at_least(b, a, 0);
                self.assume_at_least(a, b, 0);
            }
            _ => {}
        }
    }

    /// Assumes `a >= b + distance`: a variable's bound if it is of that form, otherwise a fact.
    fn assume_at_least(&mut self, a: &PrimExpr, b: &PrimExpr, distance: i64) {
        let fact = Fact { larger: a.clone(), smaller: b.clone(), distance };
        match Query::new(&self.assumptions).as_bound(&fact) {
            Some((var, interval)) => self.bound(&var, interval),
            None => self.assumptions.facts.push(fact),
        }
    }

    /// Returns the interval of the expression's values.
    pub fn interval(&self, e: &PrimExpr) -> Interval {
        Query::new(&self.assumptions).interval_of(e)
    }

    /// Returns an equal, simpler expression.
    pub fn simplify(&self, e: &PrimExpr) -> PrimExpr {
        let simple = Query::new(&self.assumptions).simplify(e);
        if simple.size() <= e.size() { simple } else { e.clone() }
    }

    /// Returns the value of a constant expression.
    pub fn as_constant(&self, e: &PrimExpr) -> Option<i64> {
        e.as_int().or_else(|| self.simplify(e).as_int()).or_else(|| self.interval(e).as_point())
    }

    /// Returns `a - b` if it is constant.
    pub fn difference(&self, a: &PrimExpr, b: &PrimExpr) -> Option<i64> {
        match (a.as_int(), b.as_int()) {
            (Some(a), Some(b)) => a.checked_sub(b),
            _ if a.size() <= MAX_NODES && crate::equal::exprs(a, b) => Some(0),
            _ if comparable(a, b) => Query::new(&self.assumptions).difference(a, b)?.as_constant(),
            _ => None,
        }
    }

    /// Returns true if the condition is proven.
    pub fn prove(&self, condition: &PrimExpr) -> bool {
        match condition.kind() {
            PrimKind::Binary(BinaryOp::And, a, b) => self.prove(a) && self.prove(b),
            PrimKind::Binary(BinaryOp::Or, a, b) if self.prove(a) || self.prove(b) => true,
            _ => Query::new(&self.assumptions).simplify(condition).as_int().is_some_and(|v| v != 0),
        }
    }

    /// Returns true if `a == b` is proven.
    pub fn prove_eq(&self, a: &PrimExpr, b: &PrimExpr) -> bool {
        a.size() <= MAX_NODES && crate::equal::exprs(a, b)
            || comparable(a, b) && Query::new(&self.assumptions).proves_equal(a, b)
    }

    /// Returns true if `a <= b` is proven.
    pub fn prove_le(&self, a: &PrimExpr, b: &PrimExpr) -> bool {
        comparable(a, b) && Query::new(&self.assumptions).proves_ge(b, a, 0)
    }

    /// Returns true if `a` is proven to be at most one of the bounds. Bounds at least as long as `a` are tried first:
    /// the bound of a sum is usually a longer sum.
    pub fn prove_le_any(&self, a: &PrimExpr, bounds: &[PrimExpr]) -> bool {
        let is_long = |bound: &&PrimExpr| bound.size() >= a.size();
        let (long, short) = (bounds.iter().filter(is_long), bounds.iter().filter(|bound| !is_long(bound)));
        let mut session = Query::new(&self.assumptions);
        long.chain(short).any(|bound| {
            session.reset_budget();
            comparable(a, bound) && session.proves_ge(bound, a, 0)
        })
    }

    /// Returns true if `a < b` is proven.
    pub fn prove_lt(&self, a: &PrimExpr, b: &PrimExpr) -> bool {
        comparable(a, b) && Query::new(&self.assumptions).proves_ge(b, a, 1)
    }

    /// Returns true if `a >= b` is proven.
    pub fn prove_ge(&self, a: &PrimExpr, b: &PrimExpr) -> bool {
        self.prove_le(b, a)
    }

    /// Returns true if `a != b` is proven.
    pub fn prove_ne(&self, a: &PrimExpr, b: &PrimExpr) -> bool {
        self.prove_lt(a, b) || self.prove_lt(b, a)
    }

    /// Returns true if the expression is proven to be a multiple of `factor`.
    pub fn prove_multiple(&self, e: &PrimExpr, factor: i64) -> bool {
        let factor = PrimExpr::int(factor, e.dtype());
        let rest = crate::prim::binary(BinaryOp::FloorMod, e.clone(), factor);
        self.as_constant(&rest) == Some(0)
    }
}

fn one(like: &PrimExpr) -> PrimExpr {
    PrimExpr::int(1, like.dtype())
}

fn comparable(a: &PrimExpr, b: &PrimExpr) -> bool {
    a.dtype() == b.dtype() && is_index(a.dtype())
}
