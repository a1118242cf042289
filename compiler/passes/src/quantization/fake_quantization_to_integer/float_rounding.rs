//! Numbers that are quantized, but not kept as integers.

use super::constants::{dtype, number, same_number};
use crate::rewrite::editor::Editor;
use hammock_ir::{
    DType, PrimExpr,
    relax::{Call, Constant, Definitions, Operand, Value},
};

/// Operators that compute with numbers, not only move them.
const COMPUTE: &[&str] = &["add", "divide", "maximum", "minimum", "multiply", "subtract"];

/// An operator on numbers that were quantized and dequantized for it alone as one on rounded numbers.
pub fn operands(e: &mut Editor, call: &Call) -> Option<Value> {
    if !COMPUTE.iter().any(|name| call.is_op(name)) {
        return None;
    }
    let mut changed = call.clone();
    let mut any = false;
    for operand in &mut changed.args {
        if let Some(rounded) = rounded(e, operand) {
            *operand = rounded;
            any = true;
        }
    }
    any.then_some(Value::Call(changed))
}

/// `dequantize(quantize(x, s, z), t, z)` is `round(clip(x / s, least - z, most - z)) * t`.
fn rounded(e: &mut Editor, operand: &Operand) -> Option<Operand> {
    let dequantize = e.op(operand, "dequantize")?.clone();
    let [numbers, by, zero] = dequantize.operands()?;
    let quantize = e.op(numbers, "quantize")?.clone();
    let [x, unit, own_zero] = quantize.operands()?;
    let float = |operand: &Operand| e.tensor(operand).is_some_and(|ty| ty.dtype == Some(DType::FLOAT32));
    let floats = [operand, by, x, unit].into_iter().all(float);
    let unit = number(e, unit).filter(|unit| *unit == 1.0);
    let (least, most) = bounds(dtype(&quantize, "out_dtype")?)?;
    if e.is_shared(operand) || e.is_shared(numbers) || !floats || unit.is_none() || !same_number(e, zero, own_zero) {
        return None;
    }
    let (zero, by) = (number(e, zero).filter(|zero| (least..=most).contains(zero))?, number(e, by)?);
    let bound = |v: f64| Operand::Prim(PrimExpr::float(v - zero, DType::FLOAT32));
    let inside = e.emit("clip", [x.clone(), bound(least), bound(most)], [])?;
    let whole = e.emit("round", [inside], [])?;
    e.emit("multiply", [whole, Operand::Const(Constant::float(by, DType::FLOAT32)?)], [])
}

/// `quantize` around the least number that a byte holds is never less than zero: what it quantizes need not be bounded.
pub fn bounded(e: &mut Editor, quantize: &Call) -> Option<Value> {
    let [x, scale, zero] = quantize.operands()?;
    let (least, _) = bounds(dtype(quantize, "out_dtype")?)?;
    let [free] = e.op(x, "nn.relu")?.operands()?;
    let bounds = number(e, zero)? == least && number(e, scale)? > 0.0;
    bounds.then(|| Value::Call(Call { args: vec![free.clone(), scale.clone(), zero.clone()], ..quantize.clone() }))
}

/// The least and the greatest number of bytes.
fn bounds(dtype: DType) -> Option<(f64, f64)> {
    match dtype {
        DType::INT8 => Some((-128.0, 127.0)),
        DType::UINT8 => Some((0.0, 255.0)),
        _ => None,
    }
}
