//! Values that are quantized and dequantized, but used as floats.

use super::constants::{dtype, number, same_number};
use crate::rewrite::editor::Editor;
use hammock_ir::{
    DType, PrimExpr,
    relax::{Call, Constant, Definitions, Operand, Value},
};

/// Operators that compute new values.
const COMPUTING: &[&str] = &["add", "divide", "maximum", "minimum", "multiply", "subtract"];

/// Rewrites an operator on values that were quantized and dequantized for it alone to rounded values.
pub fn operands(e: &mut Editor, call: &Call) -> Option<Value> {
    if !COMPUTING.iter().any(|name| call.is_op(name)) {
        return None;
    }
    let mut changed = call.clone();
    let mut any = false;
    for operand in &mut changed.args {
        if let Some(rounded) = round_operand(e, operand) {
            *operand = rounded;
            any = true;
        }
    }
    any.then_some(Value::Call(changed))
}

/// Rewrites `dequantize(quantize(x, s, z), t, z)` to `round(clip(x / s, min - z, max - z)) * t`.
fn round_operand(e: &mut Editor, operand: &Operand) -> Option<Operand> {
    let dequantize = e.op(operand, "dequantize")?.clone();
    let [numbers, by, zero] = dequantize.operands()?;
    let quantize = e.op(numbers, "quantize")?.clone();
    let [x, unit, own_zero] = quantize.operands()?;
    let float = |operand: &Operand| e.tensor(operand).is_some_and(|ty| ty.dtype == Some(DType::FLOAT32));
    let floats = [operand, by, x, unit].into_iter().all(float);
    let unit = number(e, unit).filter(|unit| *unit == 1.0);
    let (min, max) = bounds(dtype(&quantize, "out_dtype")?)?;
    if e.is_shared(operand) || e.is_shared(numbers) || !floats || unit.is_none() || !same_number(e, zero, own_zero) {
        return None;
    }
    let (zero, by) = (number(e, zero).filter(|zero| (min..=max).contains(zero))?, number(e, by)?);
    let bound = |v: f64| Operand::Prim(PrimExpr::float(v - zero, DType::FLOAT32));
    let inside = e.emit("clip", [x.clone(), bound(min), bound(max)], [])?;
    let whole = e.emit("round", [inside], [])?;
    e.emit("multiply", [whole, Operand::Const(Constant::float(by, DType::FLOAT32)?)], [])
}

/// Removes `nn.relu` before `quantize` if the zero point is the dtype's minimum: `quantize` clamps negative values
/// anyway.
pub fn remove_relu(e: &mut Editor, quantize: &Call) -> Option<Value> {
    let [x, scale, zero] = quantize.operands()?;
    let (min, _) = bounds(dtype(quantize, "out_dtype")?)?;
    let [unclamped] = e.op(x, "nn.relu")?.operands()?;
    let bounds = number(e, zero)? == min && number(e, scale)? > 0.0;
    bounds.then(|| Value::Call(Call { args: vec![unclamped.clone(), scale.clone(), zero.clone()], ..quantize.clone() }))
}

/// Returns the minimum and maximum of int8 or uint8.
fn bounds(dtype: DType) -> Option<(f64, f64)> {
    match dtype {
        DType::INT8 => Some((-128.0, 127.0)),
        DType::UINT8 => Some((0.0, 255.0)),
        _ => None,
    }
}
