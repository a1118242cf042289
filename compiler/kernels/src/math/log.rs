//! Logarithms: `x = 2^e m` with `m` in `[sqrt(1/2), sqrt(2)]`, which avoids cancellation.

use super::{Scope, compare_ops::CompareOps};
use hammock_ir::{
    PrimExpr,
    prim::{BinaryOp, binary},
};

/// (log(1 + f) - f) / f^2 for sqrt(1/2) <= 1 + f <= sqrt(2).
const LOG_SINGLE: [f64; 9] = [
    -0.49999988079071045,
    0.33333325386047363,
    -0.2500160336494446,
    0.20001961290836334,
    -0.16608592867851257,
    0.14182166755199432,
    -0.13247601687908173,
    0.12902988493442535,
    -0.07607802748680115,
];
/// (log(1 + x) - x) / x^2 for 0 <= x <= 1.
const LOG_OF_FRACTION: [f64; 9] = [
    -0.4999993145465851,
    0.33330464363098145,
    -0.24958018958568573,
    0.19692102074623108,
    -0.15344880521297455,
    0.10661128163337708,
    -0.05745723098516464,
    0.020086241886019707,
    -0.003290468594059348,
];
/// log2(1 + f) / f.
const LOG2_SINGLE: [f64; 10] = [
    1.4426950216293335,
    -0.7213475108146667,
    0.48090219497680664,
    -0.36068832874298096,
    0.2883917987346649,
    -0.2396480143070221,
    0.2073724865913391,
    -0.1934615969657898,
    0.17172785103321075,
    -0.08794283866882324,
];
/// (log((1 + s) / (1 - s)) - 2 s) / s^3 over s^2.
const LOG_DOUBLE: [f64; 7] = [
    0.666666666666674,
    0.39999999999377367,
    0.28571428751345346,
    0.22222197589207113,
    0.1818361867566931,
    0.15312581697592031,
    0.14811394681277312,
];

/// Bits of `sqrt(1/2)` in float32.
const ROOT_OF_HALF: i64 = 0x3f35_04f3;
const LN_2: (f64, f64) = (0.6931471803691238, 1.9082149292705877e-10);
const LN_2_SINGLE: (f64, f64) = (0.693145751953125, 1.428606820309417e-06);
const LOG10_2: (f64, f64) = (0.3010299955494702, 1.1451100898021838e-10);

/// Returns `m` and `e` (as a float) of a positive number, which may be denormal.
pub(super) fn split(s: &mut Scope, x: &PrimExpr) -> (PrimExpr, PrimExpr) {
    let (min_normal, shift) = if s.is_single() { (f64::from(f32::MIN_POSITIVE), 23) } else { (f64::MIN_POSITIVE, 54) };
    let tiny = s.name("tiny", x.is_lt(s.c(min_normal)));
    let normal = tiny.pick(x * s.c(2f64.powi(shift)), x.clone());
    let bits = s.bits(&normal);
    let bits = s.name("bits", bits);
    let root_of_half = if s.is_single() { ROOT_OF_HALF } else { 0x3fe6_a09e_667f_3bcd };
    let exponent = s.bitwise("shift_right", &(&bits - s.i(root_of_half)), s.i(s.mantissa_bits()));
    let exponent = s.name("exponent", exponent);
    let m = s.float(bits - s.bitwise("shift_left", &exponent, s.i(s.mantissa_bits())));
    let m = s.name("m", m);
    let correction = tiny.pick(s.c(f64::from(shift)), s.c(0.0));
    let e = exponent.cast(s.dtype) - correction;
    (m, s.name("e", e))
}

/// Handles the special cases, given the value for a finite positive `x`.
fn with_limits(s: &mut Scope, x: &PrimExpr, value: PrimExpr) -> PrimExpr {
    let value = x.is_eq(s.c(f64::INFINITY)).pick(x.clone(), value);
    let value = x.is_eq(s.c(0.0)).pick(s.c(f64::NEG_INFINITY), value);
    x.is_ge(s.c(0.0)).pick(value, s.c(f64::NAN))
}

/// `log x`.
pub fn log(s: &mut Scope, x: &PrimExpr) -> PrimExpr {
    let (m, e) = split(s, x);
    let value = if s.is_single() {
        let f = s.name("f", m - s.c(1.0));
        log_single(s, &f, &e, 1.0)
    } else {
        let (f, rest) = log_parts(s, &m);
        let rest = s.fma(&e, &s.c(LN_2.1), &rest);
        s.fma(&e, &s.c(LN_2.0), &(f + rest))
    };
    with_limits(s, x, value)
}

/// `log(1 + f) + e unit ln 2`, in float32.
fn log_single(s: &mut Scope, f: &PrimExpr, e: &PrimExpr, unit: f64) -> PrimExpr {
    let p = s.poly(f, &LOG_SINGLE);
    let rest = s.fma(e, &s.c(LN_2_SINGLE.1 * unit), &(p * (f * f)));
    s.fma(e, &s.c(LN_2_SINGLE.0 * unit), &(rest + f))
}

/// `log m = f + rest`, in float64, with `f = m - 1` exact.
fn log_parts(s: &mut Scope, m: &PrimExpr) -> (PrimExpr, PrimExpr) {
    let f = s.name("f", m - s.c(1.0));
    let ratio = s.name("s", &f / (&f + s.c(2.0)));
    let z = s.name("z", &ratio * &ratio);
    let tail = s.poly(&z, &LOG_DOUBLE) * &z;
    let half_square = s.name("h", (&f * &f) * s.c(0.5));
    let rest = s.fma(&ratio, &(&half_square + tail), &s.neg(&half_square));
    (f, s.name("rest", rest))
}

/// `log2 x`.
pub fn log2(s: &mut Scope, x: &PrimExpr) -> PrimExpr {
    let (m, e) = split(s, x);
    let value = if s.is_single() {
        let f = s.name("f", m - s.c(1.0));
        let p = s.poly(&f, &LOG2_SINGLE);
        s.fma(&p, &f, &e)
    } else {
        let (f, rest) = log_parts(s, &m);
        // 1 / ln 2 in two parts, the first short, so that multiplying it by f is accurate enough.
        let log_m = s.name("log", &f + rest);
        s.fma(&log_m, &s.c(std::f64::consts::LOG2_E), &e)
    };
    with_limits(s, x, value)
}

/// `log10 x`, in float64.
pub fn log10(s: &mut Scope, x: &PrimExpr) -> PrimExpr {
    let (m, e) = split(s, x);
    let (f, rest) = log_parts(s, &m);
    let small = s.fma(&e, &s.c(LOG10_2.1), &((f + rest) * s.c(std::f64::consts::LOG10_E)));
    let value = s.fma(&e, &s.c(LOG10_2.0), &small);
    with_limits(s, x, value)
}

/// `log(1 + x)`.
pub fn log1p(s: &mut Scope, x: &PrimExpr) -> PrimExpr {
    let sum = s.name("sum", x + s.c(1.0));
    if s.is_single() {
        let value = log_of_sum(s, x, &sum);
        let value = with_limits(s, &sum, value);
        return s.copy_sign(&value, x);
    }
    // The logarithm of the rounded sum, corrected by its rounding error.
    let lost = s.name("lost", (x - (&sum - s.c(1.0))) / &sum);
    let value = log(s, &sum) + lost;
    let ordinary = s.abs(x).is_ge(s.c(f64::MIN_POSITIVE)).and(sum.is_gt(s.c(0.0))).and(x.is_lt(s.c(f64::INFINITY)));
    let edge = x.is_eq(s.c(-1.0)).pick(s.c(f64::NEG_INFINITY), x.clone());
    let edge = x.is_lt(s.c(-1.0)).pick(s.c(f64::NAN), edge);
    ordinary.pick(value, edge)
}

/// `log(1 + x)` of a finite `x` above -1 in float32, given the rounded sum `2^e m`. Its rounding error is added to `m -
/// 1`, which is exact.
fn log_of_sum(s: &mut Scope, x: &PrimExpr, sum: &PrimExpr) -> PrimExpr {
    let (one, mantissa) = (0x3f80_0000, 1 << s.mantissa_bits());
    let bits = s.name("bits", s.bits(sum));
    // The exponent field.
    let e = s.name("e", s.bitwise("bitwise_and", &(&bits - s.i(ROOT_OF_HALF)), s.i(-mantissa)));
    let m = s.float(bits - &e);
    let lost = x - (sum - s.c(1.0));
    // The error is negligible for large numbers, whose scale might be denormal.
    let scale = s.float(s.i(one) - binary(BinaryOp::Min, e.clone(), s.i(64 * mantissa)));
    let f = s.fma(&lost, &scale, &(m - s.c(1.0)));
    let (f, e) = (s.name("f", f), s.name("e", e.cast(s.dtype)));
    log_single(s, &f, &e, 1.0 / mantissa as f64)
}

/// `log(1 + x)` of a number from 0 to 1.
pub fn log1p_of_fraction(s: &mut Scope, x: &PrimExpr) -> PrimExpr {
    if !s.is_single() {
        return log1p(s, x);
    }
    let p = s.poly(x, &LOG_OF_FRACTION);
    s.fma(&(p * x), x, x)
}
