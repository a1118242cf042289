//! Table-driven float32 exponentials: a table of `2^(k / 16)` in a register, and a cubic polynomial for the rest of the
//! exponent.
//!
//! The argument is not clamped: [scaling](crate::math::Machine::scales) by the floor of a float handles overflow, underflow,
//! infinities and NaN, provided that the scaled value stays positive.
#![allow(clippy::approx_constant, reason = "coefficients come from fits")]

use super::ln2;
use crate::math::Scope;
use hammock_ir::{
    PrimExpr,
    prim::flat::{EXP2_STEP, EXP2_STEPS, WITHIN},
};
use std::f64::consts::{LN_2, LOG2_E};

/// (e^r - 1) / r and (2^r - 1) / r for |r| up to half a step.
const EXP: [f64; 3] = [1.0, 0.5000161528587341, 0.1666671335697174];
const EXP2: [f64; 3] = [0.6931471824645996, 0.24023428559303284, 0.055502332746982574];

/// Returns true if the target has the instructions for the dtype of a scope.
pub fn is_supported(s: &Scope) -> bool {
    s.is_single() && s.machine.scales
}

/// `e^x * 2^extra`.
pub fn exp(s: &mut Scope, x: &PrimExpr, extra: i64) -> PrimExpr {
    exp_of_multiple(s, x, 1.0, extra)
}

/// `e^(factor x) * 2^extra`, where `factor` is a power of two or minus one and is folded into the coefficients.
pub fn exp_of_multiple(s: &mut Scope, x: &PrimExpr, factor: f64, extra: i64) -> PrimExpr {
    let (n, steps) = nearest(s, x, LOG2_E * factor);
    let (high, low) = ln2(s);
    let r = s.fma(&n, &s.c(-high / factor), x);
    let r = s.fma(&n, &s.c(-low / factor), &r);
    let n = if extra == 0 { n } else { n + s.c(extra as f64) };
    scaled(s, r, &exp_coefficients(factor), steps, n)
}

/// `e^(factor x)`, at most one, to be added to one: the absolute error matters, not the relative one.
pub fn exp_beside_one(s: &mut Scope, x: &PrimExpr, factor: f64) -> PrimExpr {
    let (n, steps) = nearest(s, x, LOG2_E * factor);
    let r = s.fma(&n, &s.c(-LN_2 / factor), x);
    scaled(s, r, &exp_coefficients(factor), steps, n)
}

/// Returns the coefficients for a multiple of the argument.
fn exp_coefficients(factor: f64) -> [f64; 3] {
    let [c0, c1, c2] = EXP;
    [c0 * factor, c1 * factor.powi(2), c2 * factor.powi(3)]
}

/// `2^x`.
pub fn exp2(s: &mut Scope, x: &PrimExpr) -> PrimExpr {
    let (n, steps) = nearest(s, x, 1.0);
    let r = x - &n;
    scaled(s, r, &EXP2, steps, n)
}

/// Returns the multiple of `1 / 16` nearest to `x * factor`, as a float, and an integer whose lowest bits are the index
/// into the table. Both come from a sum whose ulp is `1 / 16`.
fn nearest(s: &mut Scope, x: &PrimExpr, factor: f64) -> (PrimExpr, PrimExpr) {
    let shift = s.c(1.5 * 2f64.powi(s.mantissa_bits() as i32) / EXP2_STEPS as f64);
    let sum = if factor == 1.0 { x + &shift } else { s.fma(x, &s.c(factor), &shift) };
    let sum = s.name("n", sum);
    (s.name("n", &sum - shift), s.bits(&sum))
}

/// `(1 + r (c0 + c1 r + c2 r^2)) * 2^n` for a multiple `n` of `1 / 16`.
fn scaled(s: &mut Scope, r: PrimExpr, coefficients: &[f64; 3], steps: PrimExpr, n: PrimExpr) -> PrimExpr {
    // Far out of range `r` may be anything; clamped to one half, the polynomial is positive and small.
    let r = s.name("r", PrimExpr::intrin(WITHIN, vec![r, s.c(0.5)], s.dtype));
    let power = s.name("power", PrimExpr::intrin(EXP2_STEP, vec![steps], s.dtype));
    let p = s.poly(&r, coefficients);
    let p = s.fma(&(&power * r), &p, &power);
    PrimExpr::intrin("ldexp", vec![p, n], s.dtype)
}
