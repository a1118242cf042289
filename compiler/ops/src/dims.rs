//! Arithmetic on dimensions: int64 expressions with constant folding.

use hammock_ir::{
    PrimExpr,
    arith::{self, Analyzer},
    equal::exprs,
    prim::{BinaryOp, PrimKind},
};

/// Returns true if two dimensions are equal; `None` if that depends on symbolic values, which are nonnegative.
pub fn equal(a: &PrimExpr, b: &PrimExpr) -> Option<bool> {
    match (a.as_int(), b.as_int()) {
        (Some(a), Some(b)) => return Some(a == b),
        _ if exprs(a, b) => return Some(true),
        _ => {}
    }
    let analyzer = Analyzer::for_shapes();
    if analyzer.prove_eq(a, b) {
        return Some(true);
    }
    analyzer.prove_ne(a, b).then_some(false)
}

/// Returns true if `a >= b`; `None` if that depends on symbolic values.
pub fn at_least(a: &PrimExpr, b: &PrimExpr) -> Option<bool> {
    if let (Some(a), Some(b)) = (a.as_int(), b.as_int()) {
        return Some(a >= b);
    }
    let analyzer = Analyzer::for_shapes();
    if analyzer.prove_le(b, a) {
        return Some(true);
    }
    analyzer.prove_lt(a, b).then_some(false)
}

/// Returns true if a condition on sizes holds for all sizes.
pub fn holds(condition: &PrimExpr) -> bool {
    Analyzer::for_shapes().prove(condition)
}

/// Simplifies a dimension.
pub fn simplify(dim: &PrimExpr) -> PrimExpr {
    match dim.kind() {
        PrimKind::Int(_) | PrimKind::Var(_) => dim.clone(),
        _ => Analyzer::for_shapes().simplify(dim),
    }
}

/// Returns true if the dimension is this constant.
pub fn is(dim: &PrimExpr, value: i64) -> bool {
    dim.as_int() == Some(value)
}

/// Returns true if all dimensions are pairwise equal.
pub fn all_equal(a: &[PrimExpr], b: &[PrimExpr]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b) == Some(true))
}

/// `dim + by`, with constants folded: `n - 3 + 4` is `n + 1`.
pub fn offset(dim: &PrimExpr, by: i64) -> PrimExpr {
    let constant = |v: i64| PrimExpr::int(v, dim.dtype());
    let (base, before) = match dim.kind() {
        PrimKind::Binary(BinaryOp::Add, x, c) if c.as_int().is_some() => (x, c.as_int()),
        PrimKind::Binary(BinaryOp::Sub, x, c) if c.as_int().is_some() => (x, c.as_int().and_then(i64::checked_neg)),
        _ => (dim, Some(0)),
    };
    match before.and_then(|before| before.checked_add(by)) {
        Some(total) if total < 0 && total != i64::MIN => {
            arith::binary(BinaryOp::Sub, base.clone(), constant(total.wrapping_neg()))
        }
        Some(total) => arith::binary(BinaryOp::Add, base.clone(), constant(total)),
        None => dim + constant(by),
    }
}

/// `a + b`
pub fn add(a: &PrimExpr, b: &PrimExpr) -> PrimExpr {
    match (a.as_int(), b.as_int()) {
        (Some(x), _) => offset(b, x),
        (_, Some(y)) => offset(a, y),
        _ => a + b,
    }
}

/// `a - b`
pub fn sub(a: &PrimExpr, b: &PrimExpr) -> PrimExpr {
    match b.as_int().and_then(i64::checked_neg) {
        Some(y) => offset(a, y),
        _ if exprs(a, b) => PrimExpr::int(0, a.dtype()),
        _ => a - b,
    }
}

/// `a * b`
pub fn mul(a: &PrimExpr, b: &PrimExpr) -> PrimExpr {
    arith::binary(BinaryOp::Mul, a.clone(), b.clone())
}

/// `a // b`, for a positive `b`.
pub fn floordiv(a: &PrimExpr, b: &PrimExpr) -> PrimExpr {
    arith::binary(BinaryOp::FloorDiv, a.clone(), b.clone())
}

/// `a % b`, for a positive `b`.
pub fn floormod(a: &PrimExpr, b: &PrimExpr) -> PrimExpr {
    arith::binary(BinaryOp::FloorMod, a.clone(), b.clone())
}

/// `ceil(a / b)`, for a positive `b`.
pub fn ceildiv(a: &PrimExpr, b: &PrimExpr) -> PrimExpr {
    match (a.as_int(), b.as_int()) {
        (Some(x), Some(y)) if y > 0 && a.dtype() == b.dtype() => {
            PrimExpr::int(x.div_euclid(y) + i64::from(x % y != 0), a.dtype())
        }
        // `a + b - 1` may overflow int64.
        (None, Some(y)) if y > MAX_CEILDIV_DIVISOR => {
            let zero = PrimExpr::int(0, a.dtype());
            sub(&zero, &floordiv(&sub(&zero, a), b))
        }
        _ => floordiv(&add(a, &sub(b, &PrimExpr::int(1, b.dtype()))), b),
    }
}

/// Maximum divisor for which `ceildiv` is `(a + b - 1) // b`: no extent is that close to int64's maximum.
const MAX_CEILDIV_DIVISOR: i64 = i32::MAX as i64;

/// Maximum.
pub fn max(a: &PrimExpr, b: &PrimExpr) -> PrimExpr {
    if exprs(a, b) { a.clone() } else { arith::binary(BinaryOp::Max, a.clone(), b.clone()) }
}

/// Minimum.
pub fn min(a: &PrimExpr, b: &PrimExpr) -> PrimExpr {
    if exprs(a, b) { a.clone() } else { arith::binary(BinaryOp::Min, a.clone(), b.clone()) }
}

/// The product of dimensions; 1 for none.
pub fn product<'a>(dims: impl IntoIterator<Item = &'a PrimExpr>) -> PrimExpr {
    dims.into_iter().fold(PrimExpr::int64(1), |p, d| mul(&p, d))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hammock_ir::prim::Var;

    #[test]
    fn constants_gather() {
        let n = Var::int64("n").expr();
        assert!(exprs(&offset(&offset(&n, -3), 4), &(&n + PrimExpr::int64(1))));
        assert!(offset(&offset(&n, -3), 3).same_node(&n));
        assert_eq!(ceildiv(&7.into(), &2.into()).as_int(), Some(4));
    }

    #[test]
    fn quotients_round_up_over_the_whole_range() {
        let (maximum, minimum) = (i64::MAX, i64::MIN);
        let cases = [
            (-5, 2, -2),
            (-4, 2, -2),
            (maximum, maximum, 1),
            (maximum - 1, 2, maximum / 2),
            (minimum, 1, minimum),
            (minimum, maximum, -1),
        ];
        for (a, b, quotient) in cases {
            assert_eq!(ceildiv(&a.into(), &b.into()).as_int(), Some(quotient), "{a} / {b}");
        }
    }

    /// Expressions that overflow int64 are not folded: computing them is an error instead of a wrong size.
    #[test]
    fn nothing_wraps() {
        let (maximum, n) = (PrimExpr::int64(i64::MAX), Var::int64("n").expr());
        for size in [
            add(&maximum, &1.into()),
            mul(&maximum, &2.into()),
            product([&maximum, &maximum]),
            sub(&(-2).into(), &maximum),
        ] {
            assert_eq!(size.as_int(), None, "{size}");
        }
        let twice = offset(&offset(&n, i64::MAX), i64::MAX);
        assert_eq!(twice.to_string(), format!("n + {0} + {0}", maximum));
    }
}
