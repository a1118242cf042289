//! Arithmetic, comparison and logic on scalars.

use crate::{Fault, Value, number};
use hammock_ir::{DType, prim::BinaryOp};
use std::cmp::Ordering;

/// `a op b` for scalars of one dtype.
pub fn binary(op: BinaryOp, a: &Value, b: &Value, dtype: DType) -> Result<Value, Fault> {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) if op.is_predicate() => Ok(int_predicate(op, *a, *b, dtype).into()),
        (Value::Int(a), Value::Int(b)) => Ok(Value::Int(number::wrap(integer(op, *a, *b, dtype)?, dtype))),
        (Value::Float(a), Value::Float(b)) if op.is_predicate() => float_predicate(op, *a, *b).map(Value::from),
        (Value::Float(a), Value::Float(b)) => Ok(Value::Float(float(op, *a, *b, dtype))),
        (Value::Pointer(a), Value::Pointer(b)) if op == BinaryOp::Eq => Ok((a == b).into()),
        (Value::Pointer(a), Value::Pointer(b)) if op == BinaryOp::Ne => Ok((a != b).into()),
        _ => Err(Fault::Mismatch { expected: "operands of one kind", found: format!("{a} and {b}") }),
    }
}

/// `a op b` for integers that must not wrap.
pub fn exact(op: BinaryOp, a: &Value, b: &Value, dtype: DType) -> Result<Value, Fault> {
    let result = binary(op, a, b, dtype)?;
    let (Value::Int(x), Value::Int(y), Value::Int(found)) = (a, b, &result) else { return Ok(result) };
    let (x, y) = (i128::from(*x), i128::from(*y));
    let wide = match op {
        BinaryOp::Add => x + y,
        BinaryOp::Sub => x - y,
        BinaryOp::Mul => x * y,
        _ => return Ok(result),
    };
    if dtype.is_int() && wide != i128::from(*found) { Err(Fault::Overflow(dtype)) } else { Ok(result) }
}

fn int_predicate(op: BinaryOp, a: i64, b: i64, dtype: DType) -> bool {
    match op {
        BinaryOp::And => a != 0 && b != 0,
        BinaryOp::Or => a != 0 || b != 0,
        _ if dtype.is_uint() => ordered(op, (a as u64).cmp(&(b as u64))),
        _ => ordered(op, a.cmp(&b)),
    }
}

fn float_predicate(op: BinaryOp, a: f64, b: f64) -> Result<bool, Fault> {
    match op {
        BinaryOp::And | BinaryOp::Or => {
            Err(Fault::Mismatch { expected: "truth values", found: format!("{a} and {b}") })
        }
        _ => Ok(a.partial_cmp(&b).map_or(op == BinaryOp::Ne, |order| ordered(op, order))),
    }
}

fn ordered(op: BinaryOp, order: Ordering) -> bool {
    match op {
        BinaryOp::Eq => order.is_eq(),
        BinaryOp::Ne => order.is_ne(),
        BinaryOp::Lt => order.is_lt(),
        BinaryOp::Le => order.is_le(),
        BinaryOp::Gt => order.is_gt(),
        _ => order.is_ge(),
    }
}

fn integer(op: BinaryOp, a: i64, b: i64, dtype: DType) -> Result<i64, Fault> {
    use BinaryOp::*;
    let divides = matches!(op, Div | Mod | FloorDiv | FloorMod);
    if divides && b == 0 {
        return Err(Fault::DivisionByZero);
    }
    if dtype.is_uint() {
        return Ok(unsigned(op, a as u64, b as u64) as i64);
    }
    Ok(match op {
        Add => a.wrapping_add(b),
        Sub => a.wrapping_sub(b),
        Mul => a.wrapping_mul(b),
        Div => a.wrapping_div(b),
        Mod => a.wrapping_rem(b),
        FloorDiv => a.wrapping_div(b) - i64::from(a.wrapping_rem(b) != 0 && (a < 0) != (b < 0)),
        FloorMod => match a.wrapping_rem(b) {
            r if r != 0 && (r < 0) != (b < 0) => r + b,
            r => r,
        },
        Min => a.min(b),
        _ => a.max(b),
    })
}

fn unsigned(op: BinaryOp, a: u64, b: u64) -> u64 {
    use BinaryOp::*;
    match op {
        Add => a.wrapping_add(b),
        Sub => a.wrapping_sub(b),
        Mul => a.wrapping_mul(b),
        Div | FloorDiv => a / b,
        Mod | FloorMod => a % b,
        Min => a.min(b),
        _ => a.max(b),
    }
}

/// Float arithmetic with one rounding: a double has more than twice the digits of narrower dtypes, so rounding its
/// result again is harmless.
fn float(op: BinaryOp, a: f64, b: f64, dtype: DType) -> f64 {
    use BinaryOp::*;
    let round = |v| number::round(v, dtype);
    // Kernels compute with 16-bit floats in float32, and a floor must see the same quotient.
    let quotient = || if dtype.bits == 16 { f64::from((a / b) as f32) } else { round(a / b) };
    match op {
        Add => round(a + b),
        Sub => round(a - b),
        Mul => round(a * b),
        Div => round(a / b),
        Mod => round(libm::fmod(a, b)),
        FloorDiv => round(quotient().floor()),
        FloorMod => round(a - round(round(quotient().floor()) * b)),
        Min if a < b || a.is_nan() => a,
        Max if a > b || a.is_nan() => a,
        _ => b,
    }
}
