//! Combiners of reductions.

use hammock_ir::{DType, PrimExpr};

/// A commutative, associative combiner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combine {
    /// Sum.
    Sum,
    /// Product.
    Prod,
    /// Maximum.
    Max,
    /// Minimum.
    Min,
    /// Logical and.
    All,
    /// Logical or.
    Any,
}

impl Combine {
    /// The combiner for a dtype. For bools, sum and maximum become "any", product and minimum "all".
    pub fn on(self, dtype: DType) -> Self {
        match self {
            _ if !dtype.is_bool() => self,
            Combine::Sum | Combine::Max => Combine::Any,
            Combine::Prod | Combine::Min => Combine::All,
            other => other,
        }
    }

    /// The neutral element.
    pub fn identity(self, dtype: DType) -> PrimExpr {
        match self {
            Combine::Sum => PrimExpr::constant(0.0, dtype),
            Combine::Prod => PrimExpr::constant(1.0, dtype),
            Combine::Max => lowest(dtype),
            Combine::Min => highest(dtype),
            Combine::All => PrimExpr::bool(true),
            Combine::Any => PrimExpr::bool(false),
        }
    }

    /// Combines `a` and `b`.
    pub fn apply(self, a: PrimExpr, b: PrimExpr) -> PrimExpr {
        match self {
            Combine::Sum => a + b,
            Combine::Prod => a * b,
            Combine::Max => a.max(b),
            Combine::Min => a.min(b),
            Combine::All => a.and(b),
            Combine::Any => a.or(b),
        }
    }
}

/// The maximum of a float dtype: infinity if the format has one.
pub fn largest_float(dtype: DType) -> f64 {
    match dtype.element() {
        DType::FLOAT8_E4M3B11FNUZ => 30.0,
        DType::FLOAT8_E4M3FN => 448.0,
        DType::FLOAT8_E4M3FNUZ => 240.0,
        DType::FLOAT8_E5M2FNUZ => 57344.0,
        DType::FLOAT8_E8M0FNU => 127f64.exp2(),
        DType::FLOAT6_E2M3FN => 7.5,
        DType::FLOAT6_E3M2FN => 28.0,
        DType::FLOAT4_E2M1FN => 6.0,
        _ => f64::INFINITY,
    }
}

/// The minimum of a dtype; minus infinity for floats that have one.
pub fn lowest(dtype: DType) -> PrimExpr {
    if dtype.is_floating() {
        let unsigned = dtype.element() == DType::FLOAT8_E8M0FNU;
        let minimum = if unsigned { (-127f64).exp2() } else { -largest_float(dtype) };
        return PrimExpr::float(minimum, dtype);
    }
    let value = match dtype.bits {
        _ if !dtype.is_int() => 0,
        64 => i64::MIN,
        bits => -(1i64 << (bits - 1)),
    };
    PrimExpr::int(value, dtype)
}

/// The maximum of a dtype; infinity for floats that have one.
pub fn highest(dtype: DType) -> PrimExpr {
    if dtype.is_floating() {
        return PrimExpr::float(largest_float(dtype), dtype);
    }
    let value = match dtype.bits {
        _ if dtype.is_bool() => 1,
        64 if dtype.is_int() => i64::MAX,
        64 => -1, // unsigned, by its bits
        bits if dtype.is_int() => (1i64 << (bits - 1)) - 1,
        bits => (1i64 << bits) - 1,
    };
    PrimExpr::int(value, dtype)
}
