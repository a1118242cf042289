//! Sort order.

use hammock_ir::{DType, PrimExpr};

/// Sort order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Ascending; NaN last.
    Ascending,
    /// Descending; NaN first.
    Descending,
}

impl Order {
    /// The order of an operator's `descending` or `largest`.
    pub fn of(descending: bool) -> Self {
        if descending { Order::Descending } else { Order::Ascending }
    }

    /// The condition that `a` precedes `b` strictly.
    pub fn before(self, a: PrimExpr, b: PrimExpr) -> PrimExpr {
        let (high, low) = match self {
            Order::Ascending => (b.clone(), a.clone()),
            Order::Descending => (a.clone(), b.clone()),
        };
        let plain = low.clone().lt(high.clone());
        if !a.dtype().is_floating() {
            return plain;
        }
        let is_nan = |e: PrimExpr| PrimExpr::intrin("isnan", vec![e], DType::BOOL);
        plain.or(is_nan(high).and(is_nan(low).not()))
    }
}
