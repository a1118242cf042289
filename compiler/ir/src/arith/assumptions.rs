//! Facts about variables that queries assume.

use super::Interval;
use crate::{PrimExpr, prim::Var};
use rustc_hash::FxHashMap;

/// Facts about variables.
#[derive(Clone, Debug, Default)]
pub struct Assumptions {
    /// Bounds of variables.
    pub ranges: FxHashMap<Var, Range>,
    /// Facts other than bounds of variables.
    pub facts: Vec<Fact>,
    /// Lower bound of variables without a range.
    pub default_min: Option<i64>,
}

/// Facts about one variable.
#[derive(Clone, Debug)]
pub struct Range {
    pub interval: Interval,
    /// Symbolic lower bound.
    pub min: Option<PrimExpr>,
    /// Symbolic upper bound: an expression and a constant added to it.
    pub max: Option<(PrimExpr, i64)>,
}

/// `larger >= smaller + distance`, over unbounded integers.
#[derive(Clone, Debug)]
pub struct Fact {
    pub larger: PrimExpr,
    pub smaller: PrimExpr,
    pub distance: i64,
}

impl Assumptions {
    /// Returns the facts about a variable.
    pub fn range(&self, var: &Var) -> Range {
        let unknown = || {
            let of_dtype = Interval::of_dtype(var.dtype());
            let min = self.default_min.filter(|_| !var.is_data());
            let interval = Interval::new(min.map_or(of_dtype.min, |m| m.max(of_dtype.min)), of_dtype.max);
            Range { interval, min: None, max: None }
        };
        self.ranges.get(var).cloned().unwrap_or_else(unknown)
    }

    /// Returns true if a variable has a symbolic bound.
    pub fn has_symbolic_bounds(&self, var: &Var) -> bool {
        self.ranges.get(var).is_some_and(|range| range.min.is_some() || range.max.is_some())
    }
}
