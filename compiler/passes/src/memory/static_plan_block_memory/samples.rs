//! Values of symbolic sizes at a few assignments of their variables.
//!
//! A relation between two sizes that one assignment contradicts cannot be proven. Most sizes that memory planning
//! compares differ, and an attempt to prove the opposite costs far more than an evaluation.

use super::bounds::Bounds;
use hammock_ir::{PrimExpr, prim::Substitution, prim::Var};
use hammock_ops::dims;
use rustc_hash::FxHashMap;

/// Number of assignments.
const COUNT: usize = 3;

/// Values of a size; `None` if it has none, such as a division by zero.
#[derive(Clone)]
pub(super) struct Samples([Option<i64>; COUNT]);

impl Samples {
    /// True unless an assignment contradicts `self == other`.
    pub(super) fn may_equal(&self, other: &Samples) -> bool {
        self.agree(other, |a, b| a == b)
    }

    /// True unless an assignment contradicts `self <= other`.
    pub(super) fn may_be_le(&self, other: &Samples) -> bool {
        self.agree(other, |a, b| a <= b)
    }

    fn agree(&self, other: &Samples, relation: impl Fn(i64, i64) -> bool) -> bool {
        self.0.iter().zip(&other.0).all(|(a, b)| a.zip(*b).is_none_or(|(a, b)| relation(a, b)))
    }
}

/// Assignments of all variables seen so far.
pub(super) struct Sampler<'a> {
    bounds: &'a Bounds,
    numbers: FxHashMap<Var, i64>,
}

impl<'a> Sampler<'a> {
    pub(super) fn new(bounds: &'a Bounds) -> Sampler<'a> {
        Sampler { bounds, numbers: FxHashMap::default() }
    }

    /// Evaluates a size.
    pub(super) fn sample(&mut self, size: &PrimExpr) -> Samples {
        let mut values: [Substitution; COUNT] = Default::default();
        size.each_var(&mut |var| {
            let next = self.numbers.len() as i64;
            let number = *self.numbers.entry(var.clone()).or_insert(next);
            for (values, value) in values.iter_mut().zip(assigned(number)) {
                let value = self.bounds.nearest(var, value);
                values.insert(var.clone(), PrimExpr::int(value, var.dtype()));
            }
        });
        Samples(values.map(|values| dims::simplify(&size.substitute(&values)).as_int()))
    }
}

/// Values of a variable: small and equal for all, large and different, or spread over magnitudes.
fn assigned(number: i64) -> [i64; COUNT] {
    [67, 1021 + number * 37 % 1009, 20_011 / (1 + number * 5 % 23)]
}
