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
        let is_nan = |e: &PrimExpr| PrimExpr::intrin("isnan", vec![e.clone()], DType::BOOL);
        // Of NaN tests, those of `b` remain: it is the operand that loops over elements do not change.
        match (self, a.dtype().is_floating()) {
            (Order::Ascending, false) => a.lt(b),
            (Order::Descending, false) => b.lt(a),
            (Order::Ascending, true) => a.clone().lt(b.clone()).or(is_nan(&b).and(is_nan(&a).not())),
            (Order::Descending, true) => a.le(b.clone()).not().and(is_nan(&b).not()),
        }
    }
}
