//! Floats of 16 bits and fewer: a descriptor per format, and one encoder and decoder for all.

use super::{DType, dtype_code as code};

/// Layout of a small float: sign (if any), exponent, mantissa.
#[derive(Clone, Copy)]
pub struct Format {
    /// Bits of the exponent.
    pub exponent_bits: u32,
    /// Bits of the mantissa.
    pub mantissa_bits: u32,
    /// Exponent bias.
    pub bias: i32,
    /// True if the highest bit is a sign.
    pub signed: bool,
    /// Encoding of infinity and NaN.
    pub special: Special,
}

/// Encoding of infinity and NaN.
#[derive(Clone, Copy, PartialEq)]
pub enum Special {
    /// The highest exponent encodes infinity and NaN, as in IEEE 754.
    Ieee,
    /// All ones is NaN; there is no infinity.
    OnesNan,
    /// Negative zero is NaN; there is no infinity.
    NegativeZeroNan,
    /// Every code is a finite number.
    None,
}

/// IEEE half precision.
pub const FLOAT16: Format =
    Format { exponent_bits: 5, mantissa_bits: 10, bias: 15, signed: true, special: Special::Ieee };

/// The format of a dtype, if it is a float of 8 bits or fewer.
pub fn format(dtype: DType) -> Option<Format> {
    let new = |exponent_bits, mantissa_bits, bias, special| {
        Some(Format { exponent_bits, mantissa_bits, bias, signed: true, special })
    };
    match dtype.code {
        code::FLOAT8_E3M4 => new(3, 4, 3, Special::Ieee),
        code::FLOAT8_E4M3 => new(4, 3, 7, Special::Ieee),
        code::FLOAT8_E4M3B11FNUZ => new(4, 3, 11, Special::NegativeZeroNan),
        code::FLOAT8_E4M3FN => new(4, 3, 7, Special::OnesNan),
        code::FLOAT8_E4M3FNUZ => new(4, 3, 8, Special::NegativeZeroNan),
        code::FLOAT8_E5M2 => new(5, 2, 15, Special::Ieee),
        code::FLOAT8_E5M2FNUZ => new(5, 2, 16, Special::NegativeZeroNan),
        code::FLOAT8_E8M0FNU => {
            Some(Format { exponent_bits: 8, mantissa_bits: 0, bias: 127, signed: false, special: Special::OnesNan })
        }
        code::FLOAT6_E2M3FN => new(2, 3, 1, Special::None),
        code::FLOAT6_E3M2FN => new(3, 2, 3, Special::None),
        code::FLOAT4_E2M1FN => new(2, 1, 1, Special::None),
        _ => None,
    }
}

/// Rounds to float16, ties to even.
pub fn to_float16(value: f64) -> half::f16 {
    half::f16::from_f32(round_to_odd(value))
}

/// Rounds to bfloat16, ties to even.
pub fn to_bfloat16(value: f64) -> half::bf16 {
    half::bf16::from_f32(round_to_odd(value))
}

/// Rounds to odd: an inexact result becomes the neighbor whose last bit is set. Rounding that to a format at least two
/// bits shorter equals a single rounding (Boldo and Melquiond, "When double rounding is odd").
fn round_to_odd(value: f64) -> f32 {
    let near = value as f32;
    if f64::from(near) == value || value.is_nan() {
        return near;
    }
    let is_beyond = f64::from(near).abs() > value.abs();
    f32::from_bits((near.to_bits() - u32::from(is_beyond)) | 1)
}

/// Folds the bits of a 64-bit integer that float64 cannot represent into the lowest one that it can, so that the
/// conversion is exact and rounding its result equals a single rounding of the integer.
pub fn fold_for_float64(value: i64, is_unsigned: bool) -> i64 {
    const LOST: i64 = (1 << 11) - 1;
    let is_exact = if is_unsigned { value as u64 >> 53 == 0 } else { value.unsigned_abs() >> 53 == 0 };
    if is_exact || value & LOST == 0 { value } else { value & !LOST | (LOST + 1) }
}

impl Format {
    /// The value of a code.
    pub fn decode(self, bits: u8) -> f64 {
        let magnitude = u32::from(bits) & self.magnitude_mask();
        let negative = self.signed && u32::from(bits) >> (self.exponent_bits + self.mantissa_bits) & 1 == 1;
        let sign = if negative { -1.0 } else { 1.0 };
        match self.special {
            Special::OnesNan if magnitude == self.magnitude_mask() => f64::NAN.copysign(sign),
            Special::NegativeZeroNan if magnitude == 0 && negative => f64::NAN,
            Special::Ieee if magnitude == self.infinity() => sign * f64::INFINITY,
            Special::Ieee if magnitude > self.infinity() => f64::NAN.copysign(sign),
            _ => sign * self.finite(magnitude),
        }
    }

    /// The code of the nearest number, ties to even. Overflow gives infinity, NaN in formats without infinity, and the
    /// largest number in formats without either.
    pub fn encode(self, value: f64) -> u8 {
        let sign =
            if self.signed && value.is_sign_negative() { 1 << (self.exponent_bits + self.mantissa_bits) } else { 0 };
        if value.is_nan() || (!self.signed && value < 0.0) {
            return if self.special == Special::NegativeZeroNan { self.nan() } else { sign | self.nan() } as u8;
        }
        let magnitude = self.nearest(value.abs());
        let overflows = magnitude > self.largest();
        match self.special {
            Special::NegativeZeroNan if overflows || (magnitude == 0 && sign != 0) => {
                if overflows {
                    self.nan() as u8
                } else {
                    0
                }
            }
            Special::Ieee if overflows => (sign | self.infinity()) as u8,
            Special::OnesNan if overflows => (sign | self.magnitude_mask()) as u8,
            Special::None if overflows => (sign | self.largest()) as u8,
            _ => (sign | magnitude) as u8,
        }
    }

    /// The magnitude code nearest to a non-negative value; one more than the largest on overflow.
    fn nearest(self, value: f64) -> u32 {
        let beyond = self.largest() + 1;
        let (mut low, mut high) = (0, beyond);
        while high - low > 1 {
            let middle = (low + high) / 2;
            if self.finite(middle) <= value { low = middle } else { high = middle }
        }
        let (below, above) = (self.finite(low), self.finite(high));
        let up = value - below > above - value || (value - below == above - value && low % 2 == 1);
        if up && value > below { high } else { low }
    }

    /// The value of a magnitude code, treating special codes as finite.
    fn finite(self, magnitude: u32) -> f64 {
        let (exponent, mantissa) = (magnitude >> self.mantissa_bits, magnitude & ((1 << self.mantissa_bits) - 1));
        let fraction = f64::from(mantissa) / f64::from(1u32 << self.mantissa_bits);
        if exponent == 0 && self.mantissa_bits > 0 {
            return fraction * 2f64.powi(1 - self.bias);
        }
        (1.0 + fraction) * 2f64.powi(exponent as i32 - self.bias)
    }

    fn magnitude_mask(self) -> u32 {
        (1 << (self.exponent_bits + self.mantissa_bits)) - 1
    }

    /// The magnitude code of infinity, if there is one.
    pub fn infinity(self) -> u32 {
        ((1 << self.exponent_bits) - 1) << self.mantissa_bits
    }

    /// The magnitude code of the largest number.
    pub fn largest(self) -> u32 {
        match self.special {
            Special::Ieee => self.infinity() - 1,
            Special::OnesNan => self.magnitude_mask() - 1,
            Special::NegativeZeroNan | Special::None => self.magnitude_mask(),
        }
    }

    /// A NaN code; the largest number if there is none.
    pub fn nan(self) -> u32 {
        match self.special {
            Special::NegativeZeroNan => 1 << (self.exponent_bits + self.mantissa_bits),
            Special::Ieee => self.infinity() | 1 << (self.mantissa_bits - 1),
            Special::OnesNan => self.magnitude_mask(),
            Special::None => self.largest(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_survives_a_round_trip() {
        for name in ["float8_e3m4", "float8_e4m3", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "float4_e2m1fn"] {
            let dtype: DType = name.parse().unwrap();
            let format = format(dtype).unwrap();
            for bits in 0..=((1u32 << dtype.bits) - 1) as u8 {
                let value = format.decode(bits);
                let again = format.encode(value);
                assert!(value.is_nan() && format.decode(again).is_nan() || again == bits, "{name} {bits} {value}");
            }
        }
    }

    #[test]
    fn float64_is_rounded_once() {
        let bit = |n: i32| 2f64.powi(-n);
        for sign in [1.0, -1.0] {
            // Just above, at and just below the midpoint between 1 and the next number, closer than float32 can
            // represent.
            for (off, f16, bf16) in [(bit(50), 1.0 + bit(10), 1.0 + bit(7)), (0.0, 1.0, 1.0), (-bit(50), 1.0, 1.0)] {
                assert_eq!(to_float16(sign * (1.0 + bit(11) + off)).to_f64(), sign * f16);
                assert_eq!(to_bfloat16(sign * (1.0 + bit(8) + off)).to_f64(), sign * bf16);
            }
            assert_eq!(to_float16(sign * (1.5 * bit(24) - bit(60))).to_f64(), sign * bit(24), "subnormal numbers");
            assert_eq!(to_float16(sign * (65520.0 - bit(30))).to_f64(), sign * 65504.0);
            assert_eq!(to_float16(sign * 1e300).to_f64(), sign * f64::INFINITY);
            assert_eq!(to_bfloat16(sign * 1e300).to_f64(), sign * f64::INFINITY);
            assert_eq!(to_bfloat16(sign * f64::INFINITY).to_f64(), sign * f64::INFINITY);
            assert_eq!(to_float16(sign * 1e-300).to_f64(), 0.0);
        }
        assert!(to_float16(f64::NAN).is_nan() && to_bfloat16(f64::NAN).is_nan());
    }

    #[test]
    fn integers_are_rounded_once() {
        for value in [(1i64 << 62) + (1 << 54) + 1, (1 << 62) + (1 << 54), (1 << 62) + (1 << 54) - 1, (1 << 53) - 1, 5]
        {
            let exact = if value == (1 << 62) + (1 << 54) + 1 { (1i64 << 62) + (1 << 55) } else { value };
            let nearest = half::bf16::from_f64(exact as f64);
            assert_eq!(to_bfloat16(fold_for_float64(value, false) as f64), nearest, "{value}");
            assert_eq!(to_bfloat16(fold_for_float64(-value, false) as f64), -nearest, "{value}");
        }
        let value = (1u64 << 63) + (1 << 55) + 1;
        let nearest = half::bf16::from_f32(((1u64 << 63) + (1 << 56)) as f32);
        assert_eq!(to_bfloat16(fold_for_float64(value as i64, true) as u64 as f64), nearest);
    }

    #[test]
    fn known_numbers() {
        let e4m3 = format(DType::FLOAT8_E4M3FN).unwrap();
        assert_eq!(e4m3.decode(0x7e), 448.0);
        assert_eq!(e4m3.encode(1.0), 0x38);
        assert!(e4m3.decode(e4m3.encode(1e9)).is_nan());
        let e5m2 = format(DType::FLOAT8_E5M2).unwrap();
        assert_eq!(e5m2.decode(e5m2.encode(1e9)), f64::INFINITY);
        assert_eq!(e5m2.encode(1.125), 0x3c, "ties go to even");
    }
}
