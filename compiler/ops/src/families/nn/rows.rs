//! Row-wise reductions: the building block of softmax, normalizations and losses.

use crate::{
    dims,
    legalize::{Builder, Combine, Input},
};
use hammock_ir::{DType, PrimExpr};

/// Axes to reduce over; the others are retained.
#[derive(Clone, Debug)]
pub struct Rows {
    ndim: usize,
    axes: Vec<usize>,
}

impl Rows {
    /// Rows along these axes of a tensor of `ndim` dimensions.
    pub fn new(ndim: usize, mut axes: Vec<usize>) -> Self {
        axes.sort_unstable();
        Rows { ndim, axes }
    }

    /// The elements of a tensor's shape, or of an index, that belong to the retained axes.
    pub fn retained(&self, of_all: &[PrimExpr]) -> Vec<PrimExpr> {
        let retained = |(i, e): (usize, &PrimExpr)| (!self.axes.contains(&i)).then(|| e.clone());
        of_all.iter().enumerate().filter_map(retained).collect()
    }

    /// A tensor over the retained axes: the reduction of `f` at each index into a tensor of that shape.
    pub fn fold(
        &self,
        b: &mut Builder,
        name: &str,
        shape: &[PrimExpr],
        dtype: DType,
        how: Combine,
        f: impl FnOnce(&[PrimExpr]) -> PrimExpr,
    ) -> Input {
        let to = b.temp(name, self.retained(shape), dtype);
        let over: Vec<_> = self.axes.iter().map(|a| (format!("k{a}"), shape[*a].clone())).collect();
        b.reduce(&to, &over, how, |i, k| f(&self.merge(i, k)));
        Input::Buffer(to)
    }

    fn merge(&self, retained: &[PrimExpr], folded: &[PrimExpr]) -> Vec<PrimExpr> {
        let (mut retained, mut folded) = (retained.iter(), folded.iter());
        let next = |axis| if self.axes.contains(&axis) { folded.next() } else { retained.next() };
        (0..self.ndim).filter_map(next).cloned().collect()
    }

    /// Number of elements reduced to one, in the given dtype.
    pub fn count(&self, shape: &[PrimExpr], dtype: DType) -> PrimExpr {
        number(&dims::product(self.axes.iter().map(|a| &shape[*a])), dtype)
    }
}

/// A dimension converted to another dtype.
pub fn number(dim: &PrimExpr, dtype: DType) -> PrimExpr {
    match dim.as_int() {
        Some(value) => PrimExpr::constant(value as f64, dtype),
        None => dim.clone().cast(dtype),
    }
}
