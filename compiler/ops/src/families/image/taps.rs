//! Weighted sums of the elements around a position.

use hammock_ir::{DType, PrimExpr};

/// An element along one axis, and its weight; `None` for weight one.
#[derive(Clone, Debug)]
pub struct Tap {
    /// Index of the element.
    pub index: PrimExpr,
    /// Weight.
    pub weight: Option<PrimExpr>,
}

impl Tap {
    /// An element of weight one.
    pub fn whole(index: PrimExpr) -> Self {
        Tap { index, weight: None }
    }
}

/// The weighted sum of the elements at the taps of each axis, the last axis first. Single elements keep their dtype;
/// sums are of dtype `wide`.
pub fn weighted_sum(taps: &[Vec<Tap>], wide: DType, read: impl Fn(&[PrimExpr]) -> PrimExpr) -> PrimExpr {
    fold(taps, wide, &mut Vec::new(), &read)
}

fn fold(
    taps: &[Vec<Tap>],
    wide: DType,
    index: &mut Vec<PrimExpr>,
    read: &impl Fn(&[PrimExpr]) -> PrimExpr,
) -> PrimExpr {
    let Some((axis, rest)) = taps.split_first() else { return read(index) };
    let mut term = |tap: &Tap| {
        index.push(tap.index.clone());
        let inner = fold(rest, wide, index, read);
        index.pop();
        match &tap.weight {
            Some(weight) => inner.cast(wide) * weight.clone().cast(wide),
            None => inner,
        }
    };
    let first = axis.first().map(&mut term).unwrap_or_else(|| PrimExpr::constant(0.0, wide));
    axis.iter().skip(1).fold(first, |sum, tap| sum + term(tap))
}
