//! Poolings, convolutions and reductions of 8-bit integers, and operators on integers alone.

use super::{
    super::{Op, Result},
    STANDARD_OPSET, op,
    quantize::{dequantized, quantized},
};
use crate::{
    node::{self, Node, axes_attr, product},
    value::{Outputs, Value},
};
use hammock_ir::{DType, relax::Operand};

pub const OPS: &[Op] = &[
    op("MatMulInteger16", matmul_integer16),
    op("MulInteger", multiply_integers),
    op("QLinearAveragePool", |n| with_layout(n, average_pool))
        .attributes("auto_pad ceil_mode channels_last count_include_pad kernel_shape pads strides"),
    op("QLinearConv", |n| with_layout(n, |n| n.import_as("QLinearConv", STANDARD_OPSET)))
        .attributes("auto_pad channels_last dilations group kernel_shape pads strides"),
    op("QLinearGlobalAveragePool", |n| with_layout(n, global_average_pool)).attributes("channels_last"),
    op("QLinearReduceMean", reduce_mean).attributes("axes keepdims"),
    op("QLinearSoftmax", softmax).attributes("axis opset"),
    op("QLinearWhere", select),
    op("ReduceSumInteger", reduce_sum).attributes("axes keepdims"),
];

fn with_layout(n: &mut Node, import: fn(&mut Node) -> Result) -> Result {
    if n.attrs.flag("channels_last")? { n.between_transposes(import) } else { import(n) }
}

/// Imports an operator of floats with the first input dequantized, and quantizes the result.
fn of_floats(n: &mut Node, standard: &str, opset: i64) -> Result {
    let x = n.value(0)?;
    let floats = dequantized(n, 0)?;
    n.inputs[0] = Some(Value::Operand(floats));
    let Outputs(results) = n.import_as(standard, opset)?;
    n.inputs[0] = Some(x);
    let Some(y) = results.into_iter().next() else { return n.error("it has no result") };
    let y = n.importer.build.operand(&y)?;
    quantized(n, y, 3, 0)
}

fn average_pool(n: &mut Node) -> Result {
    of_floats(n, "AveragePool", STANDARD_OPSET)
}

/// Sums integers, which is exact, and multiplies once.
fn global_average_pool(n: &mut Node) -> Result {
    let x = super::super::quantize::subtract_zero_point(n, 0, 2, 1)?;
    let sizes = n.dims(&x)?;
    let axes: Vec<usize> = (2..sizes.len()).collect();
    let over = [("axis", axes_attr(&axes)), ("keepdims", true.into())];
    let sums = n.call_with("sum", [x], &over)?;
    let sums = n.cast(sums, DType::FLOAT32)?;
    let scale = n.input(1)?;
    let sums = n.call("multiply", [sums, scale])?;
    let count = n.dims_vector(&[product(sizes.get(2..).unwrap_or(&[]))])?;
    let count = n.cast(count, DType::FLOAT32)?;
    let mean = n.call("divide", [sums, count])?;
    quantized(n, mean, 3, 0)
}

fn reduce_mean(n: &mut Node) -> Result {
    let x = dequantized(n, 0)?;
    let y = reduced(n, "mean", x)?;
    quantized(n, y, 3, 0)
}

fn reduce_sum(n: &mut Node) -> Result {
    let x = n.input(0)?;
    let wide = if n.dtype(&x)?.is_uint() { DType::UINT32 } else { DType::INT32 };
    let x = n.cast(x, wide)?;
    Ok(reduced(n, "sum", x)?.into())
}

/// Reduces the axes of an attribute, or all.
fn reduced(n: &mut Node, ours: &'static str, x: Operand) -> node::Result<Operand> {
    let rank = n.rank(&x)?;
    let axes = match n.attrs.ints("axes")?.filter(|axes| !axes.is_empty()) {
        Some(axes) => n.axes(&axes, rank)?,
        None => (0..rank).collect(),
    };
    let keep = n.attrs.int_or("keepdims", 1)? != 0;
    n.call_with(ours, [x], &[("axis", axes_attr(&axes)), ("keepdims", keep.into())])
}

/// The version of the standard operator is an attribute.
fn softmax(n: &mut Node) -> Result {
    let opset = n.attrs.int_or("opset", STANDARD_OPSET)?;
    of_floats(n, "Softmax", opset)
}

/// Inputs: the condition, both operands, each with scale and zero point, and those of the result.
fn select(n: &mut Node) -> Result {
    let condition = n.input(0)?;
    let (x, y) = (dequantized(n, 1)?, dequantized(n, 4)?);
    let z = n.call("where", [condition, x, y])?;
    quantized(n, z, 7, 1)
}

fn matmul_integer16(n: &mut Node) -> Result {
    let (a, b) = (n.input(0)?, n.input(1)?);
    let both_unsigned = n.dtype(&a)?.is_uint() && n.dtype(&b)?.is_uint();
    let wide = if both_unsigned { DType::UINT32 } else { DType::INT32 };
    let (a, b) = (n.cast(a, wide)?, n.cast(b, wide)?);
    Ok(n.call("matmul", [a, b])?.into())
}

/// Inputs: each operand with its zero point.
fn multiply_integers(n: &mut Node) -> Result {
    let shifted = |n: &mut Node, at: usize| -> node::Result<Operand> {
        let x = n.input(at)?;
        let x = n.cast(x, DType::INT32)?;
        let Some(zero) = n.optional(at + 1)? else { return Ok(x) };
        let zero = n.cast(zero, DType::INT32)?;
        n.call("subtract", [x, zero])
    };
    let (a, b) = (shifted(n, 0)?, shifted(n, 2)?);
    Ok(n.call("multiply", [a, b])?.into())
}
