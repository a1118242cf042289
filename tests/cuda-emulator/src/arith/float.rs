//! Floats: exact arithmetic and one rounding.
use super::approximate;
use super::format::Format;
use super::{Binary, Modifiers, Rounding, Ternary, Type, Unary};

/// Computes a floating-point instruction of one operand, not packed.
pub(super) fn unary(op: Unary, ty: Type, modifiers: Modifiers, a: u64) -> u64 {
    let format = Format::of(ty);
    let a = input(format, modifiers, a);
    let value = match op {
        // The payload of a NaN stays; the manual allows any NaN.
        Unary::Abs => a & !format.sign_bit(),
        Unary::Neg => a ^ format.sign_bit(),
        _ if modifiers.approx => approximate::unary(op, ty, modifiers, a),
        Unary::Rcp => {
            let one = super::format::Number::finite(false, 1, 0);
            format.round(one.divide(format.decode(a)), rounding(modifiers))
        }
        _ => square_root(ty, modifiers, a),
    };
    output(format, modifiers, value)
}

fn square_root(ty: Type, modifiers: Modifiers, a: u64) -> u64 {
    let format = Format::of(ty);
    match (ty, rounding(modifiers)) {
        (Type::F32, Rounding::Nearest) => canonical(format, f32(a).sqrt().to_bits().into()),
        (Type::F64, Rounding::Nearest) => canonical(format, f64(a).sqrt().to_bits()),
        (_, rounding) => format.round(format.decode(a).square_root(), rounding),
    }
}

/// Computes a floating-point instruction of two operands, not packed.
pub(super) fn binary(op: Binary, ty: Type, modifiers: Modifiers, a: u64, b: u64) -> u64 {
    let format = Format::of(ty);
    if op == Binary::Copysign {
        // PTX copies the sign of the first operand into the second.
        return (b & ty.mask() & !format.sign_bit()) | (a & format.sign_bit());
    }
    let (a, b) = (input(format, modifiers, a), input(format, modifiers, b));
    let value = match op {
        Binary::Min | Binary::Max => extremum(op == Binary::Max, format, modifiers, a, b),
        Binary::Div if modifiers.approx || modifiers.full => approximate::divide(modifiers, a, b),
        _ => arithmetic(op, ty, modifiers, a, b),
    };
    output(format, modifiers, value)
}

fn arithmetic(op: Binary, ty: Type, modifiers: Modifiers, a: u64, b: u64) -> u64 {
    let (format, rounding) = (Format::of(ty), rounding(modifiers));
    // The host rounds to nearest as well; the results are the same, only faster.
    match (ty, rounding) {
        (Type::F32, Rounding::Nearest) => {
            let (x, y) = (f32(a), f32(b));
            let value = match op {
                Binary::Add => x + y,
                Binary::Sub => x - y,
                Binary::Mul => x * y,
                _ => x / y,
            };
            canonical(format, value.to_bits().into())
        }
        (Type::F64, Rounding::Nearest) => {
            let (x, y) = (f64(a), f64(b));
            let value = match op {
                Binary::Add => x + y,
                Binary::Sub => x - y,
                Binary::Mul => x * y,
                _ => x / y,
            };
            canonical(format, value.to_bits())
        }
        _ => exact(op, format, rounding, a, b),
    }
}

/// The operation on exact numbers, rounded once.
pub(super) fn exact(op: Binary, format: Format, rounding: Rounding, a: u64, b: u64) -> u64 {
    let (x, y) = (format.decode(a), format.decode(b));
    let value = match op {
        Binary::Add => x.add(y, rounding),
        Binary::Sub => x.add(y.negated(), rounding),
        Binary::Mul => x.multiply(y),
        _ => x.divide(y),
    };
    format.round(value, rounding)
}

/// `fma` and `mad` of a type that is not packed.
pub(super) fn ternary(_: Ternary, ty: Type, modifiers: Modifiers, a: u64, b: u64, c: u64) -> u64 {
    let format = Format::of(ty);
    let [a, b, c] = [a, b, c].map(|operand| input(format, modifiers, operand));
    let value = match (ty, rounding(modifiers)) {
        (Type::F32, Rounding::Nearest) => canonical(format, f32(a).mul_add(f32(b), f32(c)).to_bits().into()),
        (Type::F64, Rounding::Nearest) => canonical(format, f64(a).mul_add(f64(b), f64(c)).to_bits()),
        (_, rounding) => fused(format, rounding, a, b, c),
    };
    output(format, modifiers, value)
}

/// Multiplies and adds exactly, then rounds once.
pub(super) fn fused(format: Format, rounding: Rounding, a: u64, b: u64, c: u64) -> u64 {
    let product = format.decode(a).multiply(format.decode(b));
    format.round(product.add(format.decode(c), rounding), rounding)
}

/// `min` and `max`: a NaN loses against a number unless `.NaN`, and −0 is less than +0.
fn extremum(largest: bool, format: Format, modifiers: Modifiers, a: u64, b: u64) -> u64 {
    let sign = format.sign_bit();
    let magnitude = |bits: u64| if modifiers.xorsign_abs { bits & !sign } else { bits };
    let (x, y) = (magnitude(a), magnitude(b));
    let value = match (format.is_nan(x), format.is_nan(y)) {
        (true, true) => return format.nan,
        (true, false) | (false, true) if modifiers.nan => return format.nan,
        (true, false) => y,
        (false, true) => x,
        _ if (order(format, x) > order(format, y)) == largest => x,
        _ => y,
    };
    if modifiers.xorsign_abs { (value & !sign) | ((a ^ b) & sign) } else { value }
}

/// Orders patterns that are not NaN as numbers, −0 below +0.
fn order(format: Format, bits: u64) -> i128 {
    let magnitude = i128::from(bits & (format.sign_bit() - 1));
    if bits & format.sign_bit() != 0 { -1 - magnitude } else { magnitude }
}

/// An operand: the bits of the type, subnormals flushed if asked.
fn input(format: Format, modifiers: Modifiers, bits: u64) -> u64 {
    let bits = bits & (format.sign_bit() | (format.sign_bit() - 1));
    if modifiers.ftz { format.flush(bits) } else { bits }
}

/// A result with `.ftz`, `.sat` and `.relu`. Flushing looks at the rounded result; the manual does not say whether the
/// hardware looks before rounding, which differs for results just below the least normal number.
pub(super) fn output(format: Format, modifiers: Modifiers, bits: u64) -> u64 {
    let bits = if modifiers.ftz { format.flush(bits) } else { bits };
    if modifiers.sat {
        return saturate(format, bits);
    }
    if modifiers.relu { rectify(format, bits) } else { bits }
}

/// Clamps to [0, 1]; NaN becomes +0.
pub(super) fn saturate(format: Format, bits: u64) -> u64 {
    let one = (format.overflow() >> 1) & !((1 << format.fraction_bits) - 1);
    if format.is_nan(bits) || bits & format.sign_bit() != 0 { 0 } else { bits.min(one) }
}

/// Negative numbers become +0, NaN the canonical one.
pub(super) fn rectify(format: Format, bits: u64) -> u64 {
    if format.is_nan(bits) {
        return format.nan;
    }
    if bits & format.sign_bit() != 0 { 0 } else { bits }
}

fn canonical(format: Format, bits: u64) -> u64 {
    if format.is_nan(bits) { format.nan } else { bits }
}

pub(super) fn rounding(modifiers: Modifiers) -> Rounding {
    modifiers.rounding.unwrap_or(Rounding::Nearest)
}

pub(super) fn f32(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

pub(super) fn f64(bits: u64) -> f64 {
    f64::from_bits(bits)
}
