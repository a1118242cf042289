//! Exponentials in float32 by a table of `2^(k / 16)` in a register: for what is left of the exponent a polynomial of the
//! third degree is enough.
//!
//! The bounds are not looked for before: [a scaling](super::Machine::scales) by the floor of a float takes what is too
//! large or small, infinities and NaN, so that only what it scales must stay a positive number.
#![allow(clippy::approx_constant, reason = "coefficients come from fits")]

use super::{Scope, exp::ln2};
use hammock_ir::PrimExpr;
use std::f64::consts::{LN_2, LOG2_E};

/// (e^r - 1) / r and (2^r - 1) / r for |r| up to half a step.
const EXP: [f64; 3] = [1.0, 0.5000161528587341, 0.1666671335697174];
const EXP2: [f64; 3] = [0.6931471824645996, 0.24023428559303284, 0.055502332746982574];

/// How many powers the table has.
pub const STEPS: i64 = 16;

/// The intrinsic that is `2^(k / 16)` of the four lowest bits `k` of an int32, in float32.
pub const POWER: &str = "exp2_step";

/// What [`POWER`] is of an integer, before it is rounded.
pub fn power(k: i64) -> f64 {
    (k.rem_euclid(STEPS) as f64 / STEPS as f64).exp2()
}

/// The intrinsic that is a float32 whose magnitude is at most that of another; if it is NaN, it is the other one.
pub const WITHIN: &str = "within";

/// What [`WITHIN`] is.
pub fn within(x: f64, bound: f64) -> f64 {
    if x.abs() <= bound { x } else { bound.copysign(x) }
}

/// Returns true if there are such a table and scaling for what is computed.
pub fn are_for(s: &Scope) -> bool {
    s.is_single() && s.machine.scales
}

/// `e^x * 2^extra`.
pub fn exp(s: &mut Scope, x: &PrimExpr, extra: i64) -> PrimExpr {
    exp_of_multiple(s, x, 1.0, extra)
}

/// `e^(factor x) * 2^extra` for a power of two, or minus one: the coefficients take it in.
pub fn exp_of_multiple(s: &mut Scope, x: &PrimExpr, factor: f64, extra: i64) -> PrimExpr {
    let (n, steps) = nearest(s, x, LOG2_E * factor);
    let (high, low) = ln2(s);
    let r = s.fma(&n, &s.c(-high / factor), x);
    let r = s.fma(&n, &s.c(-low / factor), &r);
    let n = if extra == 0 { n } else { n + s.c(extra as f64) };
    scaled(s, r, &exp_coefficients(factor), steps, n)
}

/// `e^(factor x)` that is added to one, where it is no larger: what is lost of a small one does not count.
pub fn exp_beside_one(s: &mut Scope, x: &PrimExpr, factor: f64) -> PrimExpr {
    let (n, steps) = nearest(s, x, LOG2_E * factor);
    let r = s.fma(&n, &s.c(-LN_2 / factor), x);
    scaled(s, r, &exp_coefficients(factor), steps, n)
}

/// The coefficients for a multiple of what they are for.
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

/// The multiple of a step that is nearest to `x * factor`, as a float, and the integer whose lowest bits say which step
/// it is: both come of a sum whose last place is a step.
fn nearest(s: &mut Scope, x: &PrimExpr, factor: f64) -> (PrimExpr, PrimExpr) {
    let shift = s.c(1.5 * 2f64.powi(s.mantissa_bits() as i32) / STEPS as f64);
    let sum = if factor == 1.0 { x + &shift } else { s.fma(x, &s.c(factor), &shift) };
    let sum = s.name("n", sum);
    (s.name("n", &sum - shift), s.bits(&sum))
}

/// `(1 + r (c0 + c1 r + c2 r^2)) * 2^n` for an `n` of these steps.
fn scaled(s: &mut Scope, r: PrimExpr, coefficients: &[f64; 3], steps: PrimExpr, n: PrimExpr) -> PrimExpr {
    // Far outside of all bounds it may be anything: of what is below one half, the polynomial is positive and not large.
    let r = s.name("r", PrimExpr::intrin(WITHIN, vec![r, s.c(0.5)], s.dtype));
    let power = s.name("power", PrimExpr::intrin(POWER, vec![steps], s.dtype));
    let p = s.poly(&r, coefficients);
    let p = s.fma(&(&power * r), &p, &power);
    PrimExpr::intrin("ldexp", vec![p, n], s.dtype)
}
