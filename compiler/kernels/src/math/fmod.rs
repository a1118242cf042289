//! Exact remainder of truncating division.

use super::{Scope, compare_ops::CompareOps, trig::any};
use hammock_ir::PrimExpr;

/// `x - y trunc(x / y)`.
pub fn fmod(s: &mut Scope, x: &PrimExpr, y: &PrimExpr) -> PrimExpr {
    if s.is_single() {
        let single = s.dtype;
        let value = s.in_double(|s| {
            let (x, y) = (x.clone().cast(s.dtype), y.clone().cast(s.dtype));
            let (x, y) = (s.name("x", x), s.name("y", y));
            magnitude(s, &x, &y, 28, 10)
        });
        return finish(s, x, y, value.cast(single));
    }
    let value = magnitude(s, x, y, 50, 42);
    finish(s, x, y, value)
}

/// Applies the sign of `x`, and handles the special cases.
fn finish(s: &mut Scope, x: &PrimExpr, y: &PrimExpr, value: PrimExpr) -> PrimExpr {
    let value = s.copy_sign(&value, x);
    let (a, b) = (s.abs(x), s.abs(y));
    let value = a.is_lt(&b).pick(x.clone(), value);
    let defined = a.is_lt(s.c(f64::INFINITY)).and(b.is_gt(s.c(0.0)));
    let value = defined.pick(value, s.c(f64::NAN));
    y.is_ne(y).pick(y.clone(), value)
}

/// Remainder of the magnitudes by long division, `digit` bits of the quotient per step; all steps but the last are
/// skipped unless some lane needs them.
fn magnitude(s: &mut Scope, x: &PrimExpr, y: &PrimExpr, digit: i32, steps: i32) -> PrimExpr {
    let (a, b) = (s.name("a", s.abs(x)), s.name("b", s.abs(y)));
    let large = a.is_gt(&b * s.c(2f64.powi(digit)));
    let large = s.name("large", large);
    let long = s.nested(|s| {
        // Scale the divisor up as far as it stays finite, then down step by step.
        let mut rest = a.clone();
        for step in (1..steps).rev() {
            rest = long_step(s, rest, &b, step * digit);
        }
        rest
    });
    let rest = any(large).if_then_else(long, a);
    let rest = s.name("rest", rest);
    step(s, &rest, &b)
}

/// One step with the divisor times `2^shift`, if that is finite and not larger than the remainder.
fn long_step(s: &mut Scope, rest: PrimExpr, b: &PrimExpr, shift: i32) -> PrimExpr {
    let mut divisor = b.clone();
    let mut left = shift;
    while left > 0 {
        divisor = divisor * s.c(2f64.powi(left.min(1000)));
        left -= 1000;
    }
    let divisor = s.name("divisor", divisor);
    let applies = divisor.is_le(&rest);
    let next = step(s, &rest, &divisor);
    s.name("rest", applies.pick(next, rest))
}

/// Subtracts the multiples of the divisor, fewer than `2^50`.
fn step(s: &mut Scope, rest: &PrimExpr, divisor: &PrimExpr) -> PrimExpr {
    // Close to overflow both are scaled down, which is exact there.
    let large = s.name("large", rest.is_gt(s.c(2f64.powi(900))));
    let (scale, back) = (large.pick(s.c(2f64.powi(-128)), s.c(1.0)), large.pick(s.c(2f64.powi(128)), s.c(1.0)));
    let scale = s.name("scale", scale);
    let (rest, divisor) = (&s.name("rest", rest * &scale), &s.name("divisor", divisor * scale));
    // Slightly smaller, so that rounding never makes the quotient too large; it may be too small by one.
    let quotient = s.truncate(&((rest / divisor) * s.c(1.0 - f64::EPSILON)));
    let quotient = s.name("quotient", quotient);
    let (high, low) = s.two_product(&quotient, divisor);
    let most = s.name("most", rest - high);
    let next = s.name("next", &most - &low);
    // The sum of both parts may need one bit too many, so the divisor is subtracted before the low part.
    let reduced = next.is_ge(divisor).select((most - divisor) - low, next);
    s.name("next", reduced * back)
}
