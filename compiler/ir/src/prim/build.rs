//! Constructors of scalar expressions.

use super::{BinaryOp, PrimCall, PrimCallee, PrimExpr, PrimKind, PrimType, Var};
use crate::{Attrs, DType, Name, tir::Buffer};

/// A constructor of a binary expression.
pub type BinaryFn = fn(PrimExpr, PrimExpr) -> PrimExpr;

/// `a op b` of the operands' dtype, or bool for predicates.
pub fn binary(op: BinaryOp, a: PrimExpr, b: PrimExpr) -> PrimExpr {
    let ty = if op.is_predicate() { DType::BOOL.with_lanes(a.dtype().lanes) } else { a.dtype() };
    PrimExpr::new(PrimKind::Binary(op, a, b), ty)
}

/// `a op b` for a comparison; the same as [`binary`], named for reading.
pub fn compare(op: BinaryOp, a: PrimExpr, b: PrimExpr) -> PrimExpr {
    debug_assert!(op.is_predicate());
    binary(op, a, b)
}

impl PrimExpr {
    /// An integer or bool constant of any integer dtype.
    pub fn int(value: i64, dtype: DType) -> Self {
        PrimExpr::new(PrimKind::Int(value), dtype)
    }

    /// An int64 constant: the usual dimension.
    pub fn int64(value: i64) -> Self {
        PrimExpr::int(value, DType::INT64)
    }

    /// An int32 constant: TIR's plain integer.
    pub fn int32(value: i32) -> Self {
        PrimExpr::int(i64::from(value), DType::INT32)
    }

    /// A bool constant.
    pub fn bool(value: bool) -> Self {
        PrimExpr::int(i64::from(value), DType::BOOL)
    }

    /// A float constant of any float dtype.
    pub fn float(value: f64, dtype: DType) -> Self {
        PrimExpr::new(PrimKind::Float(value), dtype)
    }

    /// The constant `value` of any numeric dtype: a float constant for float dtypes, otherwise an integer.
    pub fn constant(value: f64, dtype: DType) -> Self {
        if dtype.is_float() || dtype.is_bfloat16() {
            PrimExpr::float(value, dtype)
        } else {
            PrimExpr::int(value as i64, dtype)
        }
    }

    /// A string argument.
    pub fn str(value: impl Into<Name>) -> Self {
        PrimExpr::new(PrimKind::Str(value.into()), DType::HANDLE)
    }

    /// The minimum of two.
    pub fn min(self, other: impl Into<PrimExpr>) -> Self {
        binary(BinaryOp::Min, self, other.into())
    }

    /// The maximum of two.
    pub fn max(self, other: impl Into<PrimExpr>) -> Self {
        binary(BinaryOp::Max, self, other.into())
    }

    /// Floor division.
    pub fn floordiv(self, other: impl Into<PrimExpr>) -> Self {
        binary(BinaryOp::FloorDiv, self, other.into())
    }

    /// Remainder with the divisor's sign.
    pub fn floormod(self, other: impl Into<PrimExpr>) -> Self {
        binary(BinaryOp::FloorMod, self, other.into())
    }

    /// `self == other`
    pub fn eq(self, other: impl Into<PrimExpr>) -> Self {
        binary(BinaryOp::Eq, self, other.into())
    }

    /// `self != other`
    pub fn ne(self, other: impl Into<PrimExpr>) -> Self {
        binary(BinaryOp::Ne, self, other.into())
    }

    /// `self < other`
    pub fn lt(self, other: impl Into<PrimExpr>) -> Self {
        binary(BinaryOp::Lt, self, other.into())
    }

    /// `self <= other`
    pub fn le(self, other: impl Into<PrimExpr>) -> Self {
        binary(BinaryOp::Le, self, other.into())
    }

    /// `self > other`
    pub fn gt(self, other: impl Into<PrimExpr>) -> Self {
        binary(BinaryOp::Gt, self, other.into())
    }

    /// `self >= other`
    pub fn ge(self, other: impl Into<PrimExpr>) -> Self {
        binary(BinaryOp::Ge, self, other.into())
    }

    /// Logical and.
    pub fn and(self, other: PrimExpr) -> Self {
        binary(BinaryOp::And, self, other)
    }

    /// Logical or.
    pub fn or(self, other: PrimExpr) -> Self {
        binary(BinaryOp::Or, self, other)
    }

    /// Logical not.
    #[allow(clippy::should_implement_trait)] // builds a node; `!` would read as evaluation
    pub fn not(self) -> Self {
        let ty = DType::BOOL.with_lanes(self.dtype().lanes);
        PrimExpr::new(PrimKind::Not(self), ty)
    }

    /// Conversion to `dtype`; the same expression when it has that dtype already.
    pub fn cast(self, dtype: DType) -> Self {
        if self.dtype() == dtype { self } else { PrimExpr::new(PrimKind::Cast(self), dtype) }
    }

    /// `self ? then : otherwise`, both evaluated.
    pub fn select(self, then: PrimExpr, otherwise: PrimExpr) -> Self {
        let ty = then.dtype();
        PrimExpr::new(PrimKind::Select(self, then, otherwise), ty)
    }

    /// `self ? then : otherwise`, only one evaluated.
    pub fn if_then_else(self, then: PrimExpr, otherwise: PrimExpr) -> Self {
        let ty = then.dtype();
        PrimExpr::intrin("if_then_else", vec![self, then, otherwise], ty)
    }

    /// A call of an intrinsic without attributes.
    pub fn intrin(name: impl Into<Name>, args: Vec<PrimExpr>, ty: impl Into<PrimType>) -> Self {
        PrimExpr::call(PrimCallee::Intrin(name.into()), args, Attrs::new(), ty)
    }

    /// A unary intrinsic of the operand's dtype, such as `exp`.
    pub fn unary(self, name: &'static str) -> Self {
        let ty = self.dtype();
        PrimExpr::intrin(name, vec![self], ty)
    }

    /// Any call.
    pub fn call(callee: PrimCallee, args: Vec<PrimExpr>, attrs: Attrs, ty: impl Into<PrimType>) -> Self {
        PrimExpr::new(PrimKind::Call(PrimCall { callee, args, attrs }), ty)
    }

    /// An element of a buffer; with one vector index, as many elements as it has lanes.
    pub fn load(buffer: &Buffer, indices: Vec<PrimExpr>) -> Self {
        PrimExpr::load_masked(buffer, indices, None)
    }

    /// An element or vector of a buffer under a mask.
    pub fn load_masked(buffer: &Buffer, indices: Vec<PrimExpr>, predicate: Option<PrimExpr>) -> Self {
        let lanes = indices.last().map_or(1, |i| i.dtype().lanes);
        let dtype = buffer.dtype.with_lanes(buffer.dtype.lanes * lanes.max(1));
        PrimExpr::new(PrimKind::Load(buffer.clone(), indices, predicate), dtype)
    }

    /// The vector `base + stride * [0, …, lanes - 1]`.
    pub fn ramp(base: PrimExpr, stride: PrimExpr, lanes: u16) -> Self {
        let dtype = base.dtype();
        PrimExpr::new(PrimKind::Ramp(base, stride), dtype.with_lanes(dtype.lanes * lanes))
    }

    /// The value in every lane; the value itself for one lane.
    pub fn broadcast(self, lanes: u16) -> Self {
        if lanes == 1 {
            return self;
        }
        let dtype = self.dtype();
        PrimExpr::new(PrimKind::Broadcast(self), dtype.with_lanes(dtype.lanes * lanes))
    }

    /// `value` as `var` in `body`.
    pub fn bind(var: Var, value: PrimExpr, body: PrimExpr) -> Self {
        let ty = body.ty().clone();
        PrimExpr::new(PrimKind::Let(var, value, body), ty)
    }
}

impl From<i64> for PrimExpr {
    fn from(v: i64) -> Self {
        PrimExpr::int64(v)
    }
}

impl From<i32> for PrimExpr {
    fn from(v: i32) -> Self {
        PrimExpr::int32(v)
    }
}

impl From<&PrimExpr> for PrimExpr {
    fn from(v: &PrimExpr) -> Self {
        v.clone()
    }
}

impl From<Var> for PrimExpr {
    fn from(v: Var) -> Self {
        v.expr()
    }
}

impl From<&Var> for PrimExpr {
    fn from(v: &Var) -> Self {
        v.expr()
    }
}

macro_rules! operator {
    ($($trait:ident, $method:ident, $op:ident;)*) => {$(
        impl<T: Into<PrimExpr>> std::ops::$trait<T> for PrimExpr {
            type Output = PrimExpr;
            fn $method(self, other: T) -> PrimExpr {
                binary(BinaryOp::$op, self, other.into())
            }
        }
        impl<T: Into<PrimExpr>> std::ops::$trait<T> for &PrimExpr {
            type Output = PrimExpr;
            fn $method(self, other: T) -> PrimExpr {
                binary(BinaryOp::$op, self.clone(), other.into())
            }
        }
    )*};
}
operator! {
    Add, add, Add;
    Sub, sub, Sub;
    Mul, mul, Mul;
    Div, div, Div;
}
