//! Range reduction of angles to a quadrant and a remainder of at most pi/4.
//!
//! The short reduction subtracts multiples of pi/2, split into parts that are multiplied exactly by the quadrant (Cody
//! and Waite 1980). The long one, for any float, multiplies by as many digits of 2/pi as can matter (Payne and Hanek
//! 1983), in float64 pieces with exact arithmetic.

use super::{Scope, compare_ops::CompareOps};
use hammock_ir::{DType, PrimExpr};
use std::f64::consts::FRAC_2_PI;

/// A reduced angle.
pub struct Angle {
    /// Rounded remainder.
    pub high: PrimExpr,
    /// Rounding error of the remainder, if it matters.
    pub low: Option<PrimExpr>,
    /// Quadrant, as an integer of the float's width; only the two lowest bits matter.
    pub quadrant: PrimExpr,
}

/// pi/2 in parts of 33 bits each.
const HALF_PI: [f64; 4] = [1.5707963267341256, 6.077100506303966e-11, 2.0222662487111665e-21, 8.4784276603689e-32];

/// pi/2 as a rounded value and the error.
const HALF_PI_HIGH: f64 = std::f64::consts::FRAC_PI_2;
const HALF_PI_LOW: f64 = 6.123233995736766e-17;

/// Fraction bits of 2/pi.
const TWO_OVER_PI: [u64; 19] = [
    0xa2f9_836e_4e44_1529,
    0xfc27_57d1_f534_ddc0,
    0xdb62_9599_3c43_9041,
    0xfe51_63ab_debb_c561,
    0xb724_6e3a_424d_d2e0,
    0x0649_2eea_09d1_921c,
    0xfe1d_eb1c_b129_a73e,
    0xe882_35f5_2ebb_4484,
    0xe99c_7026_b45f_7e41,
    0x3991_d639_8353_39f4,
    0x9c84_5f8b_bdf9_283b,
    0x1ff8_97ff_de05_980f,
    0xef2f_118b_5a0a_6d1f,
    0x6d36_7ecf_27cb_09b7,
    0x4f46_3f66_9e5f_ea2d,
    0x7527_bac7_ebe5_f17b,
    0x3d07_39f7_8a52_92ea,
    0x6bfb_5fb1_1f8d_5d08,
    0x5603_3046_fc7b_6bab,
];

/// Maximum magnitude for the short reduction: without FMA, only quadrants of up to 20 bits are exact.
pub fn short_limit(s: &Scope) -> f64 {
    if s.is_single() && s.machine.fma { 134_217_728.0 } else { 1_048_576.0 }
}

/// Reduces an angle up to the short limit.
pub fn reduce_short(s: &mut Scope, x: &PrimExpr) -> Angle {
    if s.is_single() {
        return single(s, x, |s, x| {
            let q = s.nearest(&(x * s.c(FRAC_2_PI)));
            let q = s.name("q", q);
            let r = HALF_PI[..3].iter().fold(x.clone(), |r, part| s.fma(&q, &s.c(-part), &r));
            (r, q)
        });
    }
    let q = s.nearest(&(x * s.c(FRAC_2_PI)));
    let q = s.name("q", q);
    let first = s.name("r", x - &q * s.c(HALF_PI[0]));
    let (second, lost) = two_difference(s, &first, &(&q * s.c(HALF_PI[1])));
    let (third, more) = two_difference(s, &second, &(&q * s.c(HALF_PI[2])));
    let tail = (lost + more) - &q * s.c(HALF_PI[3]);
    let high = s.name("r", &third + &tail);
    let low = s.name("low", (third - &high) + tail);
    let quadrant = q.cast(s.int_type());
    Angle { high, low: Some(low), quadrant }
}

fn two_difference(s: &mut Scope, a: &PrimExpr, b: &PrimExpr) -> (PrimExpr, PrimExpr) {
    let minus = s.name("minus", s.neg(b));
    s.two_sum(a, &minus)
}

/// Reduces a float32 angle in float64; `f` returns the remainder and the quadrant as floats.
fn single(s: &mut Scope, x: &PrimExpr, f: impl FnOnce(&mut Scope, &PrimExpr) -> (PrimExpr, PrimExpr)) -> Angle {
    let lanes = s.dtype.lanes;
    let (r, q) = s.in_double(|s| {
        let x = s.name("x", x.clone().cast(s.dtype));
        f(s, &x)
    });
    let high = s.name("r", r.cast(s.dtype));
    Angle { high, low: None, quadrant: q.cast(DType::INT32.with_lanes(lanes)) }
}

/// Reduces any angle. Infinities and NaN give NaN.
pub fn reduce_long(s: &mut Scope, x: &PrimExpr) -> Angle {
    if s.is_single() {
        return single(s, x, |s, x| {
            let (high, _, q) = payne_hanek(s, x, 1);
            (high, q)
        });
    }
    let (high, low, q) = payne_hanek(s, x, 4);
    let quadrant = q.cast(s.int_type());
    Angle { high, low: Some(low), quadrant }
}

/// Number of pieces of 2/pi for one bucket of exponents.
const PIECES: usize = 5;
/// Bits per piece: short enough for exact arithmetic, long enough that five reach 53 bits below the smallest remainder.
const PIECE_BITS: u32 = 48;

/// Returns the remainder in two parts and the quadrant, for float64 `x`; the exponents above 52 fill `2^bucket_bits`
/// buckets of 64.
fn payne_hanek(s: &mut Scope, x: &PrimExpr, bucket_bits: u32) -> (PrimExpr, PrimExpr, PrimExpr) {
    let bits = s.bits(x);
    let exponent = s.bitwise("bitwise_and", &s.bitwise("shift_right", &bits, s.i(52)), s.i(0x7ff)) - s.i(1023);
    // The scaled x is still an integer, unless all of 2/pi is used, so whole turns of the digits are whole turns of x.
    let bucket = s.bitwise("shift_right", &(exponent - s.i(52)), s.i(6));
    let bucket = s.name("bucket", bucket.max(s.i(0)));
    let scale = s.power_of_two(s.i(0) - s.bitwise("shift_left", &bucket, s.i(6)));
    let scaled = s.name("scaled", x * scale);
    let mut terms = Vec::new();
    for piece in 0..PIECES {
        let leaves = (0..1u32 << bucket_bits).map(|k| s.c(piece_of(k, piece as u32))).collect();
        let digits = choose(s, &bucket, leaves, 0);
        let digits = s.name("digits", digits);
        let (high, low) = s.two_product(&scaled, &digits);
        terms.extend([quarter_turns(s, &high), quarter_turns(s, &low)]);
    }
    let (sum, carry, rest) = exact_sum(s, terms);
    let q = s.nearest(&sum);
    let q = s.name("q", q);
    let fraction = s.name("fraction", sum - &q);
    let (t, u) = s.two_sum(&fraction, &carry);
    let u = s.name("u", u + rest);
    let (high, low) = s.two_product(&t, &s.c(HALF_PI_HIGH));
    let low = low + (t * s.c(HALF_PI_LOW) + u * s.c(HALF_PI_HIGH));
    let angle = s.name("angle", &high + &low);
    let lost = (high - &angle) + low;
    (angle, lost, q)
}

/// Reduces a number of quarter turns modulo whole turns.
fn quarter_turns(s: &mut Scope, x: &PrimExpr) -> PrimExpr {
    let whole = s.truncate(&(x * s.c(0.25))) * s.c(4.0);
    s.name("part", x - whole)
}

/// Returns an exact sum as three parts of decreasing magnitude.
fn exact_sum(s: &mut Scope, terms: Vec<PrimExpr>) -> (PrimExpr, PrimExpr, PrimExpr) {
    let zero = s.c(0.0);
    let (mut sum, mut errors) = (zero.clone(), Vec::new());
    for term in terms {
        let (next, error) = s.two_sum(&sum, &term);
        (sum, errors) = (next, [errors, vec![error]].concat());
    }
    let (mut carry, mut rest) = (zero.clone(), zero);
    for error in errors {
        let (next, error) = s.two_sum(&carry, &error);
        (carry, rest) = (next, rest + error);
    }
    (sum, carry, rest)
}

/// Selects the leaf at `index`, by its bits from `bit` upwards.
fn choose(s: &mut Scope, index: &PrimExpr, mut leaves: Vec<PrimExpr>, bit: u32) -> PrimExpr {
    if leaves.len() == 1 {
        return leaves.remove(0);
    }
    let odd = s.bitwise("bitwise_and", index, s.i(1 << bit)).is_ne(s.i(0));
    let odd = s.name("odd", odd);
    let pairs = leaves.chunks_exact(2).map(|pair| odd.pick(pair[1].clone(), pair[0].clone())).collect();
    choose(s, index, pairs, bit + 1)
}

/// Returns piece `piece` of `2^(64 bucket) * 2/pi`, modulo whole turns.
fn piece_of(bucket: u32, piece: u32) -> f64 {
    // The integer bits, 2 and 1, are those just before the bucket's own.
    let start = i64::from(bucket) * 64 - 2 + i64::from(piece * PIECE_BITS);
    let value = (0..i64::from(PIECE_BITS)).fold(0u64, |value, i| value << 1 | bit_of_two_over_pi(start + i));
    value as f64 * 2f64.powi(2 - (PIECE_BITS * (piece + 1)) as i32)
}

/// Returns fraction bit `i`.
fn bit_of_two_over_pi(i: i64) -> u64 {
    let word = usize::try_from(i.div_euclid(64)).ok().and_then(|w| TWO_OVER_PI.get(w));
    word.map_or(0, |w| w >> (63 - i.rem_euclid(64)) & 1)
}
