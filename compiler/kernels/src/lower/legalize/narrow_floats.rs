//! Legalization of floats narrower than float32: loaded as bits, computed in float32, rounded when stored.

use super::Legalizer;
use crate::error::Reason;
use hammock_ir::{
    DType, PrimExpr,
    prim::{BinaryOp, PrimKind, Var, binary},
    tir::Buffer,
};
use hammock_runtime::value::small_float::{self, Format, Special};

/// Returns true if values of the dtype are computed in float32.
pub fn is_narrow(dtype: DType) -> bool {
    dtype.is_floating() && dtype.bits < 32
}

/// Returns the dtype in which values of a dtype are computed.
pub fn carrier(dtype: DType) -> DType {
    if is_narrow(dtype) { DType::FLOAT32.with_lanes(dtype.lanes) } else { dtype }
}

/// Converts a value to float32 before it is rounded to a narrow dtype. Inexact values are rounded to odd, so that
/// rounding twice gives the same result as rounding once.
pub fn single(value: PrimExpr, to: DType) -> PrimExpr {
    let from = value.dtype();
    let wide = DType::FLOAT64.with_lanes(from.lanes);
    // Integers in the range of the other formats are exact in float32.
    let loses = from.is_integer() && !from.is_bool() && from.bits >= 32 && to.is_bfloat16();
    match from.bits {
        64 if from.is_floating() => round_to_odd(value),
        64 if loses => round_to_odd(fold_for_float64(value).cast(wide)),
        32 if loses => round_to_odd(value.cast(wide)),
        _ => value.cast(carrier(to.with_lanes(from.lanes))),
    }
}

/// Rounds a float64 to float32, to odd: inexact values become the neighbour whose last bit is set.
fn round_to_odd(value: PrimExpr) -> PrimExpr {
    let words = FloatBits { lanes: value.dtype().lanes };
    let (x, near) = (Var::new("x", value.dtype()), Var::new("near", DType::FLOAT32.with_lanes(words.lanes)));
    let (exact, back) = (x.expr(), near.expr().cast(value.dtype()));
    let bits = PrimExpr::intrin("reinterpret", vec![near.expr()], DType::UINT32.with_lanes(words.lanes));
    let is_beyond = back.clone().unary("fabs").gt(exact.clone().unary("fabs"));
    let toward_zero = is_beyond.select(&bits - words.c(1), bits.clone());
    let odd = words.op("bitwise_or", &toward_zero, 1);
    let rounded = words.float(back.ne(exact.clone()).select(odd, bits));
    let single = exact.cast(near.dtype());
    PrimExpr::bind(x, value, PrimExpr::bind(near, single, rounded))
}

/// Maps a 64-bit integer to one that float64 holds exactly, and that rounds to the same narrow float: see
/// [`fold_for_float64`](hammock_runtime::value::small_float::fold_for_float64).
fn fold_for_float64(value: PrimExpr) -> PrimExpr {
    let dtype = value.dtype();
    let c = |v: i64| PrimExpr::int(v, dtype.element()).broadcast(dtype.lanes);
    let op = |name: &'static str, a: PrimExpr, b: PrimExpr| PrimExpr::intrin(name, vec![a, b], dtype);
    let (var, lost) = (Var::new("integer", dtype), (1 << 11) - 1);
    let x = var.expr();
    let is_exact = match dtype.is_uint() {
        true => x.clone().lt(c(1 << 53)),
        false => x.clone().lt(c(1 << 53)).and(x.clone().gt(c(-(1 << 53)))),
    };
    let is_exact = is_exact.or(op("bitwise_and", x.clone(), c(lost)).eq(c(0)));
    let folded = op("bitwise_or", op("bitwise_and", x.clone(), c(!lost)), c(lost + 1));
    PrimExpr::bind(var, value, is_exact.select(x, folded))
}

/// Returns the unsigned integer dtype of the same width.
fn bits_type(dtype: DType) -> DType {
    DType::uint(dtype.bits).with_lanes(dtype.lanes)
}

impl Legalizer {
    /// Returns the variable that replaces a variable of a narrow float.
    pub fn carry(&mut self, var: &Var) -> Var {
        if !is_narrow(var.dtype()) {
            return var.clone();
        }
        let new = || Var::new(var.name().clone(), carrier(var.dtype()));
        self.vars.entry(var.clone()).or_insert_with(new).clone()
    }

    /// Returns a buffer as it is in memory: as bits, unless the target converts float16 itself.
    pub fn buffer(&mut self, buffer: &Buffer) -> Buffer {
        if buffer.dtype.bits < 8 {
            self.failed.get_or_insert(Reason::Element(buffer.dtype));
        }
        if !is_narrow(buffer.dtype) || self.converts(buffer.dtype) {
            return buffer.clone();
        }
        let bits = || buffer.change(|b| b.dtype = bits_type(b.dtype));
        self.buffers.entry(buffer.clone()).or_insert_with(bits).clone()
    }

    fn converts(&self, dtype: DType) -> bool {
        self.float16 && dtype.is_float16()
    }

    /// Decodes a value loaded from a buffer of a dtype.
    pub fn loaded(&mut self, memory: PrimExpr, dtype: DType) -> PrimExpr {
        let dtype = dtype.with_lanes(memory.dtype().lanes);
        if !is_narrow(dtype) { memory } else { self.decode(memory, dtype) }
    }

    /// Encodes a value for a store to a buffer of a dtype.
    pub fn stored(&mut self, value: &PrimExpr, dtype: DType) -> PrimExpr {
        if !is_narrow(dtype) {
            return self.expr(value);
        }
        // A cast right before the store rounds as the store does.
        let value = match value.kind() {
            PrimKind::Cast(inner) if !inner.dtype().is_bool() => {
                let carried = self.expr(inner);
                single(carried, value.dtype())
            }
            _ => self.expr(value),
        };
        let dtype = dtype.with_lanes(value.dtype().lanes);
        self.encode(value, dtype)
    }

    /// Rounds a float32 to the precision of a dtype.
    pub fn rounded(&mut self, value: PrimExpr, dtype: DType) -> PrimExpr {
        let narrow = self.encode(value, dtype);
        self.decode(narrow, dtype)
    }

    /// Reinterprets the bits of a value as another dtype, if either is narrow.
    pub fn reinterpret(&mut self, value: &PrimExpr, to: DType) -> PrimExpr {
        let from = value.dtype();
        let carried = self.expr(value);
        let bits = if is_narrow(from) { self.encode_bits(carried, from) } else { carried };
        if is_narrow(to) {
            let bits = PrimExpr::intrin("reinterpret", vec![bits], bits_type(to));
            return self.decode_bits(bits, to);
        }
        PrimExpr::intrin("reinterpret", vec![bits], to)
    }

    fn decode(&mut self, memory: PrimExpr, dtype: DType) -> PrimExpr {
        if self.converts(dtype) { memory.cast(carrier(dtype)) } else { self.decode_bits(memory, dtype) }
    }

    fn encode(&mut self, value: PrimExpr, dtype: DType) -> PrimExpr {
        if self.converts(dtype) { value.cast(dtype) } else { self.encode_bits(value, dtype) }
    }

    fn decode_bits(&mut self, bits: PrimExpr, dtype: DType) -> PrimExpr {
        let words = FloatBits { lanes: dtype.lanes };
        let wide = bits.cast(DType::UINT32.with_lanes(dtype.lanes));
        if dtype.is_bfloat16() {
            return words.float(words.op("shift_left", &wide, 16));
        }
        match self.format(dtype) {
            Some(format) => words.named(wide, |bits| words.decode(&bits, format)),
            None => words.float(wide),
        }
    }

    fn encode_bits(&mut self, value: PrimExpr, dtype: DType) -> PrimExpr {
        let words = FloatBits { lanes: dtype.lanes };
        let to = bits_type(dtype);
        let bits = PrimExpr::intrin("reinterpret", vec![value], DType::UINT32.with_lanes(dtype.lanes));
        if dtype.is_bfloat16() {
            return words.named(bits, |bits| words.bfloat16(&bits)).cast(to);
        }
        match self.format(dtype) {
            Some(format) => words.named(bits, |bits| words.encode(&bits, format)).cast(to),
            None => bits.cast(to),
        }
    }

    fn format(&mut self, dtype: DType) -> Option<Format> {
        if dtype.is_float16() {
            return Some(small_float::FLOAT16);
        }
        let format = small_float::format(dtype).filter(|f| f.signed && dtype.bits == 8);
        if format.is_none() {
            self.failed.get_or_insert(Reason::Element(dtype.element()));
        }
        format
    }
}

/// Arithmetic on the bits of float32 values.
struct FloatBits {
    lanes: u16,
}

impl FloatBits {
    fn c(&self, value: i64) -> PrimExpr {
        PrimExpr::int(value, DType::UINT32).broadcast(self.lanes)
    }

    fn op(&self, name: &'static str, a: &PrimExpr, b: i64) -> PrimExpr {
        PrimExpr::intrin(name, vec![a.clone(), self.c(b)], a.dtype())
    }

    fn float(&self, bits: PrimExpr) -> PrimExpr {
        PrimExpr::intrin("reinterpret", vec![bits], DType::FLOAT32.with_lanes(self.lanes))
    }

    fn single(&self, value: f64) -> PrimExpr {
        PrimExpr::float(value, DType::FLOAT32).broadcast(self.lanes)
    }

    fn named(&self, value: PrimExpr, body: impl FnOnce(PrimExpr) -> PrimExpr) -> PrimExpr {
        let var = Var::new("bits", value.dtype());
        let body = body(var.expr());
        PrimExpr::bind(var, value, body)
    }

    /// Returns the upper half of float32 bits, rounded to nearest even; NaN stays NaN.
    fn bfloat16(&self, bits: &PrimExpr) -> PrimExpr {
        let odd = self.op("bitwise_and", &self.op("shift_right", bits, 16), 1);
        let rounded = self.op("shift_right", &(bits + odd + self.c(0x7fff)), 16);
        let quiet = self.op("bitwise_or", &self.op("shift_right", bits, 16), 0x40);
        let magnitude = self.op("bitwise_and", bits, 0x7fff_ffff);
        magnitude.gt(self.c(0x7f80_0000)).select(quiet, rounded)
    }

    /// Decodes a narrow float to float32.
    fn decode(&self, code: &PrimExpr, f: Format) -> PrimExpr {
        let digits = i64::from(23 - f.mantissa_bits);
        let width = f.exponent_bits + f.mantissa_bits;
        let magnitude = self.op("bitwise_and", code, (1 << width) - 1);
        let normal = self.op("shift_left", &magnitude, digits) + self.c(i64::from(127 - f.bias) << 23);
        let unit = 2f64.powi(1 - f.bias - f.mantissa_bits as i32);
        let small = magnitude.clone().cast(DType::FLOAT32.with_lanes(self.lanes)) * self.single(unit);
        let is_small = magnitude.clone().lt(self.c(1 << f.mantissa_bits));
        let value = is_small.select(small, self.float(normal));
        let infinity = self.c(i64::from(f.infinity()));
        let value = match f.special {
            Special::Ieee => {
                let infinite = magnitude.clone().eq(&infinity).select(self.single(f64::INFINITY), value);
                magnitude.gt(infinity).select(self.single(f64::NAN), infinite)
            }
            Special::OnesNan => magnitude.eq(self.c(i64::from(f.nan()))).select(self.single(f64::NAN), value),
            Special::NegativeZeroNan => {
                code.clone().eq(self.c(i64::from(f.nan()))).select(self.single(f64::NAN), value)
            }
            Special::None => value,
        };
        let sign = self.op("shift_left", &self.op("shift_right", code, i64::from(width)), 31);
        let bits = PrimExpr::intrin("reinterpret", vec![value], DType::UINT32.with_lanes(self.lanes));
        self.float(PrimExpr::intrin("bitwise_or", vec![bits, sign.clone()], sign.dtype()))
    }

    /// Encodes a float32 as the nearest narrow float, ties to even.
    fn encode(&self, bits: &PrimExpr, f: Format) -> PrimExpr {
        let dropped = i64::from(23 - f.mantissa_bits);
        let width = i64::from(f.exponent_bits + f.mantissa_bits);
        let magnitude = self.op("bitwise_and", bits, 0x7fff_ffff);
        let odd = self.op("bitwise_and", &self.op("shift_right", &magnitude, dropped), 1);
        let rounded = self.op("shift_right", &(&magnitude + odd + self.c((1 << (dropped - 1)) - 1)), dropped);
        let normal = rounded - self.c(i64::from(127 - f.bias) << f.mantissa_bits);
        // Adding a number whose ulp is the smallest subnormal leaves the mantissa in the low bits.
        let anchor = 2f64.powi(1 - f.bias - f.mantissa_bits as i32 + 23);
        let shifted = self.float(magnitude.clone()) + self.single(anchor);
        let shifted = PrimExpr::intrin("reinterpret", vec![shifted], magnitude.dtype());
        let small = shifted - self.c(i64::from((anchor as f32).to_bits()));
        let first_normal = i64::from(2f32.powi(1 - f.bias).to_bits());
        let code = magnitude.clone().lt(self.c(first_normal)).select(small, normal);
        let is_nan = magnitude.gt(self.c(0x7f80_0000));
        let overflow = i64::from(match f.special {
            Special::Ieee => f.infinity(),
            Special::None => f.largest(),
            Special::OnesNan | Special::NegativeZeroNan => f.nan(),
        });
        let largest = self.c(i64::from(f.largest()));
        let beyond = binary(BinaryOp::Gt, code.clone(), largest);
        let sign = self.op("shift_left", &self.op("shift_right", bits, 31), width);
        let join = |a: PrimExpr, b: &PrimExpr| PrimExpr::intrin("bitwise_or", vec![a, b.clone()], b.dtype());
        if f.special == Special::NegativeZeroNan {
            // There is one zero and one NaN.
            let signed = code.clone().eq(self.c(0)).select(self.c(0), join(code, &sign));
            return is_nan.or(beyond).select(self.c(overflow), signed);
        }
        let code = beyond.select(self.c(overflow), code);
        join(is_nan.select(self.c(i64::from(f.nan())), code), &sign)
    }
}
