//! Numbers within the range of a dtype, and their bits.

use crate::{Fault, Value};
use half::{bf16, f16};
use hammock_ir::DType;
use hammock_runtime::value::small_float;

/// Wraps `value` to the width of an integer or bool dtype.
pub fn wrap(value: i64, dtype: DType) -> i64 {
    if dtype.is_bool() {
        return i64::from(value != 0);
    }
    let unused = 64 - u32::from(dtype.bits.clamp(1, 64));
    if dtype.is_uint() { ((value as u64) << unused >> unused) as i64 } else { value << unused >> unused }
}

/// Rounds `value` to nearest even in a float dtype; dtypes without infinity saturate or give NaN, as their conversions
/// do.
pub fn round(value: f64, dtype: DType) -> f64 {
    match (dtype.bits, dtype) {
        (64, _) => value,
        (32, _) => f64::from(value as f32),
        (_, t) if t.is_float16() => small_float::to_float16(value).to_f64(),
        (_, t) if t.is_bfloat16() => small_float::to_bfloat16(value).to_f64(),
        _ => small_float::format(dtype).map_or(value, |format| format.decode(format.encode(value))),
    }
}

/// Returns true if the dtype holds floats.
pub fn is_float(dtype: DType) -> bool {
    dtype.is_floating()
}

/// Converts an integer to a float; unsigned values are not negative.
pub fn int_to_float(value: i64, dtype: DType) -> f64 {
    if dtype.is_uint() { value as u64 as f64 } else { value as f64 }
}

/// Converts a float to an integer of `dtype`, towards zero. Out-of-range values saturate; NaN becomes zero.
pub fn float_to_int(value: f64, dtype: DType) -> i64 {
    if dtype.is_bool() {
        return i64::from(value != 0.0);
    }
    let bits = u32::from(dtype.bits);
    match (dtype.is_uint(), bits) {
        (true, 64) => value as u64 as i64,
        (true, _) => (value as i64).clamp(0, (1i64 << bits) - 1),
        (false, 64) => value as i64,
        (false, _) => (value as i64).clamp(-1i64 << (bits - 1), (1i64 << (bits - 1)) - 1),
    }
}

/// Converts a scalar between dtypes.
pub fn cast(value: &Value, from: DType, to: DType) -> Result<Value, Fault> {
    Ok(match (value, is_float(to)) {
        (Value::Int(v), true) => Value::Float(round_int(*v, from, to)),
        (Value::Int(v), false) => Value::Int(wrap(*v, to)),
        (Value::Float(v), true) => Value::Float(round(*v, to)),
        (Value::Float(v), false) => Value::Int(float_to_int(*v, to)),
        (pointer @ Value::Pointer(_), _) if to.is_handle() => pointer.clone(),
        (other, _) => return Err(Fault::Mismatch { expected: "a number", found: other.to_string() }),
    })
}

/// Rounds an integer once to a float dtype.
fn round_int(value: i64, from: DType, to: DType) -> f64 {
    match (to.bits, from.is_uint()) {
        (32, true) => f64::from(value as u64 as f32),
        (32, false) => f64::from(value as f32),
        (64, _) => int_to_float(value, from),
        _ => round(int_to_float(small_float::fold_for_float64(value, from.is_uint()), from), to),
    }
}

/// Returns the bits of a scalar, in the low bits of the result.
pub fn to_bits(value: &Value, dtype: DType) -> Result<u64, Fault> {
    Ok(match value {
        Value::Int(v) => *v as u64,
        Value::Float(v) => match (dtype.bits, dtype) {
            (64, _) => v.to_bits(),
            (32, _) => u64::from((*v as f32).to_bits()),
            (_, t) if t.is_float16() => u64::from(small_float::to_float16(*v).to_bits()),
            (_, t) if t.is_bfloat16() => u64::from(small_float::to_bfloat16(*v).to_bits()),
            _ => u64::from(small_float::format(dtype).ok_or(unsupported(dtype))?.encode(*v)),
        },
        other => return Err(Fault::Mismatch { expected: "a number", found: other.to_string() }),
    })
}

/// Returns the scalar of a dtype with these bits.
pub fn from_bits(bits: u64, dtype: DType) -> Result<Value, Fault> {
    if !is_float(dtype) {
        return if dtype.is_integer() || dtype.is_bool() {
            Ok(Value::Int(wrap(bits as i64, dtype)))
        } else {
            Err(unsupported(dtype))
        };
    }
    Ok(Value::Float(match (dtype.bits, dtype) {
        (64, _) => f64::from_bits(bits),
        (32, _) => f64::from(f32::from_bits(bits as u32)),
        (_, t) if t.is_float16() => f16::from_bits(bits as u16).to_f64(),
        (_, t) if t.is_bfloat16() => bf16::from_bits(bits as u16).to_f64(),
        _ => small_float::format(dtype).ok_or(unsupported(dtype))?.decode(bits as u8),
    }))
}

fn unsupported(dtype: DType) -> Fault {
    Fault::Unsupported { what: "a value", dtype }
}
