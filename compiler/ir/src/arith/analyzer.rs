//! Facts about variables, and questions about expressions over them.

use super::{
    fold,
    interval::Interval,
    normal::{MOST_NODES, Session},
};
use crate::{
    PrimExpr,
    prim::{BinaryOp, PrimKind, Var},
};
use rustc_hash::FxHashMap;

/// Simplifies, bounds and proves things about scalar expressions.
///
/// Integers of 32 and 64 bits are taken as numbers without end, which sizes are (see [`prim`](crate::prim)), except
/// where they are computed from data; and nothing is taken as divided by zero. Every answer "yes" is certain under that assumption and the facts given; "no" means "not
/// proven". The work on one question is bounded: of expressions that are too large, or take too long, nothing is known.
#[derive(Clone, Debug, Default)]
pub struct Analyzer {
    ranges: FxHashMap<Var, Range>,
    facts: Vec<Fact>,
    default_min: Option<i64>,
}

/// What is known of one variable.
#[derive(Clone, Debug)]
pub(super) struct Range {
    pub interval: Interval,
    /// A lower bound that is not a number.
    pub min: Option<PrimExpr>,
    /// An upper bound that is not a number, as an expression and what is added to it.
    pub max: Option<(PrimExpr, i64)>,
}

/// `larger >= smaller + distance`, as numbers without end.
#[derive(Clone, Debug)]
pub(super) struct Fact {
    pub larger: PrimExpr,
    pub smaller: PrimExpr,
    pub distance: i64,
}

impl Analyzer {
    /// Nothing is known.
    pub fn new() -> Self {
        Self::default()
    }

    /// Variables of which nothing else is said are dimensions: zero or more.
    pub fn for_shapes() -> Self {
        Analyzer { default_min: Some(0), ..Self::default() }
    }

    /// Variables of which nothing else is said are at least `min`.
    pub fn with_default_min(min: i64) -> Self {
        Analyzer { default_min: Some(min), ..Self::default() }
    }

    /// The variable runs over `extent` values from `min` on, as a loop's does.
    pub fn bind(&mut self, var: &Var, min: &PrimExpr, extent: &PrimExpr) {
        let end = fold::binary(BinaryOp::Add, min.clone(), extent.clone());
        let last = fold::binary(BinaryOp::Sub, end.clone(), one(extent));
        let low = self.interval(min).min;
        let (high, max) = if last.is_data() {
            // The last value as a number without end: computing it may wrap where the loop does not run.
            let high = self.interval(&end).max;
            (if high == i64::MAX { high } else { high.saturating_sub(1) }, Some((end, -1)))
        } else {
            let max = Some(self.simplify(&last)).filter(|e| e.as_int().is_none());
            (self.interval(&last).max, max.map(|last| (last, 0)))
        };
        let interval = Interval::new(low, high.max(low));
        let min = Some(min.clone()).filter(|e| e.as_int().is_none());
        self.ranges.insert(var.clone(), Range { interval, min, max });
    }

    /// The variable is in the interval; adds to what is known of it.
    pub fn bound(&mut self, var: &Var, interval: Interval) {
        let mut range = self.range(var);
        range.interval = range.interval.intersect(interval);
        self.ranges.insert(var.clone(), range);
    }

    /// The condition holds.
    pub fn assume(&mut self, condition: &PrimExpr) {
        let PrimKind::Binary(op, a, b) = condition.kind() else { return };
        match op {
            BinaryOp::And => {
                self.assume(a);
                self.assume(b);
            }
            _ if !super::normal::is_index(a.dtype()) => {}
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

    /// `a >= b + distance`: a bound of a variable where it says no more than that, else a fact to use.
    fn assume_at_least(&mut self, a: &PrimExpr, b: &PrimExpr, distance: i64) {
        let fact = Fact { larger: a.clone(), smaller: b.clone(), distance };
        match Session::new(self).bound_in(&fact) {
            Some((var, interval)) => self.bound(&var, interval),
            None => self.facts.push(fact),
        }
    }

    /// What the expression can be.
    pub fn interval(&self, e: &PrimExpr) -> Interval {
        Session::new(self).interval_of(e)
    }

    /// An expression that is worth the same and is written more simply.
    pub fn simplify(&self, e: &PrimExpr) -> PrimExpr {
        let simple = Session::new(self).simplify(e);
        if simple.size() <= e.size() { simple } else { e.clone() }
    }

    /// The number that the expression is worth.
    pub fn as_constant(&self, e: &PrimExpr) -> Option<i64> {
        e.as_int().or_else(|| self.simplify(e).as_int()).or_else(|| self.interval(e).as_point())
    }

    /// `a - b`, where that is the same number whatever variables are worth.
    pub fn difference(&self, a: &PrimExpr, b: &PrimExpr) -> Option<i64> {
        match (a.as_int(), b.as_int()) {
            (Some(a), Some(b)) => a.checked_sub(b),
            _ if a.size() <= MOST_NODES && crate::equal::exprs(a, b) => Some(0),
            _ if comparable(a, b) => Session::new(self).difference(a, b)?.as_constant(),
            _ => None,
        }
    }

    /// Returns true if the condition holds always.
    pub fn prove(&self, condition: &PrimExpr) -> bool {
        match condition.kind() {
            PrimKind::Binary(BinaryOp::And, a, b) => self.prove(a) && self.prove(b),
            PrimKind::Binary(BinaryOp::Or, a, b) if self.prove(a) || self.prove(b) => true,
            _ => Session::new(self).simplify(condition).as_int().is_some_and(|v| v != 0),
        }
    }

    /// Returns true if `a == b` always.
    pub fn prove_eq(&self, a: &PrimExpr, b: &PrimExpr) -> bool {
        a.size() <= MOST_NODES && crate::equal::exprs(a, b) || comparable(a, b) && Session::new(self).proves_equal(a, b)
    }

    /// Returns true if `a <= b` always.
    pub fn prove_le(&self, a: &PrimExpr, b: &PrimExpr) -> bool {
        comparable(a, b) && Session::new(self).proves_at_least(b, a, 0)
    }

    /// Returns true if one of the bounds is always at least `a`. Bounds that are at least as long as `a` are tried first: a
    /// bound of a sum is mostly a longer sum.
    pub fn prove_le_any(&self, a: &PrimExpr, bounds: &[PrimExpr]) -> bool {
        let is_long = |bound: &&PrimExpr| bound.size() >= a.size();
        let (long, short) = (bounds.iter().filter(is_long), bounds.iter().filter(|bound| !is_long(bound)));
        let mut session = Session::new(self);
        long.chain(short).any(|bound| {
            session.renew();
            comparable(a, bound) && session.proves_at_least(bound, a, 0)
        })
    }

    /// Returns true if `a < b` always.
    pub fn prove_lt(&self, a: &PrimExpr, b: &PrimExpr) -> bool {
        comparable(a, b) && Session::new(self).proves_at_least(b, a, 1)
    }

    /// Returns true if `a >= b` always.
    pub fn prove_ge(&self, a: &PrimExpr, b: &PrimExpr) -> bool {
        self.prove_le(b, a)
    }

    /// Returns true if `a != b` always.
    pub fn prove_ne(&self, a: &PrimExpr, b: &PrimExpr) -> bool {
        self.prove_lt(a, b) || self.prove_lt(b, a)
    }

    /// Returns true if the expression is a multiple of `factor` always.
    pub fn prove_multiple(&self, e: &PrimExpr, factor: i64) -> bool {
        let factor = PrimExpr::int(factor, e.dtype());
        let rest = crate::prim::binary(BinaryOp::FloorMod, e.clone(), factor);
        self.as_constant(&rest) == Some(0)
    }

    /// What is known of a variable.
    pub(super) fn range(&self, var: &Var) -> Range {
        let unknown = || {
            let of_dtype = Interval::of_dtype(var.dtype());
            let least = self.default_min.filter(|_| !var.is_data());
            let interval = Interval::new(least.map_or(of_dtype.min, |m| m.max(of_dtype.min)), of_dtype.max);
            Range { interval, min: None, max: None }
        };
        self.ranges.get(var).cloned().unwrap_or_else(unknown)
    }

    /// Returns true if a variable has a symbolic bound.
    pub(super) fn has_symbolic_bounds(&self, var: &Var) -> bool {
        self.ranges.get(var).is_some_and(|range| range.min.is_some() || range.max.is_some())
    }

    /// What was assumed, other than bounds of variables.
    pub(super) fn facts(&self) -> &[Fact] {
        &self.facts
    }
}

fn one(like: &PrimExpr) -> PrimExpr {
    PrimExpr::int(1, like.dtype())
}

fn comparable(a: &PrimExpr, b: &PrimExpr) -> bool {
    a.dtype() == b.dtype() && super::normal::is_index(a.dtype())
}
