//! FakeQuantizationToInteger: rewrites QDQ patterns to integer arithmetic.
//!
//! Quantized models have `dequantize` before each operator and `quantize` after it. This pass rewrites, until nothing
//! applies:
//!
//! - matmuls and convolutions of dequantized int8 or uint8 (or of these minus a zero point, as integers): integer
//!   contractions in int32, minus the zero-point terms, times both scales ([`contractions`]);
//! - operators that only move or select elements: `dequantize` moves after them, `quantize` before a `concat`
//!   ([`data_movement`]);
//! - `quantize` by a known scale: the scale is folded into constants of its input ([`fold_scales`]);
//! - `quantize` after `dequantize` with the same scale and zero point: removed;
//! - `dequantize(quantize(x))` before other operators: rounding in floating point ([`float_rounding`]).
//!
//! Before that, activations quantized to int8 become uint8 ([`to_unsigned`]), which dot-product instructions multiply
//! by signed weights directly.
//!
//! Integer sums are exact, so a result differs from floating point by no more than the latter's rounding. Unsupported
//! patterns stay in floating point. FoldConstant computes the constants in the new expressions, so it comes after
//! this pass; before it, it would dequantize constant weights.

mod constants;
mod contractions;
mod data_movement;
mod float_rounding;
mod fold_scales;
mod quantized;
mod to_unsigned;

use crate::{
    Context, Pass,
    rewrite::editor::{self, Editor},
};
use constants::same_number;
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Module,
    relax::{Call, Definitions, Value},
};

/// See the module's documentation.
pub static PASS: Pass =
    Pass { name: "FakeQuantizationToInteger", doc: "Rewrites QDQ patterns to integer arithmetic", options: &[], run };

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    editor::apply(module, |_, function| (!editor::is_primitive(function)).then_some(to_unsigned::bytes))?;
    editor::apply(module, |_, function| (!editor::is_primitive(function)).then_some(rule))
}

fn rule(e: &mut Editor, value: &Value) -> Option<Value> {
    let Value::Call(call) = value else { return data_movement::member(e, value) };
    if call.is_op("quantize") {
        let shorter = cancel(e, call).or_else(|| float_rounding::remove_relu(e, call));
        return shorter
            .or_else(|| data_movement::quantized_parts(e, call))
            .or_else(|| fold_scales::fold_scale(e, call));
    }
    let integer = contractions::integer(e, call).or_else(|| data_movement::after(e, call));
    integer.or_else(|| float_rounding::operands(e, call))
}

/// Returns the quantized input, if `quantize` undoes a `dequantize` with the same parameters.
fn cancel(e: &Editor, quantize: &Call) -> Option<Value> {
    let [x, scale, zero] = quantize.operands()?;
    let [numbers, own_scale, own_zero] = e.op(x, "dequantize")?.operands()?;
    let same = same_number(e, scale, own_scale) && same_number(e, zero, own_zero);
    let dtype = |operand| e.tensor(operand)?.dtype;
    let byte = dtype(numbers).filter(|dtype| dtype.is_integer() && dtype.bits == 8);
    let is_it = same && byte.is_some() && constants::dtype(quantize, "out_dtype") == byte && e.may_share(numbers);
    is_it.then(|| Value::Operand(numbers.clone()))
}
