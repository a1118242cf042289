//! Arithmetic on dimensions: int64 expressions, folded where their values are known.

use hammock_ir::{
    PrimExpr,
    arith::Analyzer,
    prim::{BinaryOp, PrimKind},
};

/// Whether two dimensions are the same number: `None` when that depends on symbolic values, which are zero or more.
pub fn equal(a: &PrimExpr, b: &PrimExpr) -> Option<bool> {
    match (a.as_int(), b.as_int()) {
        (Some(a), Some(b)) => return Some(a == b),
        _ if same(a, b) => return Some(true),
        _ => {}
    }
    let analyzer = Analyzer::for_shapes();
    if analyzer.prove_eq(a, b) {
        return Some(true);
    }
    analyzer.prove_ne(a, b).then_some(false)
}

/// Whether one dimension is as large as another or larger: `None` when that depends on symbolic values.
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

/// Whether a condition on sizes holds whatever they are.
pub fn holds(condition: &PrimExpr) -> bool {
    Analyzer::for_shapes().prove(condition)
}

/// A dimension in its simplest form.
pub fn simplify(dim: &PrimExpr) -> PrimExpr {
    match dim.kind() {
        PrimKind::Int(_) | PrimKind::Var(_) => dim.clone(),
        _ => Analyzer::for_shapes().simplify(dim),
    }
}

/// Whether two expressions are the same tree.
fn same(a: &PrimExpr, b: &PrimExpr) -> bool {
    if a.same_node(b) {
        return true;
    }
    match (a.kind(), b.kind()) {
        (PrimKind::Int(a), PrimKind::Int(b)) => a == b,
        (PrimKind::Var(a), PrimKind::Var(b)) => a == b,
        (PrimKind::Binary(f, a, b), PrimKind::Binary(g, c, d)) => f == g && same(a, c) && same(b, d),
        _ => false,
    }
}

/// Whether the dimension is that number.
pub fn is(dim: &PrimExpr, value: i64) -> bool {
    dim.as_int() == Some(value)
}

/// Whether all dimensions are pairwise the same.
pub fn all_equal(a: &[PrimExpr], b: &[PrimExpr]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b) == Some(true))
}

/// `dim + by`; constants gather at the end: `n - 3 + 4` is `n + 1`.
pub fn offset(dim: &PrimExpr, by: i64) -> PrimExpr {
    let constant = |v: i64| PrimExpr::int(v, dim.dtype());
    let (base, before) = match dim.kind() {
        PrimKind::Int(v) => return constant(v.wrapping_add(by)),
        PrimKind::Binary(BinaryOp::Add, x, c) if c.as_int().is_some() => (x, c.as_int().unwrap_or(0)),
        PrimKind::Binary(BinaryOp::Sub, x, c) if c.as_int().is_some() => (x, c.as_int().unwrap_or(0).wrapping_neg()),
        _ => (dim, 0),
    };
    match before.wrapping_add(by) {
        0 => base.clone(),
        total if total > 0 => base + constant(total),
        total => base - constant(total.wrapping_neg()),
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
    match (a.as_int(), b.as_int()) {
        (_, Some(y)) => offset(a, y.wrapping_neg()),
        _ if same(a, b) => PrimExpr::int(0, a.dtype()),
        _ => a - b,
    }
}

/// `a * b`
pub fn mul(a: &PrimExpr, b: &PrimExpr) -> PrimExpr {
    match (a.as_int(), b.as_int()) {
        (Some(x), Some(y)) => PrimExpr::int(x.wrapping_mul(y), a.dtype()),
        (Some(1), _) => b.clone(),
        (_, Some(1)) => a.clone(),
        (Some(0), _) | (_, Some(0)) => PrimExpr::int(0, a.dtype()),
        _ => a * b,
    }
}

/// `a // b`, for a positive `b`.
pub fn floordiv(a: &PrimExpr, b: &PrimExpr) -> PrimExpr {
    match (a.as_int(), b.as_int()) {
        (Some(x), Some(y)) if y != 0 => PrimExpr::int(x.div_euclid(y), a.dtype()),
        (_, Some(1)) => a.clone(),
        _ => a.clone().floordiv(b),
    }
}

/// `a % b`, for a positive `b`.
pub fn floormod(a: &PrimExpr, b: &PrimExpr) -> PrimExpr {
    match (a.as_int(), b.as_int()) {
        (Some(x), Some(y)) if y != 0 => PrimExpr::int(x.rem_euclid(y), a.dtype()),
        (_, Some(1)) => PrimExpr::int(0, a.dtype()),
        _ => a.clone().floormod(b),
    }
}

/// `ceil(a / b)`, for a positive `b`.
pub fn ceildiv(a: &PrimExpr, b: &PrimExpr) -> PrimExpr {
    floordiv(&add(a, &sub(b, &PrimExpr::int(1, b.dtype()))), b)
}

/// The larger.
pub fn max(a: &PrimExpr, b: &PrimExpr) -> PrimExpr {
    fold(BinaryOp::Max, a, b, i64::max)
}

/// The smaller.
pub fn min(a: &PrimExpr, b: &PrimExpr) -> PrimExpr {
    fold(BinaryOp::Min, a, b, i64::min)
}

fn fold(op: BinaryOp, a: &PrimExpr, b: &PrimExpr, f: fn(i64, i64) -> i64) -> PrimExpr {
    match (a.as_int(), b.as_int()) {
        (Some(x), Some(y)) => PrimExpr::int(f(x, y), a.dtype()),
        _ if same(a, b) => a.clone(),
        _ => hammock_ir::prim::binary(op, a.clone(), b.clone()),
    }
}

/// The product of dimensions; 1 for none.
pub fn product<'a>(dims: impl IntoIterator<Item = &'a PrimExpr>) -> PrimExpr {
    dims.into_iter().fold(PrimExpr::int64(1), |p, d| mul(&p, d))
}
