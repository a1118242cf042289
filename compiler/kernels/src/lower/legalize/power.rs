//! Legalization of powers with simple exponents, and of powers of integers.

use hammock_ir::{
    PrimExpr,
    prim::{PrimKind, Var},
};

/// Expands `x^y` for simple exponents; `None` if the general function is needed.
pub fn pow(x: &PrimExpr, y: &PrimExpr) -> Option<PrimExpr> {
    if !x.dtype().is_floating() {
        return Some(integer(x, y));
    }
    let exponent = match y.kind() {
        PrimKind::Broadcast(inner) => inner.as_float()?,
        _ => y.as_float()?,
    };
    let constant = |v: f64| PrimExpr::float(v, x.dtype().element()).broadcast(x.dtype().lanes);
    let var = Var::new("x", x.dtype());
    let v = var.expr();
    let value = match exponent {
        1.0 => v,
        2.0 => &v * &v,
        3.0 => &v * &v * v,
        4.0 => {
            let square = Var::new("square", x.dtype());
            PrimExpr::bind(square.clone(), &v * &v, square.expr() * square.expr())
        }
        -1.0 => constant(1.0) / v,
        -2.0 => constant(1.0) / (&v * &v),
        // The power of minus infinity is infinity, and that of minus zero is zero.
        0.5 => {
            let infinite = v.clone().eq(constant(f64::NEG_INFINITY));
            infinite.select(constant(f64::INFINITY), v.unary("sqrt") + constant(0.0))
        }
        _ => return None,
    };
    Some(PrimExpr::bind(var, x.clone(), value))
}

/// Expands `x^y` of integers by squaring, wrapping. Negative powers truncate towards zero.
fn integer(x: &PrimExpr, y: &PrimExpr) -> PrimExpr {
    let dtype = x.dtype();
    let constant = |v: i64| PrimExpr::int(v, dtype.element()).broadcast(dtype.lanes);
    let (base, exponent) = (Var::new("x", dtype), Var::new("y", dtype));
    let mut names = vec![(base.clone(), x.clone()), (exponent.clone(), y.clone())];
    let mut name = |value: PrimExpr| {
        let var = Var::new("p", dtype);
        names.push((var.clone(), value));
        var.expr()
    };
    let bit = |i: i64| {
        let shifted = PrimExpr::intrin("shift_right", vec![exponent.expr(), constant(i)], dtype);
        PrimExpr::intrin("bitwise_and", vec![shifted, constant(1)], dtype).ne(constant(0))
    };
    let (mut result, mut square) = (constant(1), base.expr());
    let digits = i64::from(dtype.bits) - i64::from(dtype.is_int());
    for i in 0..digits {
        result = name(bit(i).select(&result * &square, result.clone()));
        square = name(&square * &square);
    }
    let is = |v: i64| base.expr().eq(constant(v));
    let unit = is(-1).select(bit(0).select(constant(-1), constant(1)), is(1).select(constant(1), constant(0)));
    let result = if dtype.is_uint() { result } else { exponent.expr().lt(constant(0)).select(unit, result) };
    names.into_iter().rev().fold(result, |body, (var, value)| PrimExpr::bind(var, value, body))
}
