//! Types of values, and conversions between them.

use super::{Emitter, Result, Ty, Unsupported, Value};
use hammock_ir::DType;

/// Returns the type of a value in a register.
pub(super) fn register_type(dtype: DType) -> Result<Ty> {
    let scalar = match dtype.bits {
        _ if dtype.is_bool() => Ty::I1,
        _ if dtype.is_handle() => Ty::PTR,
        8 | 16 | 32 | 64 if dtype.is_integer() => Ty::int(dtype.bits.into()),
        _ if dtype.is_float16() => Ty::HALF,
        _ if dtype.is_bfloat16() => Ty::int(16),
        32 if dtype.is_float() => Ty::FLOAT,
        64 if dtype.is_float() => Ty::DOUBLE,
        _ => return Err(Unsupported::DType(dtype)),
    };
    if dtype.lanes == 0 || dtype.is_scalable() {
        return Err(Unsupported::DType(dtype));
    }
    Ok(scalar.with_lanes(dtype.lanes))
}

/// Returns the type of a value in memory.
pub(super) fn memory_type(dtype: DType) -> Result<Ty> {
    let ty = register_type(dtype)?;
    Ok(if dtype.is_bool() { Ty::I8.with_lanes(ty.lanes) } else { ty })
}

/// Returns true if values are rounded to this dtype after each operation in single precision.
fn is_narrow(dtype: DType) -> bool {
    dtype.is_float16() || dtype.is_bfloat16()
}

/// Returns a float constant as a value of its dtype.
pub(super) fn float_constant(value: f64, dtype: DType) -> Result<Value> {
    let ty = register_type(dtype)?;
    if dtype.is_bfloat16() {
        return Ok(Value::int(hammock_runtime::value::small_float::to_bfloat16(value).to_bits() as i16 as i64, ty));
    }
    Ok(Value::float(
        if dtype.is_float16() { hammock_runtime::value::small_float::to_float16(value).to_f64() } else { value },
        ty,
    ))
}

impl Emitter<'_, '_> {
    /// Converts a value to computing precision: narrow floats to float32; others are unchanged.
    pub(super) fn widen(&mut self, value: &Value, dtype: DType) -> Value {
        let float = Ty::FLOAT.with_lanes(value.ty.lanes);
        if dtype.is_float16() {
            return match value.as_float() {
                Some(v) => Value::float(v, float),
                None if self.kernel.platform.has_float16() => self.f.convert("fpext", value, float),
                None => self.half_to_float(value),
            };
        }
        if !dtype.is_bfloat16() {
            return value.clone();
        }
        if let Some(bits) = value.as_int() {
            return Value::float(half::bf16::from_bits(bits as u16).to_f64(), float);
        }
        let int = Ty::I32.with_lanes(value.ty.lanes);
        let bits = self.f.convert("zext", value, int);
        let bits = self.f.binary("shl", &bits, &Value::int(16, int));
        self.f.convert("bitcast", &bits, float)
    }

    /// Converts a result to its dtype.
    pub(super) fn narrow(&mut self, value: &Value, dtype: DType) -> Value {
        if dtype.is_float16() && self.kernel.platform.has_float16() {
            return self.f.convert("fptrunc", value, Ty::HALF.with_lanes(value.ty.lanes));
        }
        match () {
            () if dtype.is_float16() => self.float_to_half(value),
            () if dtype.is_bfloat16() => self.float_to_bfloat(value),
            () => value.clone(),
        }
    }

    /// Rounds to nearest even by adding half an ulp to the bits; NaN stays NaN.
    fn float_to_bfloat(&mut self, value: &Value) -> Value {
        let int = Ty::I32.with_lanes(value.ty.lanes);
        let constant = |v| Value::int(v, int);
        let bits = self.f.convert("bitcast", value, int);
        let upper = self.f.binary("lshr", &bits, &constant(16));
        let odd = self.f.binary("and", &upper, &constant(1));
        let bias = self.f.binary("add", &odd, &constant(0x7fff));
        let rounded = self.f.binary("add", &bits, &bias);
        let rounded = self.f.binary("lshr", &rounded, &constant(16));
        let quiet = self.f.binary("or", &upper, &constant(0x40));
        let is_nan = self.f.compare("fcmp uno", value, value);
        let chosen = self.f.select(&is_nan, &quiet, &rounded);
        self.f.convert("trunc", &chosen, Ty::int(16).with_lanes(value.ty.lanes))
    }

    /// Conversion in float32 arithmetic: shifting the bits scales by 2^-112, which a multiplication undoes, subnormals included.
    fn half_to_float(&mut self, value: &Value) -> Value {
        let lanes = value.ty.lanes;
        let (int, float) = (Ty::I32.with_lanes(lanes), Ty::FLOAT.with_lanes(lanes));
        let constant = |v| Value::int(v, int);
        let bits = self.f.convert("bitcast", value, Ty::int(16).with_lanes(lanes));
        let bits = self.f.convert("zext", &bits, int);
        let magnitude = self.f.binary("and", &bits, &constant(0x7fff));
        let moved = self.f.binary("shl", &magnitude, &constant(13));
        let moved = self.f.convert("bitcast", &moved, float);
        let scaled = self.f.binary("fmul", &moved, &Value::float(2f64.powi(112), float));
        let scaled = self.f.convert("bitcast", &scaled, int);
        let special = self.f.binary("or", &scaled, &constant(0x7f80_0000));
        let is_special = self.f.compare("icmp uge", &magnitude, &constant(0x7c00));
        let magnitude = self.f.select(&is_special, &special, &scaled);
        let sign = self.f.binary("and", &bits, &constant(0x8000));
        let sign = self.f.binary("shl", &sign, &constant(16));
        let all = self.f.binary("or", &magnitude, &sign);
        self.f.convert("bitcast", &all, float)
    }

    /// Conversion in float32 arithmetic: adding a float whose ulp is that of the half rounds the magnitude.
    fn float_to_half(&mut self, value: &Value) -> Value {
        let lanes = value.ty.lanes;
        let (int, float) = (Ty::I32.with_lanes(lanes), Ty::FLOAT.with_lanes(lanes));
        let constant = |v| Value::int(v, int);
        let bits = self.f.convert("bitcast", value, int);
        let sign = self.f.binary("and", &bits, &constant(0x8000_0000u32 as i32 as i64));
        let magnitude = self.f.binary("xor", &bits, &sign);
        // Subnormal halves: the low bits of the sum are the result.
        let small = self.f.convert("bitcast", &magnitude, float);
        let small = self.f.binary("fadd", &small, &Value::float(0.5, float));
        let small = self.f.convert("bitcast", &small, int);
        let small = self.f.binary("sub", &small, &constant(0x3f00_0000));
        // Normal halves: add half an ulp minus one, plus one for odd values, then rebias the exponent.
        let odd = self.f.binary("lshr", &magnitude, &constant(13));
        let odd = self.f.binary("and", &odd, &constant(1));
        let normal = self.f.binary("add", &magnitude, &odd);
        let normal = self.f.binary("add", &normal, &constant(0xfff - (112 << 23)));
        let normal = self.f.binary("lshr", &normal, &constant(13));
        let is_small = self.f.compare("icmp ult", &magnitude, &constant(113 << 23));
        let finite = self.f.select(&is_small, &small, &normal);
        let is_nan = self.f.compare("icmp ugt", &magnitude, &constant(0x7f80_0000));
        let special = self.f.select(&is_nan, &constant(0x7e00), &constant(0x7c00));
        let is_special = self.f.compare("icmp uge", &magnitude, &constant(143 << 23));
        let chosen = self.f.select(&is_special, &special, &finite);
        let sign = self.f.binary("lshr", &sign, &constant(16));
        let chosen = self.f.binary("or", &chosen, &sign);
        let chosen = self.f.convert("trunc", &chosen, Ty::int(16).with_lanes(lanes));
        self.f.convert("bitcast", &chosen, Ty::HALF.with_lanes(lanes))
    }

    /// Rounds float64 to float32, to odd: inexact results get an odd last bit, so that a second rounding to a narrower
    /// dtype is correct.
    fn double_to_odd_float(&mut self, value: &Value) -> Value {
        let lanes = value.ty.lanes;
        let (int, float) = (Ty::I32.with_lanes(lanes), Ty::FLOAT.with_lanes(lanes));
        let near = self.f.convert("fptrunc", value, float);
        let back = self.f.convert("fpext", &near, value.ty);
        let bits = self.f.convert("bitcast", &near, int);
        let (far, size) = (self.magnitude(&back), self.magnitude(value));
        let is_above = self.f.compare("fcmp ogt", &far, &size);
        let lower = self.f.binary("sub", &bits, &Value::int(1, int));
        let toward_zero = self.f.select(&is_above, &lower, &bits);
        let odd = self.f.binary("or", &toward_zero, &Value::int(1, int));
        let is_inexact = self.f.compare("fcmp one", &back, value);
        let chosen = self.f.select(&is_inexact, &odd, &bits);
        self.f.convert("bitcast", &chosen, float)
    }

    /// Absolute value of a float.
    pub(super) fn magnitude(&mut self, value: &Value) -> Value {
        self.intrinsic("fabs", value.ty, value.ty, &[value])
    }

    /// Converts a value to the nearest of another dtype.
    pub(super) fn cast(&mut self, value: &Value, from: DType, to: DType) -> Result<Value> {
        let (target, lanes) = (register_type(to)?, value.ty.lanes);
        if from.element() == to.element() {
            return Ok(value.clone());
        }
        if from.is_handle() || to.is_handle() {
            let instruction = if to.is_handle() { "inttoptr" } else { "ptrtoint" };
            return Ok(self.f.convert(instruction, value, target));
        }
        if from.is_floating() {
            let wide = self.widen(value, from);
            return Ok(self.cast_float(&wide, to, target));
        }
        if to.is_bool() {
            return Ok(self.f.compare("icmp ne", value, &Value::int(0, value.ty)));
        }
        let is_signed = from.is_int();
        if !to.is_floating() {
            let extend = if is_signed { "sext" } else { "zext" };
            let narrows = target.bits() < value.ty.bits();
            let result = self.f.convert(if narrows { "trunc" } else { extend }, value, target);
            if narrows && is_signed {
                self.require_same(value, &result, to);
            }
            return Ok(result);
        }
        let wide = match () {
            () if is_narrow(to) && value.ty.bits() >= 32 => Ty::DOUBLE.with_lanes(lanes),
            () if is_narrow(to) => Ty::FLOAT.with_lanes(lanes),
            () => target,
        };
        let number = self.f.convert(if is_signed { "sitofp" } else { "uitofp" }, value, wide);
        Ok(if is_narrow(to) { self.cast_float(&number, to, target) } else { number })
    }

    /// Converts a float32 or float64 to `to`.
    fn cast_float(&mut self, value: &Value, to: DType, target: Ty) -> Value {
        if to.is_bool() {
            return self.f.compare("fcmp une", value, &Value::float(0.0, value.ty));
        }
        if is_narrow(to) {
            let is_double = value.ty.bits() == 64;
            let single = if is_double { self.double_to_odd_float(value) } else { value.clone() };
            return self.narrow(&single, to);
        }
        if to.is_floating() {
            let is_wider = target.bits() > value.ty.bits();
            return self.f.convert(if is_wider { "fpext" } else { "fptrunc" }, value, target);
        }
        if value.ty.lanes > 1 {
            return self.saturate(value, to, target);
        }
        let name = if to.is_int() { "fptosi.sat" } else { "fptoui.sat" };
        let callee = format!("llvm.{name}.{}.{}", target.suffix(), value.ty.suffix());
        let callee = self.kernel.module.declare(&callee, target, &[value.ty]);
        self.f.call(&callee, target, &[value])
    }

    /// Saturating conversion of a vector of floats to integers, towards zero; NaN is 0. LLVM's saturating intrinsics
    /// are scalarized on x86.
    fn saturate(&mut self, value: &Value, to: DType, target: Ty) -> Value {
        let (digits, bits) = (if value.ty.bits() == 32 { 24 } else { 53 }, i32::from(to.bits));
        let end = 2f64.powi(if to.is_int() { bits - 1 } else { bits });
        let (min, largest) = (if to.is_int() { -end } else { 0.0 }, end * (1.0 - 2f64.powi(-digits)));
        let (min, largest) = (Value::float(min, value.ty), Value::float(largest, value.ty));
        let above = self.f.compare("fcmp ogt", value, &min);
        let raised = self.f.select(&above, value, &min);
        let below = self.f.compare("fcmp olt", &raised, &largest);
        let clamped = self.f.select(&below, &raised, &largest);
        let mut integer = self.f.convert(if to.is_int() { "fptosi" } else { "fptoui" }, &clamped, target);
        if bits - i32::from(to.is_int()) > digits {
            // The largest integer is not representable as a float.
            let most = if to.is_int() { i64::MAX >> (64 - bits) } else { -1 };
            let over = self.f.compare("fcmp oge", value, &Value::float(end, value.ty));
            integer = self.f.select(&over, &Value::int(most, target), &integer);
        }
        let number = self.f.compare("fcmp ord", value, value);
        self.f.select(&number, &integer, &Value::int(0, target))
    }
}
