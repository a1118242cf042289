//! FakeQuantizationToInteger: what is computed with dequantized numbers is computed with the integers that they stand for.
//!
//! Quantized models are written with `dequantize` before each operator and `quantize` behind it. This pass rewrites, until
//! nothing applies:
//!
//! - products and convolutions of dequantized bytes (or of bytes less a zero point, as integers): sums of products of bytes
//!   in int32, less what the zero points add, times both scales ([`contractions`]);
//! - operators that only move elements or choose among them: `dequantize` comes after them, `quantize` before a `concat`
//!   ([`data_movement`]);
//! - `quantize` by a known scale: what is quantized is computed in units of that scale, where constants take it in
//!   ([`fold_scales`]);
//! - `quantize` of what was dequantized with the same scale and zero point: nothing;
//! - numbers that are quantized only to be computed with: they are rounded in floating point ([`float_rounding`]).
//!
//! Before that, numbers that are quantized as signed bytes become unsigned ones ([`to_unsigned`]), which processors multiply with
//! signed weights as they are.
//!
//! Integer sums are exact, so a result differs from that in floating point by no more than the latter rounds. What does not
//! fit stays in floating point. FoldConstant computes what is known of the new expressions, so it comes after this pass: it
//! would also make floats of constant weights.

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
pub static PASS: Pass = Pass {
    name: "FakeQuantizationToInteger",
    doc: "Computes with integers what is written with dequantized numbers",
    options: &[],
    run,
};

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    editor::apply(module, |_, function| (!editor::is_primitive(function)).then_some(to_unsigned::bytes))?;
    editor::apply(module, |_, function| (!editor::is_primitive(function)).then_some(rule))
}

fn rule(e: &mut Editor, value: &Value) -> Option<Value> {
    let Value::Call(call) = value else { return data_movement::member(e, value) };
    if call.is_op("quantize") {
        let shorter = undone(e, call).or_else(|| float_rounding::bounded(e, call));
        return shorter.or_else(|| data_movement::quantized_parts(e, call)).or_else(|| fold_scales::absorbed(e, call));
    }
    let integer = contractions::integer(e, call).or_else(|| data_movement::after(e, call));
    integer.or_else(|| float_rounding::operands(e, call))
}

/// `quantize` of numbers that were dequantized in the same way: these.
fn undone(e: &Editor, quantize: &Call) -> Option<Value> {
    let [x, scale, zero] = quantize.operands()?;
    let [numbers, own_scale, own_zero] = e.op(x, "dequantize")?.operands()?;
    let same = same_number(e, scale, own_scale) && same_number(e, zero, own_zero);
    let dtype = |operand| e.tensor(operand)?.dtype;
    let byte = dtype(numbers).filter(|dtype| dtype.is_integer() && dtype.bits == 8);
    let is_it = same && byte.is_some() && constants::dtype(quantize, "out_dtype") == byte && e.may_share(numbers);
    is_it.then(|| Value::Operand(numbers.clone()))
}
