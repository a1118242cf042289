//! Folding over some axes and coming back: what softmax, normalizations and losses are made of.

use crate::{
    dims,
    legalize::{Builder, Combine, Input},
};
use hammock_ir::{DType, PrimExpr};

/// Axes to fold over; the others are kept.
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

    /// The elements of a tensor's shape, or of an index, that belong to kept axes.
    pub fn kept(&self, of_all: &[PrimExpr]) -> Vec<PrimExpr> {
        let kept = |(i, e): (usize, &PrimExpr)| (!self.axes.contains(&i)).then(|| e.clone());
        of_all.iter().enumerate().filter_map(kept).collect()
    }

    /// A tensor of the kept axes: `f` of each index into a tensor of that shape, folded.
    pub fn fold(
        &self,
        b: &mut Builder,
        name: &str,
        shape: &[PrimExpr],
        dtype: DType,
        how: Combine,
        f: impl FnOnce(&[PrimExpr]) -> PrimExpr,
    ) -> Input {
        let to = b.temp(name, self.kept(shape), dtype);
        let over: Vec<_> = self.axes.iter().map(|a| (format!("k{a}"), shape[*a].clone())).collect();
        b.reduce(&to, &over, how, |i, k| f(&self.merge(i, k)));
        Input::Buffer(to)
    }

    fn merge(&self, kept: &[PrimExpr], folded: &[PrimExpr]) -> Vec<PrimExpr> {
        let (mut kept, mut folded) = (kept.iter(), folded.iter());
        let next = |axis| if self.axes.contains(&axis) { folded.next() } else { kept.next() };
        (0..self.ndim).filter_map(next).cloned().collect()
    }

    /// The number of elements folded into one, as a number of that dtype.
    pub fn count(&self, shape: &[PrimExpr], dtype: DType) -> PrimExpr {
        number(&dims::product(self.axes.iter().map(|a| &shape[*a])), dtype)
    }
}

/// A dimension as a number of another dtype.
pub fn number(dim: &PrimExpr, dtype: DType) -> PrimExpr {
    match dim.as_int() {
        Some(value) => PrimExpr::constant(value as f64, dtype),
        None => dim.clone().cast(dtype),
    }
}
