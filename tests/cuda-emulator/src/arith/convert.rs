//! `cvt`.
use super::float::{output, rectify, rounding, saturate};
use super::format::{self, Format, Kind, Number, shift_rounded};
use super::{Modifiers, Rounding, Type, integer};

/// Converts a value. Results of a signed type are sign-extended to 64 bits, because the destination may be a wider
/// register; the machine cuts them to the register's width.
pub fn convert(to: Type, from: Type, modifiers: Modifiers, a: u64) -> u64 {
    match (to.is_float(), from.is_float()) {
        (false, false) => integer_to_integer(to, modifiers, integer::value(from, a)),
        (true, false) => integer_to_float(to, modifiers, integer::value(from, a)),
        (false, true) => float_to_integer(to, from, modifiers, a),
        (true, true) if to.is_packed() => repack(to, from, modifiers, a),
        (true, true) => float_to_float(to, from, modifiers, a),
    }
}

/// Converts two values to a packed type: `a` becomes the upper half, `b` the lower.
pub fn convert_pair(to: Type, from: Type, modifiers: Modifiers, a: u64, b: u64) -> u64 {
    let half = |value| float_to_float(to, from, modifiers, value);
    half(a) << (to.bits() / 2) | half(b)
}

/// Converts both halves of a packed type.
fn repack(to: Type, from: Type, modifiers: Modifiers, a: u64) -> u64 {
    let bits = from.bits() / 2;
    convert_pair(to, from, modifiers, a >> bits, a & ((1 << bits) - 1))
}

fn integer_to_integer(to: Type, modifiers: Modifiers, x: i128) -> u64 {
    let (least, greatest) = integer::range(to);
    let x = if modifiers.sat { x.clamp(least, greatest) } else { x };
    integer::value(to, x as u64) as u64
}

fn integer_to_float(to: Type, modifiers: Modifiers, x: i128) -> u64 {
    let format = Format::of(to);
    let number = Number::finite(x < 0, x.unsigned_abs(), 0);
    output(format, modifiers, format.round(number, rounding(modifiers)))
}

/// Values out of range become the nearest end of it. NaN becomes 0, but with 64 bits on either side the upper bit.
fn float_to_integer(to: Type, from: Type, modifiers: Modifiers, a: u64) -> u64 {
    let number = operand(from, modifiers, a);
    let (least, greatest) = integer::range(to);
    let x = match number.kind {
        Kind::Nan if from == Type::F64 || to.bits() == 64 => 1 << (to.bits() - 1),
        Kind::Nan | Kind::Zero => 0,
        Kind::Infinite => {
            if number.negative {
                least
            } else {
                greatest
            }
        }
        Kind::Finite { .. } => {
            let magnitude = rounded_magnitude(number, rounding(modifiers));
            (if number.negative { -magnitude } else { magnitude }).clamp(least, greatest)
        }
    };
    integer::value(to, x as u64) as u64
}

/// The magnitude of a finite number rounded to an integer, at most 2^100.
fn rounded_magnitude(number: Number, rounding: Rounding) -> i128 {
    match number.kind {
        Kind::Finite { mantissa, exponent } if exponent + 127 - mantissa.leading_zeros() as i32 <= 100 => {
            shift_rounded(mantissa, -exponent, number.negative, rounding).0 as i128
        }
        _ => 1 << 100,
    }
}

fn float_to_float(to: Type, from: Type, modifiers: Modifiers, a: u64) -> u64 {
    let format = Format::of(to);
    let number = operand(from, modifiers, a);
    let number = if modifiers.to_integer { integral(number, rounding(modifiers)) } else { number };
    let mut bits = format.round(number, rounding(modifiers));
    if modifiers.satfinite && number.kind != Kind::Nan && bits & (format.sign_bit() - 1) >= format.overflow() {
        bits = (bits & format.sign_bit()) | (format.overflow() - 1);
    }
    let flushed = if modifiers.ftz && to == Type::F32 { format.flush(bits) } else { bits };
    let bits = if modifiers.sat { saturate(format, flushed) } else { flushed };
    let bits = if modifiers.relu { rectify(format, bits) } else { bits };
    match to {
        // The NaN of tf32 is that of f32.
        Type::TF32 if format.is_nan(bits) => format::F32.nan,
        Type::TF32 => bits << 13,
        _ => bits,
    }
}

/// Rounds a number to an integer, keeping the sign of a zero.
fn integral(number: Number, rounding: Rounding) -> Number {
    match number.kind {
        Kind::Finite { mantissa, exponent } if exponent < 0 => {
            let (magnitude, _) = shift_rounded(mantissa, -exponent, number.negative, rounding);
            Number::finite(number.negative, magnitude, 0)
        }
        _ => number,
    }
}

/// The number of an operand; `.ftz` concerns `f32` only.
fn operand(from: Type, modifiers: Modifiers, a: u64) -> Number {
    let format = Format::of(from);
    let a = a & (format.sign_bit() | (format.sign_bit() - 1));
    format.decode(if modifiers.ftz && from == Type::F32 { format.flush(a) } else { a })
}
