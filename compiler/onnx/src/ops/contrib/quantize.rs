//! Operators on 8-bit integers with scales and zero points: those of floats, between a dequantization of each operand and a
//! quantization of the result.

use super::{
    super::{
        Op, Result,
        quantize::{broadcast_along, dequantize, quantize, scalar_if_single, subtract_zero_point},
    },
    STANDARD_OPSET, op,
};
use crate::node::{self, Node};
use hammock_ir::{DType, relax::Operand};

pub const OPS: &[Op] = &[
    op("DequantizeLinear", |n| as_standard(n, dequantize)).handles_sub_byte().attributes("axis"),
    op("DynamicQuantizeMatMul", dynamic_matmul),
    op("MatMulIntegerToFloat", matmul_to_float),
    op("QGemm", gemm).attributes("alpha transA transB"),
    op("QLinearAdd", |n| binary(n, "add")),
    op("QLinearConcat", concat).attributes("axis"),
    op("QLinearLeakyRelu", |n| unary(n, leaky_relu)).attributes("alpha"),
    op("QLinearMul", |n| binary(n, "multiply")),
    op("QLinearSigmoid", |n| unary(n, |n, x| n.call("sigmoid", [x]))),
    op("QuantizeLinear", |n| as_standard(n, quantize)).handles_sub_byte().attributes("axis"),
];

/// Imports an operator that the standard domain has as well.
fn as_standard(n: &mut Node, import: fn(&mut Node) -> Result) -> Result {
    n.opset = STANDARD_OPSET;
    import(n)
}

/// Dequantizes the data at an input, with the scale and the zero point behind it.
pub(super) fn dequantized(n: &mut Node, at: usize) -> node::Result<Operand> {
    let (x, scale) = (n.input(at)?, n.input(at + 1)?);
    let scale = scalar_if_single(n, scale)?;
    let zero = match n.optional(at + 2)? {
        Some(zero) => scalar_if_single(n, zero)?,
        None => n.scalar_like(0.0, &x)?,
    };
    n.call_with("dequantize", [x, scale, zero], &[("axis", (-1i64).into()), ("out_dtype", DType::FLOAT32.into())])
}

/// Quantizes a result, with the scale and the zero point at an input, to the dtype of an operand.
pub(super) fn quantized(n: &mut Node, y: Operand, at: usize, like: usize) -> Result {
    let scale = n.input(at)?;
    let scale = scalar_if_single(n, scale)?;
    let like = n.input(like)?;
    let zero = match n.optional(at + 1)? {
        Some(zero) => scalar_if_single(n, zero)?,
        None => n.scalar_like(0.0, &like)?,
    };
    let attrs = [("axis", (-1i64).into()), ("out_dtype", n.dtype(&zero)?.into())];
    Ok(n.call_with("quantize", [y, scale, zero], &attrs)?.into())
}

fn binary(n: &mut Node, ours: &'static str) -> Result {
    let (a, b) = (dequantized(n, 0)?, dequantized(n, 3)?);
    let y = n.call(ours, [a, b])?;
    quantized(n, y, 6, 0)
}

fn unary(n: &mut Node, ours: fn(&mut Node, Operand) -> node::Result<Operand>) -> Result {
    let x = dequantized(n, 0)?;
    let y = ours(n, x)?;
    quantized(n, y, 3, 0)
}

fn leaky_relu(n: &mut Node, x: Operand) -> node::Result<Operand> {
    let alpha = n.attrs.float_or("alpha", 0.01)?;
    n.call_with("nn.leakyrelu", [x], &[("alpha", alpha.into())])
}

/// The first inputs are scale and zero point of the result, each three after them an operand.
fn concat(n: &mut Node) -> Result {
    let Some(axis) = n.attrs.int("axis")? else { return n.error("its `axis` is missing") };
    let parts = (2..n.inputs.len()).step_by(3).map(|at| dequantized(n, at)).collect::<node::Result<Vec<_>>>()?;
    let y = n.call_with("concat", [Operand::Tuple(parts)], &[("axis", axis.into())])?;
    quantized(n, y, 0, 2)
}

/// `alpha * a @ b + c`, where the scale of `c` is `alpha * a_scale * b_scale`; of floats if the result has no scale.
fn gemm(n: &mut Node) -> Result {
    let is_transposed = n.attrs.flag("transB")?;
    let mut a = subtract_zero_point(n, 0, 2, 0)?;
    let mut b = subtract_zero_point(n, 3, 5, usize::from(!is_transposed))?;
    if n.attrs.flag("transA")? {
        a = n.call("permute_dims", [a])?;
    }
    if is_transposed {
        b = n.call("permute_dims", [b])?;
    }
    let mut sums = n.call_with("matmul", [a, b], &[("out_dtype", DType::INT32.into())])?;
    if let Some(c) = n.optional(6)? {
        sums = n.call("add", [sums, c])?;
    }
    let y = scaled(n, sums, (1, 4))?;
    let alpha = n.attrs.float_or("alpha", 1.0)?;
    let y = if alpha == 1.0 { y } else { n.with_scalar("multiply", &y, alpha)? };
    if n.given(7).is_some() { quantized(n, y, 7, 0) } else { Ok(y.into()) }
}

/// Multiplies sums by the scales of both operands; that of the second one can be a vector, for the columns.
fn scaled(n: &mut Node, sums: Operand, (a, b): (usize, usize)) -> node::Result<Operand> {
    let last = n.rank(&sums)?.saturating_sub(1);
    let (a, b) = (n.input(a)?, n.input(b)?);
    let (a, b) = (scalar_if_single(n, a)?, broadcast_along(n, b, &sums, last)?);
    let scale = n.call("multiply", [a, b])?;
    let sums = n.cast(sums, n.dtype(&scale)?)?;
    n.call("multiply", [sums, scale])
}

/// The projection of `QAttention`. Inputs: data, weights, bias, the scales of both, a mask, and the zero points of both.
pub(super) fn quantized_projection(n: &mut Node) -> node::Result<Operand> {
    let x = n.input(0)?;
    let row_axis = n.rank(&x)?.saturating_sub(2);
    let (a, b) = (subtract_zero_point(n, 0, 6, row_axis)?, subtract_zero_point(n, 1, 7, 1)?);
    let sums = n.call_with("matmul", [a, b], &[("out_dtype", DType::INT32.into())])?;
    let (y, bias) = (scaled(n, sums, (3, 4))?, n.input(2)?);
    n.call("add", [y, bias])
}

/// Inputs: both operands, their scales, zero points, and a bias of floats.
fn matmul_to_float(n: &mut Node) -> Result {
    let (rows, columns) = (n.input(0)?, n.input(1)?);
    let (row_axis, last) = (n.rank(&rows)?.saturating_sub(2), n.rank(&columns)?.saturating_sub(1));
    let (a, b) = (subtract_zero_point(n, 0, 4, row_axis)?, subtract_zero_point(n, 1, 5, last)?);
    let sums = n.call_with("matmul", [a, b], &[("out_dtype", DType::INT32.into())])?;
    let y = scaled(n, sums, (2, 3))?;
    biased(n, y, 6)
}

/// Inputs: floats, the quantized matrix with its scale and zero point, and a bias. The floats are quantized by their range.
fn dynamic_matmul(n: &mut Node) -> Result {
    let x = n.input(0)?;
    let [x, x_scale, x_zero] = n.quantized_by_range(x)?;
    let (x, x_zero) = (n.cast(x, DType::INT32)?, n.cast(x_zero, DType::INT32)?);
    let a = n.call("subtract", [x, x_zero])?;
    let columns = n.input(1)?;
    let last = n.rank(&columns)?.saturating_sub(1);
    let b = subtract_zero_point(n, 1, 3, last)?;
    let sums = n.call_with("matmul", [a, b], &[("out_dtype", DType::INT32.into())])?;
    let last = n.rank(&sums)?.saturating_sub(1);
    let scale = n.input(2)?;
    let scale = broadcast_along(n, scale, &sums, last)?;
    let scale = n.call("multiply", [x_scale, scale])?;
    let sums = n.cast(sums, DType::FLOAT32)?;
    let y = n.call("multiply", [sums, scale])?;
    biased(n, y, 4)
}

fn biased(n: &mut Node, y: Operand, at: usize) -> Result {
    Ok(match n.optional(at)? {
        Some(bias) => n.call("add", [y, bias])?,
        None => y,
    }
    .into())
}
