//! `.approx` and `.full`: results as wrong as the manual allows.
//!
//! The exact value is computed in `f64` and moved by a share of the error that the PTX manual documents, a share that
//! a hash of operation and operand chooses ([`share`], the same in each run). What the manual's tables promise (zeros,
//! infinities, `ex2(0) = 1`) stays exact. Code that passes on this arithmetic relies on no more than the manual says.
use super::format::{F32, F64, Format, Number};
use super::{Modifiers, Rounding, Type, Unary};

/// How far a result may be off.
enum Error {
    /// Units in the last place from the correctly rounded result.
    Ulps(i64),
    /// Relative error, the final rounding included.
    Relative(f64),
    /// Absolute error, the final rounding included.
    Absolute(f64),
}

/// Computes `rcp`, `sqrt`, `rsqrt`, `ex2`, `lg2`, `sin`, `cos` or `tanh` of an operand already flushed.
pub(super) fn unary(op: Unary, ty: Type, modifiers: Modifiers, a: u64) -> u64 {
    let format = Format::of(ty);
    if ty == Type::F64 && modifiers.ftz {
        return upper_word(op, a);
    }
    if format.is_nan(a) {
        return format.nan;
    }
    let x = value(format, a);
    let exact = evaluate(op, x);
    if let Some(bits) = from_table(op, format, x, exact) {
        return bits;
    }
    perturb(format, exact, error(op, ty, x), share(op as u64, a))
}

/// `div.approx.f32` and `div.full.f32`: at most 2 ulp off.
pub(super) fn divide(modifiers: Modifiers, a: u64, b: u64) -> u64 {
    let quotient = F32.decode(a).divide(F32.decode(b));
    let magnitude = value(F32, b).abs();
    if modifiers.approx && magnitude > 2f64.powi(126) && magnitude.is_finite() {
        // The reciprocal of such a divisor is flushed to zero.
        let zero = Number::finite(b & F32.sign_bit() != 0, 0, 0);
        return F32.round(F32.decode(a).multiply(zero), Rounding::Nearest);
    }
    let bits = F32.round(quotient, Rounding::Nearest);
    if F32.is_nan(bits) { bits } else { moved(F32, bits, 2.0 * share(100, a ^ b.rotate_left(32))) }
}

fn evaluate(op: Unary, x: f64) -> f64 {
    match op {
        Unary::Rcp => x.recip(),
        Unary::Sqrt => x.sqrt(),
        Unary::Rsqrt => x.sqrt().recip(),
        Unary::Ex2 => x.exp2(),
        Unary::Lg2 => x.log2(),
        Unary::Sin => x.sin(),
        Unary::Cos => x.cos(),
        _ => x.tanh(),
    }
}

/// The results that the manual's tables give: of zeros and infinities, NaN, and those without a finite value.
fn from_table(op: Unary, format: Format, x: f64, exact: f64) -> Option<u64> {
    let special = x == 0.0 || x.is_infinite() || exact.is_nan() || exact.is_infinite();
    let exact = match (op, exact) {
        // The square root of −0 is −0, but 1/sqrt(−0) is −∞ and lg2(−0) too.
        (Unary::Tanh, _) if x.abs() < 2f64.powi(-126) => x,
        _ if special => exact,
        _ => return None,
    };
    Some(encode(format, exact))
}

fn error(op: Unary, ty: Type, x: f64) -> Error {
    match (op, ty) {
        (Unary::Ex2, Type::F16) => Error::Relative(2f64.powf(-9.9)),
        (Unary::Ex2, Type::BF16) => Error::Relative(2f64.powi(-7)),
        (Unary::Tanh, Type::F16) => Error::Absolute(2f64.powf(-10.987)),
        (Unary::Tanh, Type::BF16) => Error::Absolute(2f64.powi(-8)),
        (Unary::Rcp, _) => Error::Ulps(1),
        (Unary::Ex2, _) => Error::Ulps(2),
        // The manual gives no error of rsqrt.approx.f64.
        (Unary::Rsqrt, Type::F64) => Error::Ulps(2),
        (Unary::Sqrt, _) => Error::Relative(2f64.powi(-23)),
        (Unary::Rsqrt, _) => Error::Relative(2f64.powf(-22.9)),
        (Unary::Lg2, _) if x > 0.5 && x < 2.0 => Error::Absolute(2f64.powi(-22)),
        (Unary::Lg2, _) => Error::Relative(2f64.powi(-22)),
        (Unary::Sin | Unary::Cos, _) => Error::Absolute(circular_error(x)),
        _ => Error::Relative(2f64.powi(-11)),
    }
}

/// Beyond 100π the manual promises nothing; the error then grows with the operand up to 1.
fn circular_error(x: f64) -> f64 {
    let turns = x.abs() / std::f64::consts::PI;
    match turns {
        ..=2.0 => 2f64.powf(-20.5),
        ..=100.0 => 2f64.powf(-14.7),
        _ => (2f64.powf(-14.7) * turns / 100.0).min(1.0),
    }
}

/// Moves an exact value by a share, from −1 to 1, of the error that leaves room for the final rounding.
fn perturb(format: Format, exact: f64, error: Error, share: f64) -> u64 {
    let half_ulp = 2f64.powi(-(format.fraction_bits as i32) - 1);
    match error {
        Error::Ulps(count) => moved(format, encode(format, exact), count as f64 * share),
        Error::Relative(bound) => {
            let room = (bound - half_ulp) / (1.0 + half_ulp);
            encode(format, exact * (1.0 + share * room.max(0.0)))
        }
        Error::Absolute(bound) => {
            let room = bound - half_ulp * (exact.abs() + bound).max(2f64.powi(-14));
            encode(format, exact + share * room.max(0.0))
        }
    }
}

/// Moves the magnitude of a result by so many units in the last place. Zeros and infinities stay, finite results stay
/// finite and not zero.
fn moved(format: Format, bits: u64, ulps: f64) -> u64 {
    let sign = bits & format.sign_bit();
    let magnitude = bits & (format.sign_bit() - 1);
    if magnitude == 0 || magnitude >= format.overflow() {
        return bits;
    }
    let moved = (magnitude as i64 + ulps.round() as i64).clamp(1, format.overflow() as i64 - 1);
    sign | moved as u64
}

/// `rcp.approx.ftz.f64` and `rsqrt.approx.ftz.f64`: the upper words of operand and result. The manual gives no error;
/// here it is less than two units in the last place of the upper word.
fn upper_word(op: Unary, a: u64) -> u64 {
    const UPPER: u64 = 0xffff_ffff_0000_0000;
    let a = F64.flush(a) & UPPER;
    let exact = evaluate(op, f64::from_bits(a));
    if exact.is_nan() {
        return 0x7fff_ffff_0000_0000;
    }
    let bits = F64.flush(exact.to_bits()) & UPPER;
    if exact == 0.0 || exact.is_infinite() {
        return bits;
    }
    moved(F64, bits, (share(op as u64, a) * 1.49).round() * 2f64.powi(32)) & UPPER
}

/// A share of the allowed error, from −1 to 1: a hash of the operation and its operands (splitmix64's finalizer).
fn share(op: u64, operands: u64) -> f64 {
    let mut hash = operands.wrapping_add((op + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^= hash >> 31;
    hash as f64 / u64::MAX as f64 * 2.0 - 1.0
}

fn value(format: Format, bits: u64) -> f64 {
    f64::from_bits(F64.round(format.decode(bits), Rounding::Nearest))
}

fn encode(format: Format, value: f64) -> u64 {
    format.round(F64.decode(value.to_bits()), Rounding::Nearest)
}
