//! Exponentials: `e^x = 2^n e^r` with an integer `n` and `|r| <= ln 2 / 2`, or [table-driven](table).
#![allow(clippy::approx_constant, reason = "coefficients come from fits")]

pub mod table;

use super::{Scope, compare_ops::CompareOps};
use hammock_ir::PrimExpr;
use std::f64::consts::{LN_10, LOG2_10, LOG2_E};

/// (e^r - 1 - r) / r^2.
const EXP_SINGLE: [f64; 5] =
    [0.4999999403953552, 0.16666515171527863, 0.04166823625564575, 0.00836938340216875, 0.001382472924888134];
const EXP_DOUBLE: [f64; 11] = [
    0.5,
    0.16666666666666682,
    0.04166666666666647,
    0.008333333333317611,
    0.0013888888889000178,
    0.00019841269895263722,
    2.480158709056325e-05,
    2.7557235768986614e-06,
    2.755747217052541e-07,
    2.5111774945188304e-08,
    2.0854646252127047e-09,
];

/// (2^r - 1) / r for |r| <= 1/2.
const EXP2_SINGLE: [f64; 6] = [
    0.6931471824645996,
    0.24022647738456726,
    0.05550357699394226,
    0.009618495590984821,
    0.0013392051914706826,
    0.0001533240865683183,
];
pub(super) const EXP2_DOUBLE: [f64; 12] = [
    0.6931471805599453,
    0.2402265069591007,
    0.05550410866482343,
    0.009618129107629814,
    0.0013333558146011349,
    0.00015403530390534288,
    1.5252734196599083e-05,
    1.3215489309995317e-06,
    1.017791707735822e-07,
    7.053923728107201e-09,
    4.4759409809323683e-10,
    2.7114915337301682e-11,
];

/// ln 2 in two parts; the first times an exponent is exact.
fn ln2(s: &Scope) -> (f64, f64) {
    if s.is_single() {
        (0.693145751953125, 1.428606820309417e-06)
    } else {
        (0.6931471803691238, 1.9082149292705877e-10)
    }
}

/// log10 2 in two parts, likewise.
const LOG10_2: (f64, f64) = (0.3010299955494702, 1.1451100898021838e-10);

/// Bounds beyond which e^x / 2 underflows and overflows.
fn limits(s: &Scope) -> (f64, f64) {
    if s.is_single() { (-104.0, 90.0) } else { (-746.0, 711.0) }
}

/// `e^x`.
pub fn exp(s: &mut Scope, x: &PrimExpr) -> PrimExpr {
    scaled_exp(s, x, 0)
}

/// `e^x * 2^extra`, even if `e^x` itself overflows.
pub fn scaled_exp(s: &mut Scope, x: &PrimExpr, extra: i64) -> PrimExpr {
    if table::is_supported(s) {
        return table::exp(s, x, extra);
    }
    let (_, high) = limits(s);
    let (n, p) = parts(s, &s.at_most(x, high));
    n.times(s, p, extra)
}

/// `e^x` of a non-positive number.
pub fn exp_of_negative(s: &mut Scope, x: &PrimExpr) -> PrimExpr {
    if table::is_supported(s) {
        return table::exp(s, x, 0);
    }
    let (n, p) = parts(s, x);
    n.times(s, p, 0)
}

/// `e^x` of a number whose exponential is a normal float.
pub fn normal_exp(s: &mut Scope, x: &PrimExpr) -> PrimExpr {
    if table::is_supported(s) {
        return table::exp(s, x, 0);
    }
    let (n, r) = reduce(s, x);
    let p = exp_of_rest(s, &r);
    n.times_normal(s, p)
}

/// Returns `n` and `p` such that `e^x = 2^n p`, for `x` below the upper limit.
fn parts(s: &mut Scope, x: &PrimExpr) -> (Exponent, PrimExpr) {
    let (low, _) = limits(s);
    let x = s.name("x", s.at_least(x, low));
    let (n, r) = reduce(s, &x);
    let p = exp_of_rest(s, &r);
    (n, p)
}

/// Returns `n` and `r` such that `x = n ln 2 + r`.
fn reduce(s: &mut Scope, x: &PrimExpr) -> (Exponent, PrimExpr) {
    let n = Exponent::nearest(s, x, LOG2_E);
    let (high, low) = ln2(s);
    let r = s.fma(&n.value, &s.c(-high), x);
    let r = s.fma(&n.value, &s.c(-low), &r);
    (n, s.name("r", r))
}

fn exp_of_rest(s: &mut Scope, r: &PrimExpr) -> PrimExpr {
    let p = s.poly(r, if s.is_single() { &EXP_SINGLE } else { &EXP_DOUBLE });
    let p = s.fma(&p, r, &s.c(1.0));
    s.fma(&p, r, &s.c(1.0))
}

/// An integer exponent.
pub(super) struct Exponent {
    /// The integer as a float.
    pub value: PrimExpr,
    /// The integer plus twice the exponent bias, in the lowest bits.
    bits: PrimExpr,
}

impl Exponent {
    /// Returns the integer nearest to `x * factor`, which has fewer bits than half a mantissa. Adding a number whose
    /// ulp is one rounds it and moves its bits to the bottom, which is cheaper than a saturating conversion.
    pub fn nearest(s: &mut Scope, x: &PrimExpr, factor: f64) -> Exponent {
        let unit = 2f64.powi(s.mantissa_bits() as i32);
        let shift = s.c(1.5 * unit + 2.0 * s.bias() as f64);
        let sum = if factor == 1.0 { x + &shift } else { s.fma(x, &s.c(factor), &shift) };
        let sum = s.name("n", sum);
        let value = s.name("n", &sum - shift);
        let bits = s.name("bits", s.bits(&sum));
        Exponent { value, bits }
    }

    /// `p * 2^(n + extra)`, rounded once. Without an instruction for it, this takes two steps, so that neither factor
    /// over- or underflows before the result does.
    pub fn times(&self, s: &mut Scope, p: PrimExpr, extra: i64) -> PrimExpr {
        if s.machine.scales {
            let n = if extra == 0 { self.value.clone() } else { &self.value + s.c(extra as f64) };
            return PrimExpr::intrin("ldexp", vec![p, n], s.dtype);
        }
        // Half of the integer comes with half of the offset, which is the exponent bias.
        let n = if extra == 0 { self.bits.clone() } else { s.name("n", &self.bits + s.i(extra)) };
        let half = s.name("half", s.bitwise("shift_right", &n, s.i(1)));
        let factor = |exponent: &PrimExpr| s.float(s.bitwise("shift_left", exponent, s.i(s.mantissa_bits())));
        p * factor(&half) * factor(&(n - &half))
    }

    /// `p * 2^n` where that and `2^n` are normal floats.
    pub fn times_normal(&self, s: &Scope, p: PrimExpr) -> PrimExpr {
        p * self.power(s, 0)
    }

    /// `2^(n + extra)`, a normal float.
    pub fn power(&self, s: &Scope, extra: i64) -> PrimExpr {
        let exponent = &self.bits + s.i(extra - s.bias());
        s.float(s.bitwise("shift_left", &exponent, s.i(s.mantissa_bits())))
    }
}

/// `2^x`.
pub fn exp2(s: &mut Scope, x: &PrimExpr) -> PrimExpr {
    if table::is_supported(s) {
        return table::exp2(s, x);
    }
    let (low, high) = if s.is_single() { (-151.0, 129.0) } else { (-1076.0, 1025.0) };
    let x = s.name("x", s.at_least(&s.at_most(x, high), low));
    let n = Exponent::nearest(s, &x, 1.0);
    let r = s.name("r", x - &n.value);
    let p = s.poly(&r, if s.is_single() { &EXP2_SINGLE } else { &EXP2_DOUBLE });
    let p = s.fma(&p, &r, &s.c(1.0));
    n.times(s, p, 0)
}

/// `10^x`, in float64.
pub fn exp10(s: &mut Scope, x: &PrimExpr) -> PrimExpr {
    let x = s.name("x", s.at_least(&s.at_most(x, 309.0), -324.5));
    let n = Exponent::nearest(s, &x, LOG2_10);
    let r = s.fma(&n.value, &s.c(-LOG10_2.0), &x);
    let r = s.fma(&n.value, &s.c(-LOG10_2.1), &r);
    let r = s.name("r", r * s.c(LN_10));
    let p = exp_of_rest(s, &r);
    n.times(s, p, 0)
}

/// `e^x - 1`, in float64.
pub fn expm1(s: &mut Scope, x: &PrimExpr) -> PrimExpr {
    let bounded = s.name("x", s.at_least(&s.at_most(x, 710.0), -40.0));
    let n = Exponent::nearest(s, &bounded, LOG2_E);
    let (high, low) = ln2(s);
    let head = s.fma(&n.value, &s.c(-high), &bounded);
    let head = s.name("head", head);
    let tail = s.name("tail", &n.value * s.c(low));
    let r = s.name("r", &head - &tail);
    let lost = (&head - &r) - tail;
    let p = s.poly(&r, &EXP_DOUBLE);
    let p = s.fma(&p, &(&r * &r), &lost) + &r;
    // 2^n itself may overflow even if the result does not.
    let half_scale = s.name("scale", n.power(s, -1));
    let sum = s.fma(&half_scale, &p, &(&half_scale - s.c(0.5))) * s.c(2.0);
    // Below the smallest normal number, and for zeros of either sign, e^x - 1 is x.
    s.abs(x).is_lt(s.c(1e-300)).pick(x.clone(), sum)
}
