//! Inverse trigonometric functions, in float64.

use super::{Scope, compare_ops::CompareOps};
use hammock_ir::{
    PrimExpr,
    prim::{BinaryOp, binary},
};

/// (atan t - t) / t^3 over t^2 for |t| <= tan(pi / 8).
const ATAN: [f64; 11] = [
    -0.3333333333333319,
    0.19999999999952323,
    -0.14285714280077869,
    0.11111110777852728,
    -0.09090897603925246,
    0.07692057587182005,
    -0.06663075202494052,
    0.05847685682251519,
    -0.050384113853084785,
    0.03804239708806982,
    -0.01788345008887669,
];
/// (asin t - t) / t^3 over t^2 for |t| <= 1/2.
const ASIN: [f64; 12] = [
    0.16666666666665395,
    0.075000000003396,
    0.04464285682659248,
    0.030381959198356335,
    0.02237175673245969,
    0.017359723170848922,
    0.013885062653534426,
    0.012170311486921772,
    0.006523295823979913,
    0.019541002393515416,
    -0.016244293983257475,
    0.03192612521991207,
];

const HALF_PI: (f64, f64) = (std::f64::consts::FRAC_PI_2, 6.123233995736766e-17);
const PI: (f64, f64) = (std::f64::consts::PI, 1.2246467991473532e-16);
const QUARTER_PI: (f64, f64) = (std::f64::consts::FRAC_PI_4, 3.061616997868383e-17);

/// `atan x`.
pub fn atan(s: &mut Scope, x: &PrimExpr) -> PrimExpr {
    let a = s.name("a", s.abs(x));
    let value = atan_of_ratio(s, &a, &s.c(1.0));
    s.copy_sign(&value, x)
}

/// `atan(y / x)` of non-negative numbers that are not both zero or both infinite.
fn atan_of_ratio(s: &mut Scope, y: &PrimExpr, x: &PrimExpr) -> PrimExpr {
    // Above tan(3 pi / 8) and tan(pi / 8) the angle is pi/2 and pi/4 plus a smaller one.
    let steep = s.name("steep", y.is_gt(x * s.c(2.414_213_562_373_095)));
    let middle = s.name("middle", y.is_gt(x * s.c(0.414_213_562_373_095_1)));
    let above = steep.pick(s.neg(x), middle.pick(y - x, y.clone()));
    let below = steep.pick(y.clone(), middle.pick(y + x, x.clone()));
    // An infinite divisor makes the ratio zero, which is right on all three branches.
    let infinite = below.is_eq(s.c(f64::INFINITY));
    let ratio = infinite.pick(s.c(0.0), above / &below);
    let t = s.name("t", ratio);
    let z = s.name("z", &t * &t);
    let p = s.poly(&z, &ATAN);
    let pick = |s: &Scope, a: f64, b: f64| steep.pick(s.c(a), middle.pick(s.c(b), s.c(0.0)));
    let (base, rest) = (pick(s, HALF_PI.0, QUARTER_PI.0), pick(s, HALF_PI.1, QUARTER_PI.1));
    let small = s.fma(&p, &(z * &t), &rest) + t;
    base + small
}

/// `asin x`.
pub fn asin(s: &mut Scope, x: &PrimExpr) -> PrimExpr {
    let a = s.name("a", s.abs(x));
    let large = s.name("large", a.is_gt(s.c(0.5)));
    let (t, p) = asin_of_smaller(s, &a, &large);
    let twice = &t + &p;
    let outer = s.c(HALF_PI.0) - (&twice * s.c(2.0) - s.c(HALF_PI.1));
    let value = large.pick(outer, t + p);
    s.copy_sign(&value, x)
}

/// `acos x`.
pub fn acos(s: &mut Scope, x: &PrimExpr) -> PrimExpr {
    let a = s.name("a", s.abs(x));
    let large = s.name("large", a.is_gt(s.c(0.5)));
    let (t, p) = asin_of_smaller(s, &a, &large);
    let twice = s.name("twice", (&t + &p) * s.c(2.0));
    let negative = s.name("negative", x.is_lt(s.c(0.0)));
    let outer = negative.pick(s.c(PI.0) - (&twice - s.c(PI.1)), twice);
    let (t, p) = (s.copy_sign(&t, x), s.copy_sign(&p, x));
    let inner = s.c(HALF_PI.0) - (t - (s.c(HALF_PI.1) - p));
    large.pick(outer, inner)
}

/// `asin t = t + p` for `t = a`, or for `t = sqrt((1 - a) / 2)` when `a` is large.
fn asin_of_smaller(s: &mut Scope, a: &PrimExpr, large: &PrimExpr) -> (PrimExpr, PrimExpr) {
    let z = large.pick((s.c(1.0) - a) * s.c(0.5), a * a);
    let z = s.name("z", z);
    let t = large.pick(z.clone().unary("sqrt"), a.clone());
    let t = s.name("t", t);
    let p = s.poly(&z, &ASIN) * (z * &t);
    (t, s.name("p", p))
}

/// Returns the angle of the point `(x, y)`.
pub fn atan2(s: &mut Scope, y: &PrimExpr, x: &PrimExpr) -> PrimExpr {
    let (a, b) = (s.name("a", s.abs(y)), s.name("b", s.abs(x)));
    let infinity = s.c(f64::INFINITY);
    // The angle is zero if both are zero, and diagonal if both are infinite.
    let both_zero = binary(BinaryOp::Max, a.clone(), b.clone()).is_eq(s.c(0.0));
    let both_infinite = s.name("infinite", a.is_eq(&infinity).and(b.is_eq(&infinity)));
    let rise = both_infinite.pick(s.c(1.0), a);
    let run = both_zero.pick(s.c(1.0), both_infinite.pick(s.c(1.0), b));
    let (rise, run) = (s.name("rise", rise), s.name("run", run));
    let angle = atan_of_ratio(s, &rise, &run);
    let angle = s.name("angle", angle);
    let back = s.c(PI.0) - (&angle - s.c(PI.1));
    let value = s.is_negative(x).pick(back, angle);
    let value = s.copy_sign(&value, y);
    let unordered = x.is_ne(x).or(y.is_ne(y));
    unordered.pick(x + y, value)
}
