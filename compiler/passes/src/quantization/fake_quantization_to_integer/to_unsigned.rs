//! Conversion of int8 quantization to uint8.
//!
//! `dequantize(quantize(x, s, z), s, z)` is the same with numbers and zero point shifted by 128. After `nn.relu`,
//! where the int8 zero point is the minimum, the uint8 zero point is 0: the zero-point terms vanish, and a
//! convolution pads with zeros.

use super::constants::{dtype, is_known, number};
use crate::rewrite::editor::Editor;
use hammock_ir::{
    DType, Tensor,
    relax::{Call, Constant, Definitions, Operand, Value},
};

/// Shift of numbers and zero point.
const SHIFT: f64 = 128.0;

/// Rewrites a `dequantize` of int8 with a known per-tensor zero point.
pub fn bytes(e: &mut Editor, value: &Value) -> Option<Value> {
    let Value::Call(call) = value else { return None };
    let [numbers, scale, zero] = call.operands().filter(|_| call.is_op("dequantize"))?;
    let quantize = e.op(numbers, "quantize")?.clone();
    let [x, own_scale, own_zero] = quantize.operands()?;
    let by = number(e, own_zero)?;
    if dtype(&quantize, "out_dtype") != Some(DType::INT8) || number(e, zero) != Some(by) || is_known(e, x) {
        return None;
    }
    let shape: Vec<i64> = e.tensor(zero)?.dims()?.iter().map(|_| 1).collect();
    let greater = Operand::Const(Constant::new(Tensor::from_slice(&shape, &[(by + SHIFT) as u8]).ok()?));
    let mut unsigned = Call { args: vec![x.clone(), own_scale.clone(), greater.clone()], ..quantize.clone() };
    unsigned.attrs.set("out_dtype", DType::UINT8);
    let numbers = e.bind(Value::Call(unsigned))?;
    Some(Value::Call(Call { args: vec![numbers, scale.clone(), greater], ..call.clone() }))
}
