//! Powers and the hypotenuse, in float64.

use super::{Scope, compare_ops::CompareOps, exp, log};
use hammock_ir::PrimExpr;

/// (log((1 + s) / (1 - s)) - 2 s - 2/3 s^3) / s^5 over s^2.
const LOG_TAIL: [f64; 8] = [
    0.39999999999999974,
    0.28571428571446905,
    0.22222222217126178,
    0.18181818918336448,
    0.15384553715955057,
    0.13336435112641395,
    0.11672490354270533,
    0.12007979997008539,
];

const TWO_THIRDS: (f64, f64) = (0.6666666666666666, 3.700743415417188e-17);
const LOG2_E: (f64, f64) = (std::f64::consts::LOG2_E, 2.0355273740931033e-17);

/// A number as a rounded value and its error.
type Pair = (PrimExpr, PrimExpr);

/// `x^y`: `2^(y log2 |x|)`, with the logarithm in double-double precision, then signs and special cases.
pub fn pow(s: &mut Scope, x: &PrimExpr, y: &PrimExpr) -> PrimExpr {
    let a = s.name("a", s.abs(x));
    let (high, low) = log2_pair(s, &a);
    let (product, lost) = s.two_product(y, &high);
    let rest = s.fma(y, &low, &lost);
    let magnitude = exp2_pair(s, &product, &rest);
    let magnitude = special_cases(s, &a, y, magnitude);
    with_sign(s, x, y, magnitude)
}

/// `log2 a` of a positive finite number.
fn log2_pair(s: &mut Scope, a: &PrimExpr) -> Pair {
    let (m, e) = log::split(s, a);
    let f = s.name("f", &m - s.c(1.0));
    let d = s.name("d", &m + s.c(1.0));
    let d_low = &m - (&d - s.c(1.0));
    let ratio = s.name("s", &f / &d);
    let (back, back_low) = s.two_product(&ratio, &d);
    let ratio_low = s.name("s", (((&f - back) - back_low) - &ratio * d_low) / &d);
    let (z, z_low) = s.two_product(&ratio, &ratio);
    let z_low = s.name("z", z_low + (&ratio * &ratio_low) * s.c(2.0));
    let (cube, cube_low) = s.two_product(&z, &ratio);
    let cube_low = s.name("cube", cube_low + (&z * &ratio_low + &z_low * &ratio));
    let (third, third_low) = s.two_product(&s.c(TWO_THIRDS.0), &cube);
    let third_low = third_low + (&cube_low * s.c(TWO_THIRDS.0) + &cube * s.c(TWO_THIRDS.1));
    let tail = s.poly(&z, &LOG_TAIL) * (&z * &cube);
    let (sum, rest) = s.two_sum(&(ratio * s.c(2.0)), &third);
    let rest = s.name("rest", rest + (ratio_low * s.c(2.0) + (third_low + tail)));
    let (scaled, scaled_low) = s.two_product(&sum, &s.c(LOG2_E.0));
    let scaled_low = s.name("low", scaled_low + (sum * s.c(LOG2_E.1) + rest * s.c(LOG2_E.0)));
    let (high, low) = s.two_sum(&e, &scaled);
    let low = s.name("low", low + scaled_low);
    (high, low)
}

/// `2^(high + low)`.
fn exp2_pair(s: &mut Scope, high: &PrimExpr, low: &PrimExpr) -> PrimExpr {
    let bounded = s.name("t", s.at_least(&s.at_most(high, 1100.0), -1100.0));
    let low = bounded.is_eq(high).pick(low.clone(), s.c(0.0));
    let n = exp::Exponent::nearest(s, &bounded, 1.0);
    let r = s.name("r", (bounded - &n.value) + low);
    let p = s.poly(&r, &exp::EXP2_DOUBLE);
    let p = s.fma(&p, &r, &s.c(1.0));
    n.times(s, p, 0)
}

/// Handles magnitudes and exponents that are zero, one or infinite.
fn special_cases(s: &mut Scope, a: &PrimExpr, y: &PrimExpr, value: PrimExpr) -> PrimExpr {
    let infinity = s.c(f64::INFINITY);
    let extreme = |s: &Scope, grows: PrimExpr| grows.pick(s.c(f64::INFINITY), s.c(0.0));
    let endless = extreme(s, a.is_gt(s.c(1.0)).is_eq(y.is_gt(s.c(0.0))));
    let value = s.abs(y).is_eq(&infinity).pick(endless, value);
    let of_zero = extreme(s, y.is_lt(s.c(0.0)));
    let value = a.is_eq(s.c(0.0)).pick(of_zero, value);
    let of_infinity = extreme(s, y.is_gt(s.c(0.0)));
    let value = a.is_eq(&infinity).pick(of_infinity, value);
    let value = a.is_ne(a).or(y.is_ne(y)).pick(a + y, value);
    let one = a.is_eq(s.c(1.0)).and(y.is_eq(y)).or(y.is_eq(s.c(0.0)));
    one.pick(s.c(1.0), value)
}

/// Handles negative bases: odd exponents preserve the sign, fractional ones give NaN.
fn with_sign(s: &mut Scope, x: &PrimExpr, y: &PrimExpr, magnitude: PrimExpr) -> PrimExpr {
    let magnitude = s.name("magnitude", magnitude);
    let whole = s.truncate(y).is_eq(y);
    let half = s.name("half", y * s.c(0.5));
    let even = s.truncate(&half).is_eq(half);
    let whole = s.name("whole", whole);
    let odd = whole.clone().and(even.not());
    let negative = s.name("negative", s.is_negative(x));
    let signed = odd.and(negative).pick(s.neg(&magnitude), magnitude);
    // Infinite exponents are integers; every power of -inf is defined.
    let undefined = x.is_lt(s.c(0.0)).and(x.is_gt(s.c(f64::NEG_INFINITY))).and(whole.not()).and(y.is_eq(y));
    let signed = undefined.pick(s.c(f64::NAN), signed);
    // 1 to any power, and anything to the power 0, is 1, even for NaN.
    x.is_eq(s.c(1.0)).or(y.is_eq(s.c(0.0))).pick(s.c(1.0), signed)
}

/// `sqrt(x^2 + y^2)` without overflow of the squares.
pub fn hypot(s: &mut Scope, x: &PrimExpr, y: &PrimExpr) -> PrimExpr {
    let (a, b) = (s.name("a", s.abs(x)), s.name("b", s.abs(y)));
    let largest = s.name("largest", a.is_gt(&b).pick(a.clone(), b.clone()));
    let small = largest.is_lt(s.c(2f64.powi(-500))).select(s.c(2f64.powi(600)), s.c(1.0));
    let scale = largest.is_gt(s.c(2f64.powi(500))).select(s.c(2f64.powi(-600)), small);
    let scale = s.name("scale", scale);
    let (p, q) = (s.name("p", &a * &scale), s.name("q", &b * &scale));
    let sum = s.fma(&p, &p, &(&q * &q));
    let value = sum.unary("sqrt") / scale;
    let infinity = s.c(f64::INFINITY);
    let value = a.is_ne(&a).or(b.is_ne(&b)).pick(&a + &b, value);
    a.is_eq(&infinity).or(b.is_eq(&infinity)).pick(infinity, value)
}
