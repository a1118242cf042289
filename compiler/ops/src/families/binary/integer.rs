//! Integer division with checked divisors, and shifts that are defined for all operands.

use super::{same_type, wide};
use crate::{
    CallContext,
    legalize::{Builder, Combine, Input},
};
use hammock_ir::{
    DType, PrimExpr,
    prim::{BinaryOp, binary},
    relax::InferError,
};

/// `a / b`; of integers, towards zero.
pub fn trunc_divide(a: PrimExpr, b: PrimExpr) -> PrimExpr {
    if a.dtype().is_floating() { a / b } else { guarded(BinaryOp::Div, a, b) }
}

/// `a / b`, rounded down.
pub fn floor_divide(a: PrimExpr, b: PrimExpr) -> PrimExpr {
    if a.dtype().is_floating() {
        return wide(a, b, |a, b| (a / b).unary("floor"));
    }
    guarded(BinaryOp::FloorDiv, a, b)
}

/// The remainder, with the sign of `a`.
pub fn trunc_mod(a: PrimExpr, b: PrimExpr) -> PrimExpr {
    if a.dtype().is_floating() {
        return wide(a, b, |a, b| same_type("fmod", a, b));
    }
    guarded(BinaryOp::Mod, a, b)
}

/// The remainder, with the sign of `b`.
pub fn floor_mod(a: PrimExpr, b: PrimExpr) -> PrimExpr {
    if a.dtype().is_floating() { wide(a, b, float_floor_mod) } else { guarded(BinaryOp::FloorMod, a, b) }
}

/// The exact remainder, corrected by one divisor if its sign differs from the divisor's.
fn float_floor_mod(a: PrimExpr, b: PrimExpr) -> PrimExpr {
    let zero = PrimExpr::float(0.0, a.dtype());
    let rest = same_type("fmod", a, b.clone());
    let negative = |e: &PrimExpr| e.clone().lt(zero.clone());
    let other_sign = negative(&rest).ne(negative(&b)).and(rest.clone().ne(zero.clone()));
    other_sign.select(&rest + b, rest)
}

/// An integer division or remainder with a nonzero divisor. A divisor of -1 would overflow for the minimum: it is
/// replaced by 1 and the result selected separately. Constant divisors need no guard.
fn guarded(op: BinaryOp, a: PrimExpr, b: PrimExpr) -> PrimExpr {
    let dtype = a.dtype();
    if dtype.is_bool() {
        let quotient = guarded(op, a.cast(DType::INT8), b.cast(DType::INT8));
        return quotient.cast(DType::BOOL);
    }
    let number = |v| PrimExpr::int(v, dtype);
    let by_minus_one = if is_remainder(op) { number(0) } else { number(0) - &a };
    match b.as_int() {
        Some(-1) if dtype.is_int() => by_minus_one,
        None if dtype.is_int() => {
            let minus_one = b.clone().eq(number(-1));
            let safe = minus_one.clone().select(number(1), b);
            minus_one.select(by_minus_one, binary(op, a, safe))
        }
        _ => binary(op, a, b),
    }
}

/// Rejects a constant zero divisor of integers, and adds a check of the divisor's elements to the kernel.
///
/// # Errors
/// When it is the constant zero.
pub fn check_nonzero(cx: &CallContext, b: &mut Builder, divisor: &Input) -> Result<(), InferError> {
    let dtype = divisor.dtype();
    if dtype.is_floating() {
        return Ok(());
    }
    let zero = || PrimExpr::int(0, dtype);
    let nonzero = match divisor {
        Input::Scalar(e) if e.as_int() == Some(0) => return Err(cx.error_at("x2", "integers are divided by zero")),
        Input::Scalar(e) => e.clone().ne(zero()),
        Input::Buffer(buffer) if buffer.shape.is_empty() => divisor.at(&[]).ne(zero()),
        Input::Buffer(buffer) => {
            let found = b.temp("by_zero", Vec::new(), DType::BOOL);
            let axes: Vec<_> = buffer.shape.iter().enumerate().map(|(i, n)| (format!("k{i}"), n.clone())).collect();
            b.reduce(&found, &axes, Combine::Any, |_, k| divisor.at(k).eq(zero()));
            PrimExpr::load(&found, Vec::new()).not()
        }
    };
    b.require(nonzero, "integers are divided by zero");
    Ok(())
}

fn is_remainder(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Mod | BinaryOp::FloorMod)
}

/// `a << b`; zero if every bit is shifted out.
pub fn shift_left(a: PrimExpr, b: PrimExpr) -> PrimExpr {
    let zero = PrimExpr::int(0, a.dtype());
    shift("shift_left", a, b, zero)
}

/// `a >> b`; only the sign if every bit is shifted out.
pub fn shift_right(a: PrimExpr, b: PrimExpr) -> PrimExpr {
    let dtype = a.dtype();
    let number = |v| PrimExpr::int(v, dtype);
    let all_out = match dtype.is_int() {
        true => a.clone().lt(number(0)).select(number(-1), number(0)),
        false => number(0),
    };
    shift("shift_right", a, b, all_out)
}

/// A shift whose distance is clamped below the width, from which on the machine's result is undefined.
fn shift(intrinsic: &'static str, a: PrimExpr, b: PrimExpr, all_out: PrimExpr) -> PrimExpr {
    let dtype = a.dtype();
    let width = i64::from(dtype.bits);
    let number = |v| PrimExpr::int(v, dtype);
    match b.as_int() {
        Some(n) if (0..width).contains(&n) => same_type(intrinsic, a, b),
        Some(_) => all_out,
        None => {
            let fits = b.clone().ge(number(0)).and(b.clone().lt(number(width)));
            let distance = fits.clone().select(b, number(0));
            fits.select(same_type(intrinsic, a, distance), all_out)
        }
    }
}
