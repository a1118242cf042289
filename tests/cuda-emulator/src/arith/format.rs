//! Binary floating-point formats and exact numbers between them.
use super::{Rounding, Type};

/// A binary floating-point format with the usual bias.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Format {
    pub(super) exponent_bits: u32,
    pub(super) fraction_bits: u32,
    /// False for `e4m3`, whose largest exponent has finite values too.
    pub(super) has_infinity: bool,
    /// The NaN that arithmetic returns.
    pub(super) nan: u64,
}

pub(super) const F16: Format = Format { exponent_bits: 5, fraction_bits: 10, has_infinity: true, nan: 0x7fff };
pub(super) const BF16: Format = Format { exponent_bits: 8, fraction_bits: 7, has_infinity: true, nan: 0x7fff };
pub(super) const F32: Format = Format { exponent_bits: 8, fraction_bits: 23, has_infinity: true, nan: 0x7fff_ffff };
/// The manual leaves the NaN of `f64` open; this one is CUDA's `CUDART_NAN`.
pub(super) const F64: Format =
    Format { exponent_bits: 11, fraction_bits: 52, has_infinity: true, nan: 0xfff8_0000_0000_0000 };
/// The upper 19 bits of `tf32`.
pub(super) const TF32: Format = Format { exponent_bits: 8, fraction_bits: 10, has_infinity: true, nan: 0x3_ffff };
pub(super) const E4M3: Format = Format { exponent_bits: 4, fraction_bits: 3, has_infinity: false, nan: 0x7f };
pub(super) const E5M2: Format = Format { exponent_bits: 5, fraction_bits: 2, has_infinity: true, nan: 0x7f };

impl Format {
    /// The format of a float, of the halves of a packed type.
    pub(super) fn of(ty: Type) -> Format {
        match ty {
            Type::F16 | Type::F16x2 => F16,
            Type::BF16 | Type::BF16x2 => BF16,
            Type::F64 => F64,
            Type::TF32 => TF32,
            Type::E4M3 | Type::E4M3x2 => E4M3,
            Type::E5M2 | Type::E5M2x2 => E5M2,
            _ => F32,
        }
    }

    pub(super) fn sign_bit(self) -> u64 {
        1 << (self.exponent_bits + self.fraction_bits)
    }

    fn bias(self) -> i32 {
        (1 << (self.exponent_bits - 1)) - 1
    }

    /// Exponent of the last bit of subnormals.
    fn min_exponent(self) -> i32 {
        1 - self.bias() - self.fraction_bits as i32
    }

    fn fraction_mask(self) -> u64 {
        (1 << self.fraction_bits) - 1
    }

    /// The first pattern above the finite magnitudes.
    pub(super) fn overflow(self) -> u64 {
        if self.has_infinity { self.sign_bit() - (1 << self.fraction_bits) } else { self.nan }
    }

    pub(super) fn is_nan(self, bits: u64) -> bool {
        let magnitude = bits & (self.sign_bit() - 1);
        if self.has_infinity { magnitude > self.overflow() } else { magnitude == self.nan }
    }

    pub(super) fn is_subnormal(self, bits: u64) -> bool {
        let magnitude = bits & (self.sign_bit() - 1);
        magnitude != 0 && magnitude <= self.fraction_mask()
    }

    /// A subnormal becomes the zero of its sign.
    pub(super) fn flush(self, bits: u64) -> u64 {
        if self.is_subnormal(bits) { bits & self.sign_bit() } else { bits }
    }

    /// The number of a bit pattern.
    pub(super) fn decode(self, bits: u64) -> Number {
        let negative = bits & self.sign_bit() != 0;
        let magnitude = bits & (self.sign_bit() - 1);
        if self.is_nan(bits) {
            return Number::NAN;
        }
        if self.has_infinity && magnitude == self.overflow() {
            return Number { negative, kind: Kind::Infinite };
        }
        let (exponent, fraction) = ((magnitude >> self.fraction_bits) as i32, magnitude & self.fraction_mask());
        let (mantissa, exponent) = match exponent {
            0 => (fraction, self.min_exponent()),
            _ => (fraction | 1 << self.fraction_bits, self.min_exponent() + exponent - 1),
        };
        Number::finite(negative, u128::from(mantissa), exponent)
    }

    /// Rounds a number to the format.
    pub(super) fn round(self, number: Number, rounding: Rounding) -> u64 {
        let sign = if number.negative { self.sign_bit() } else { 0 };
        match number.kind {
            Kind::Nan => self.nan,
            Kind::Infinite => sign | self.overflow(),
            Kind::Zero => sign,
            Kind::Finite { mantissa, exponent } => {
                let top = 127 - mantissa.leading_zeros() as i32 + exponent;
                let last = (top - self.fraction_bits as i32).max(self.min_exponent());
                let (kept, _) = shift_rounded(mantissa, last - exponent, number.negative, rounding);
                // The leading bit of a normal mantissa adds one to the exponent, and so does a carry out of it.
                let magnitude = (((last - self.min_exponent()) as u64) << self.fraction_bits) + kept as u64;
                sign | if magnitude < self.overflow() { magnitude } else { self.overflowed(number.negative, rounding) }
            }
        }
    }

    fn overflowed(self, negative: bool, rounding: Rounding) -> u64 {
        let to_infinity = match rounding {
            Rounding::Nearest | Rounding::NearestAway => true,
            Rounding::Zero => false,
            Rounding::Down => negative,
            Rounding::Up => !negative,
        };
        if to_infinity { self.overflow() } else { self.overflow() - 1 }
    }
}

/// Returns `mantissa / 2^shift` rounded to an integer, and true if that is exact.
pub(super) fn shift_rounded(mantissa: u128, shift: i32, negative: bool, rounding: Rounding) -> (u128, bool) {
    if shift <= 0 {
        return (mantissa << -shift, true);
    }
    let (kept, rest, half) = match shift {
        1..=127 => (mantissa >> shift, mantissa & ((1 << shift) - 1), 1 << (shift - 1)),
        // Mantissas have fewer than 127 bits, so the rest is below half.
        _ => (0, mantissa, u128::MAX),
    };
    let up = match rounding {
        Rounding::Nearest => rest > half || rest == half && kept & 1 == 1,
        Rounding::NearestAway => rest >= half,
        Rounding::Zero => false,
        Rounding::Down => negative && rest != 0,
        Rounding::Up => !negative && rest != 0,
    };
    (kept + u128::from(up), rest == 0)
}

/// A number, exact but for a last bit that stands for everything below it.
#[derive(Clone, Copy)]
pub(super) struct Number {
    pub(super) negative: bool,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Nan,
    Infinite,
    Zero,
    /// `mantissa * 2^exponent`, mantissa not 0 and below 2^127.
    Finite {
        mantissa: u128,
        exponent: i32,
    },
}

impl Number {
    pub(super) const NAN: Number = Number { negative: false, kind: Kind::Nan };

    pub(super) fn finite(negative: bool, mantissa: u128, exponent: i32) -> Number {
        let kind = if mantissa == 0 { Kind::Zero } else { Kind::Finite { mantissa, exponent } };
        Number { negative, kind }
    }

    pub(super) fn negated(self) -> Number {
        Number { negative: !self.negative, ..self }
    }

    /// The sum. `rounding` says which zero an exact cancellation gives.
    pub(super) fn add(self, other: Number, rounding: Rounding) -> Number {
        match (self.kind, other.kind) {
            (Kind::Nan, _) | (_, Kind::Nan) => Number::NAN,
            (Kind::Infinite, Kind::Infinite) if self.negative != other.negative => Number::NAN,
            (Kind::Infinite, _) => self,
            (_, Kind::Infinite) => other,
            (Kind::Zero, Kind::Zero) if self.negative == other.negative => self,
            (Kind::Zero, Kind::Zero) => Number { negative: rounding == Rounding::Down, ..self },
            (Kind::Zero, _) => other,
            (_, Kind::Zero) => self,
            (Kind::Finite { mantissa: a, exponent: i }, Kind::Finite { mantissa: b, exponent: j }) => {
                let first_is_larger = top_bit(a) + i >= top_bit(b) + j;
                let (large, small) =
                    if first_is_larger { ((self, a, i), (other, b, j)) } else { ((other, b, j), (self, a, i)) };
                add_aligned(large, small, rounding)
            }
        }
    }

    /// The product.
    pub(super) fn multiply(self, other: Number) -> Number {
        let negative = self.negative != other.negative;
        match (self.kind, other.kind) {
            (Kind::Nan, _) | (_, Kind::Nan) => Number::NAN,
            (Kind::Infinite, Kind::Zero) | (Kind::Zero, Kind::Infinite) => Number::NAN,
            (Kind::Infinite, _) | (_, Kind::Infinite) => Number { negative, kind: Kind::Infinite },
            (Kind::Zero, _) | (_, Kind::Zero) => Number { negative, kind: Kind::Zero },
            (Kind::Finite { mantissa: a, exponent: i }, Kind::Finite { mantissa: b, exponent: j }) => {
                Number::finite(negative, a * b, i + j)
            }
        }
    }

    /// The quotient to at least 64 bits.
    pub(super) fn divide(self, other: Number) -> Number {
        let negative = self.negative != other.negative;
        match (self.kind, other.kind) {
            (Kind::Nan, _) | (_, Kind::Nan) => Number::NAN,
            (Kind::Infinite, Kind::Infinite) | (Kind::Zero, Kind::Zero) => Number::NAN,
            (Kind::Infinite, _) | (_, Kind::Zero) => Number { negative, kind: Kind::Infinite },
            (Kind::Zero, _) | (_, Kind::Infinite) => Number { negative, kind: Kind::Zero },
            (Kind::Finite { mantissa: a, exponent: i }, Kind::Finite { mantissa: b, exponent: j }) => {
                let shift = a.leading_zeros() as i32 - 3;
                let a = a << shift;
                Number::finite(negative, (a / b) | u128::from(!a.is_multiple_of(b)), i - shift - j)
            }
        }
    }

    /// The square root to at least 60 bits.
    pub(super) fn square_root(self) -> Number {
        match self.kind {
            Kind::Nan | Kind::Zero => self,
            _ if self.negative => Number::NAN,
            Kind::Infinite => self,
            Kind::Finite { mantissa, exponent } => {
                let mut shift = mantissa.leading_zeros() as i32 - 4;
                shift += (exponent - shift) & 1;
                let mantissa = mantissa << shift;
                let root = mantissa.isqrt();
                // One more bit holds what is left.
                Number::finite(false, root << 1 | u128::from(root * root != mantissa), (exponent - shift) / 2 - 1)
            }
        }
    }
}

fn top_bit(mantissa: u128) -> i32 {
    127 - mantissa.leading_zeros() as i32
}

/// Adds two finite numbers, the larger magnitude first. Mantissas have at most 107 bits, so where bits of the smaller
/// one are lost its top bit is at least two below, and the sum keeps more than 120 bits.
fn add_aligned(large: (Number, u128, i32), small: (Number, u128, i32), rounding: Rounding) -> Number {
    let up = 125 - top_bit(large.1);
    let (a, exponent) = (large.1 << up, large.2 - up);
    let down = exponent - small.2;
    let b = match down {
        ..=0 => small.1 << -down,
        1..=127 => small.1 >> down | u128::from(small.1 & ((1 << down) - 1) != 0),
        _ => 1,
    };
    if large.0.negative == small.0.negative {
        return Number::finite(large.0.negative, a + b, exponent);
    }
    if a == b {
        return Number::finite(rounding == Rounding::Down, 0, 0);
    }
    // Equal top bits do not say which magnitude is larger.
    Number::finite(large.0.negative == (a > b), a.abs_diff(b), exponent)
}
