//! Comparisons and selects that borrow their operands.

use hammock_ir::PrimExpr;

/// Comparisons and selects that borrow their first operand.
pub trait CompareOps {
    /// `self < other`
    fn is_lt(&self, other: impl Into<PrimExpr>) -> PrimExpr;
    /// `self <= other`
    fn is_le(&self, other: impl Into<PrimExpr>) -> PrimExpr;
    /// `self > other`
    fn is_gt(&self, other: impl Into<PrimExpr>) -> PrimExpr;
    /// `self >= other`
    fn is_ge(&self, other: impl Into<PrimExpr>) -> PrimExpr;
    /// `self == other`
    fn is_eq(&self, other: impl Into<PrimExpr>) -> PrimExpr;
    /// `self != other`
    fn is_ne(&self, other: impl Into<PrimExpr>) -> PrimExpr;
    /// `self ? then : otherwise`, both evaluated.
    fn pick(&self, then: PrimExpr, otherwise: PrimExpr) -> PrimExpr;
}

impl CompareOps for PrimExpr {
    fn is_lt(&self, other: impl Into<PrimExpr>) -> PrimExpr {
        self.clone().lt(other)
    }

    fn is_le(&self, other: impl Into<PrimExpr>) -> PrimExpr {
        self.clone().le(other)
    }

    fn is_gt(&self, other: impl Into<PrimExpr>) -> PrimExpr {
        self.clone().gt(other)
    }

    fn is_ge(&self, other: impl Into<PrimExpr>) -> PrimExpr {
        self.clone().ge(other)
    }

    fn is_eq(&self, other: impl Into<PrimExpr>) -> PrimExpr {
        self.clone().eq(other)
    }

    fn is_ne(&self, other: impl Into<PrimExpr>) -> PrimExpr {
        self.clone().ne(other)
    }

    fn pick(&self, then: PrimExpr, otherwise: PrimExpr) -> PrimExpr {
        self.clone().select(then, otherwise)
    }
}
