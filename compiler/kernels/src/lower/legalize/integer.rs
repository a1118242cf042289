//! Legalization of integer functions.

use hammock_ir::{
    DType, PrimExpr,
    prim::{BinaryOp, PrimKind, Var, binary},
};

fn constant(value: i64, like: &PrimExpr) -> PrimExpr {
    PrimExpr::int(value, like.dtype().element()).broadcast(like.dtype().lanes)
}

/// Returns true if a divisor needs no guard: index arithmetic divides by extents of loops that run, but data may be
/// zero.
pub fn is_safe(divisor: &PrimExpr) -> bool {
    !divisor.has_loads()
}

/// Computes division and remainder with the machine's truncating division. Unless the divisor is safe, division by zero
/// gives zero and overflow wraps, so that no input traps.
pub fn divide(op: BinaryOp, x: PrimExpr, y: PrimExpr, not_negative: bool, safe: bool) -> PrimExpr {
    if !safe {
        return guarded(op, x, y, not_negative);
    }
    match (op, not_negative) {
        (BinaryOp::FloorDiv, true) => binary(BinaryOp::Div, x, y),
        (BinaryOp::FloorMod, true) => binary(BinaryOp::Mod, x, y),
        (BinaryOp::FloorDiv | BinaryOp::FloorMod, false) => match scalar_constant(&y) {
            Some(d) if d > 0 && d & (d - 1) == 0 => by_power_of_two(op, x, &y, d),
            _ => floor_division(op, x, y),
        },
        _ => binary(op, x, y),
    }
}

fn scalar_constant(e: &PrimExpr) -> Option<i64> {
    match e.kind() {
        PrimKind::Broadcast(inner) => inner.as_int(),
        _ => e.as_int(),
    }
}

fn by_power_of_two(op: BinaryOp, x: PrimExpr, y: &PrimExpr, divisor: i64) -> PrimExpr {
    let dtype = x.dtype();
    let (name, operand) = match op {
        BinaryOp::FloorDiv => ("shift_right", i64::from(divisor.trailing_zeros())),
        _ => ("bitwise_and", divisor - 1),
    };
    PrimExpr::intrin(name, vec![x, constant(operand, y)], dtype)
}

/// Binds a value that `body` uses several times.
fn with(name: &'static str, value: PrimExpr, body: impl FnOnce(PrimExpr) -> PrimExpr) -> PrimExpr {
    let var = Var::of_value(name, &value);
    let body = body(var.expr());
    PrimExpr::bind(var, value, body)
}

fn floor_division(op: BinaryOp, x: PrimExpr, y: PrimExpr) -> PrimExpr {
    with("y", y, |y| {
        with("x", x, |x| {
            with("rest", binary(BinaryOp::Mod, x.clone(), y.clone()), |rest| {
                let zero = constant(0, &rest);
                let other_sign = rest.clone().lt(&zero).ne(y.clone().lt(&zero));
                let corrects = rest.clone().ne(&zero).and(other_sign);
                match op {
                    BinaryOp::FloorMod => rest.clone() + corrects.select(y, zero),
                    _ => {
                        let quotient = binary(BinaryOp::Div, x, y);
                        let one = constant(1, &rest);
                        quotient - corrects.select(one, zero)
                    }
                }
            })
        })
    })
}

fn guarded(op: BinaryOp, x: PrimExpr, y: PrimExpr, not_negative: bool) -> PrimExpr {
    with("y", y, |y| {
        with("x", x, |x| {
            let (zero, one) = (constant(0, &y), constant(1, &y));
            let by_zero = y.clone().eq(&zero);
            let by_minus_one = y.clone().eq(constant(-1, &y));
            let unusual = if y.dtype().is_uint() { by_zero.clone() } else { by_zero.clone().or(by_minus_one.clone()) };
            let usual = divide(op, x.clone(), unusual.select(one, y.clone()), not_negative, true);
            let negated = match op {
                BinaryOp::Div | BinaryOp::FloorDiv => &zero - x,
                _ => zero.clone(),
            };
            let value = if y.dtype().is_uint() { usual } else { by_minus_one.select(negated, usual) };
            by_zero.select(zero, value)
        })
    })
}

/// Functions of one integer.
pub fn unary(name: &str, x: &PrimExpr) -> Option<PrimExpr> {
    let lanes = x.dtype().lanes;
    Some(match name {
        "abs" | "fabs" if x.dtype().is_uint() => x.clone(),
        "abs" | "fabs" => with("x", x.clone(), |x| {
            let zero = constant(0, &x);
            x.clone().lt(&zero).select(zero - &x, x)
        }),
        "floor" | "ceil" | "trunc" | "round" | "nearbyint" => x.clone(),
        "isnan" | "isinf" => PrimExpr::bool(false).broadcast(lanes),
        "isfinite" => PrimExpr::bool(true).broadcast(lanes),
        _ => return None,
    })
}

/// Fixed-point multiplication with `q` fraction bits, shifted left by `s` (right if negative), rounding half up.
pub fn multiply_shift(x: &PrimExpr, y: &PrimExpr, q: &PrimExpr, s: &PrimExpr) -> PrimExpr {
    let wide = DType::INT64.with_lanes(x.dtype().lanes);
    let to = x.dtype();
    let [x, y, q, s] = [x, y, q, s].map(|e| e.clone().cast(wide));
    let zero = constant(0, &s);
    let shift = |name: &'static str, a: PrimExpr, b: PrimExpr| PrimExpr::intrin(name, vec![a, b], wide);
    let last = constant(63, &s);
    let wide = shift("shift_left", x, s.clone().max(&zero).min(&last)) * y;
    let right = (q - s.min(&zero)).max(&zero).min(last);
    with("right", right, |right| {
        let one = constant(1, &right);
        let half = shift("shift_left", one.clone(), right.clone().max(&one) - one);
        let half = right.clone().gt(&zero).select(half, zero);
        shift("shift_right", wide + half, right).cast(to)
    })
}
