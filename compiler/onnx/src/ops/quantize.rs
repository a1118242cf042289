//! Quantization: `QuantizeLinear`, `DequantizeLinear`, and operators on 8-bit integers.

use super::{Op, Result, conv::append_conv, op};
use crate::{
    node::{self, Node},
    value::Value,
};
use hammock_ir::{
    DType, PrimExpr, Tensor,
    relax::{Constant, InferError, Operand},
};
use hammock_ops::{legalize::accumulator, packed_weights::QuantizedMatrix};

pub const OPS: &[Op] = &[
    op("ConvInteger", conv_integer).attributes("auto_pad dilations group kernel_shape pads strides"),
    op("DequantizeLinear", dequantize).handles_sub_byte().attributes("axis@13 block_size@21 output_dtype@23"),
    op("DynamicQuantizeLinear", dynamic_quantize),
    op("MatMulInteger", matmul_integer),
    op("QLinearConv", quantized_conv).attributes("auto_pad dilations group kernel_shape pads strides"),
    op("QLinearMatMul", quantized_matmul),
    op("QuantizeLinear", quantize)
        .handles_sub_byte()
        .attributes("axis@13 block_size@21 output_dtype@21 precision@23 saturate@19"),
];

/// Reshapes a scale or zero point with one element to a scalar; others are unchanged.
pub(super) fn scalar_if_single(n: &mut Node, x: Operand) -> node::Result<Operand> {
    let one = n.dims(&x)?.iter().all(|size| hammock_ops::dims::is(size, 1));
    if one { n.reshape(x, Vec::new()) } else { Ok(x) }
}

/// Returns scale and zero point from the inputs after the data; the zero point defaults to zero.
fn scale_and_zero(n: &mut Node, dtype: DType) -> node::Result<(Operand, Operand)> {
    let scale = n.input(1)?;
    let scale = scalar_if_single(n, scale)?;
    let zero = match n.optional(2)? {
        Some(zero) => scalar_if_single(n, zero)?,
        None => node::scalar(0.0, if dtype.is_integer() { dtype } else { DType::FLOAT32 })?,
    };
    Ok((scale, zero))
}

pub(super) fn quantize(n: &mut Node) -> Result {
    let x = n.input(0)?;
    let to = match (n.optional(2)?, n.attrs.int_or("output_dtype", 0)?) {
        (Some(zero), _) => match n.value(2)?.narrow() {
            Some(element) => element,
            None => n.element_type_of(&zero)?,
        },
        (None, 0) => n.element_type(2)?,
        (None, number) => n.element_type(number)?,
    };
    let (scale, zero) = scale_and_zero(n, to.held)?;
    let blocks = n.attrs.int_or("block_size", 0)?;
    // Narrow floats are rounded by `cast_elements`, which implements `saturate`.
    if blocks == 0 && to.held.is_integer() {
        let axis = n.attrs.int_or("axis", 1)?;
        let axis = if n.rank(&scale)? == 0 { -1 } else { n.axis(axis, n.rank(&x)?)? as i64 };
        let attrs = [("axis", axis.into()), ("out_dtype", to.held.into())];
        let y = n.call_with("quantize", [x, scale, zero], &attrs)?;
        let y = if to.is_narrow() { n.clamp_to_dtype(y, to.stored)? } else { y };
        return Ok(Value::of(y, to).into());
    }
    let (scale, zero) = (broadcast_blocks(n, scale, &x)?, broadcast_blocks(n, zero, &x)?);
    let wide = accumulator(n.dtype(&x)?);
    let (x, scale) = (n.cast(x, wide)?, n.cast(scale, wide)?);
    let y = n.call("divide", [x, scale])?;
    let y = n.cast(y, DType::FLOAT32)?;
    let y = if to.stored.is_floating() { y } else { n.call("round", [y])? };
    let zero = n.cast(zero, DType::FLOAT32)?;
    let y = n.call("add", [y, zero])?;
    let y = if to.stored.is_floating() { y } else { n.clamp_to_dtype(y, to.stored)? };
    Ok(Value::of(n.cast_elements(y, to)?, to).into())
}

pub(super) fn dequantize(n: &mut Node) -> Result {
    let x = n.input(0)?;
    let (scale, zero) = scale_and_zero(n, n.dtype(&x)?)?;
    let dtype = match n.attrs.int_or("output_dtype", 0)? {
        0 => n.dtype(&scale)?,
        number => n.dtype_from_code(number)?,
    };
    if n.attrs.int_or("block_size", 0)? == 0 {
        let axis = n.attrs.int_or("axis", 1)?;
        let axis = if n.rank(&scale)? == 0 { -1 } else { n.axis(axis, n.rank(&x)?)? as i64 };
        return Ok(n
            .call_with("dequantize", [x, scale, zero], &[("axis", axis.into()), ("out_dtype", dtype.into())])?
            .into());
    }
    if let Some(matrix) = constant_blocks(n, dtype)? {
        return Ok(matrix.into());
    }
    let (scale, zero) = (broadcast_blocks(n, scale, &x)?, broadcast_blocks(n, zero, &x)?);
    let exact = if n.dtype(&x)?.is_integer() { DType::INT32 } else { DType::FLOAT32 };
    let (x, zero) = (n.cast(x, exact)?, n.cast(zero, exact)?);
    let difference = n.call("subtract", [x, zero])?;
    let (difference, scale) = (n.cast(difference, DType::FLOAT32)?, n.cast(scale, DType::FLOAT32)?);
    let y = n.call("multiply", [difference, scale])?;
    Ok(n.cast(y, dtype)?.into())
}

/// Returns a constant matrix with blocks of rows, which a kernel dequantizes in the matmuls that read it; `None` for other
/// data.
fn constant_blocks(n: &mut Node, dtype: DType) -> node::Result<Option<Operand>> {
    let axis = n.attrs.int_or("axis", 1)?;
    let (Some(numbers), Some(scales), zeros) = (n.constant(0)?, n.constant(1)?, n.constant(2)?) else {
        return Ok(None);
    };
    if (zeros.is_none() && n.given(2).is_some()) || numbers.shape().len() != 2 || n.axis(axis, 2)? != 0 {
        return Ok(None);
    }
    let is_zero = |zeros: &Tensor| zeros.as_bytes().is_ok_and(|bytes| bytes.iter().all(|zero| *zero == 0));
    let zeros = zeros.filter(|zeros| !is_zero(zeros));
    let matrix = QuantizedMatrix { numbers, scales, zeros, group: n.attrs.int_or("block_size", 0)? };
    let packed = matrix.packed(dtype).map_err(|error| InferError::new(error.to_string()))?;
    let Some((format, inputs)) = packed else { return Ok(None) };
    let inputs = inputs.into_iter().map(|tensor| Operand::Const(Constant::new(tensor))).collect();
    n.importer.build.call_kernel("dequantize_weights", format.kernel(), inputs, format.ty()).map(Some)
}

/// Broadcasts scales or zero points: per tensor, per axis, or per block of an axis.
fn broadcast_blocks(n: &mut Node, scale: Operand, x: &Operand) -> node::Result<Operand> {
    let (sizes, block) = (n.dims(x)?, n.attrs.int_or("block_size", 0)?);
    if n.rank(&scale)? == 0 {
        return Ok(scale);
    }
    let axis = n.axis(n.attrs.int_or("axis", 1)?, sizes.len())?;
    if block == 0 {
        return broadcast_along(n, scale, x, axis);
    }
    if block < 0 || n.rank(&scale)? != sizes.len() {
        return n.error("its `block_size` does not fit its scales");
    }
    let scale = n.call_with("repeat", [scale], &[("repeats", block.into()), ("axis", (axis as i64).into())])?;
    let prims = |e: PrimExpr| Operand::Tuple(vec![Operand::Prim(e)]);
    let bounds = [prims((axis as i64).into()), prims(0i64.into()), prims(sizes[axis].clone()), prims(1i64.into())];
    n.call("strided_slice", [&[scale][..], &bounds].concat())
}

fn dynamic_quantize(n: &mut Node) -> Result {
    let x = n.input(0)?;
    Ok(n.quantized_by_range(x)?.to_vec().into())
}

impl Node<'_, '_> {
    /// Quantizes floats to uint8, with scale and zero point from the data such that zero is representable; returns data,
    /// scale and zero point.
    pub(super) fn quantized_by_range(&mut self, x: Operand) -> node::Result<[Operand; 3]> {
        let [low, high] = self.range(&x)?;
        let (low, high) = (self.with_scalar("minimum", &low, 0.0)?, self.with_scalar("maximum", &high, 0.0)?);
        let span = self.call("subtract", [high, low.clone()])?;
        let scale = self.with_scalar("divide", &span, 255.0)?;
        let (zero, unit) = (self.scalar_like(0.0, &x)?, self.scalar_like(1.0 / 255.0, &x)?);
        let flat = self.call("equal", [span, zero.clone()])?;
        let scale = self.call("where", [flat, unit, scale])?;
        let zero_point = self.call("divide", [low, scale.clone()])?;
        let zero_point = self.call("negative", [zero_point])?;
        let zero_point = self.with_scalar("maximum", &zero_point, 0.0)?;
        let zero_point = self.with_scalar("minimum", &zero_point, 255.0)?;
        let zero_point = self.call("round", [zero_point])?;
        let zero_point = self.cast(zero_point, DType::UINT8)?;
        let attrs = [("axis", (-1i64).into()), ("out_dtype", DType::UINT8.into())];
        let y = self.call_with("quantize", [x, scale.clone(), zero_point.clone()], &attrs)?;
        Ok([y, scale, zero_point])
    }

    /// Returns the minimum and the maximum of a tensor: maxima of its elements with both signs, by one reduction, which
    /// reads them once.
    fn range(&mut self, x: &Operand) -> node::Result<[Operand; 2]> {
        let rank = self.rank(x)?;
        let signs = Tensor::from_slice(&[&[2], vec![1i64; rank].as_slice()].concat(), &[-1f32, 1.0]);
        let signs = signs.map_err(|error| InferError::new(error.to_string()))?;
        let signs = self.cast(Operand::Const(Constant::new(signs)), self.dtype(x)?)?;
        let mut maxima = self.call("multiply", [signs, x.clone()])?;
        if rank > 0 {
            maxima = self.call_with("max", [maxima], &[("axis", (1..=rank as i64).collect::<Vec<_>>().into())])?;
        }
        let mut of = |sign: f64| {
            let at = node::scalar(sign, DType::INT64)?;
            self.call_with("take", [maxima.clone(), at], &[("axis", 0i64.into())])
        };
        let (negated, high) = (of(0.0)?, of(1.0)?);
        Ok([self.call("negative", [negated])?, high])
    }
}

/// Subtracts the zero point, in int32. A vector of zero points is per index of `axis`.
pub(super) fn subtract_zero_point(n: &mut Node, data: usize, zero: usize, axis: usize) -> node::Result<Operand> {
    let x = n.input(data)?;
    let x = n.cast(x, DType::INT32)?;
    let Some(zero) = n.optional(zero)? else { return Ok(x) };
    let zero = n.cast(zero, DType::INT32)?;
    let zero = broadcast_along(n, zero, &x, axis)?;
    n.call("subtract", [x, zero])
}

/// Reshapes a vector with one element per index of an axis of `x` so that it broadcasts.
pub(super) fn broadcast_along(n: &mut Node, vector: Operand, x: &Operand, axis: usize) -> node::Result<Operand> {
    let vector = scalar_if_single(n, vector)?;
    let sizes = n.dims(&vector)?;
    let rank = n.rank(x)?;
    if sizes.len() != 1 {
        return Ok(vector);
    }
    if axis >= rank {
        return n.error(format!("its scale has {} elements for one value", node::shown_size(&sizes[0])));
    }
    let mut shape = vec![PrimExpr::int64(1); rank];
    shape[axis] = sizes[0].clone();
    n.reshape(vector, shape)
}

fn matmul_integer(n: &mut Node) -> Result {
    let rows = n.input(0)?;
    let axis = n.rank(&rows)?.saturating_sub(2);
    let columns = n.input(1)?;
    let last = n.rank(&columns)?.saturating_sub(1);
    let (a, b) = (subtract_zero_point(n, 0, 2, axis)?, subtract_zero_point(n, 1, 3, last)?);
    Ok(n.call_with("matmul", [a, b], &[("out_dtype", DType::INT32.into())])?.into())
}

fn quantized_matmul(n: &mut Node) -> Result {
    let (rows, columns) = (n.input(0)?, n.input(3)?);
    let (axis, last) = (n.rank(&rows)?.saturating_sub(2), n.rank(&columns)?.saturating_sub(1));
    let (a, b) = (subtract_zero_point(n, 0, 2, axis)?, subtract_zero_point(n, 3, 5, last)?);
    let y = n.call_with("matmul", [a, b], &[("out_dtype", DType::INT32.into())])?;
    let (a_scale, b_scale, y_scale) = (n.input(1)?, n.input(4)?, n.input(6)?);
    let rank = n.rank(&y)?;
    let a_scale = broadcast_along(n, a_scale, &y, rank.saturating_sub(2))?;
    let b_scale = broadcast_along(n, b_scale, &y, rank.saturating_sub(1))?;
    requantize(n, y, [a_scale, b_scale, y_scale], 7)
}

fn conv_integer(n: &mut Node) -> Result {
    let (x, weight) = (subtract_zero_point(n, 0, 2, 1)?, subtract_zero_point(n, 1, 3, 0)?);
    Ok(append_conv(n, x, weight, Some(DType::INT32))?.into())
}

fn quantized_conv(n: &mut Node) -> Result {
    let (x, weight) = (subtract_zero_point(n, 0, 2, 1)?, subtract_zero_point(n, 3, 5, 0)?);
    let y = append_conv(n, x, weight, Some(DType::INT32))?;
    let spatial = n.rank(&y)? - 2;
    let y = n.with_bias(y, 8, spatial)?;
    let (x_scale, w_scale, y_scale) = (n.input(1)?, n.input(4)?, n.input(6)?);
    let w_scale = broadcast_along(n, w_scale, &y, 1)?;
    requantize(n, y, [x_scale, w_scale, y_scale], 7)
}

/// Requantizes int32 accumulators to the scale and zero point of the result.
fn requantize(n: &mut Node, sums: Operand, [a, b, y]: [Operand; 3], zero: usize) -> Result {
    let zero = n.input(zero)?;
    let dtype = n.dtype(&zero)?;
    let (a, y) = (scalar_if_single(n, a)?, scalar_if_single(n, y)?);
    let (a, b, y) = (n.cast(a, DType::FLOAT32)?, n.cast(b, DType::FLOAT32)?, n.cast(y, DType::FLOAT32)?);
    let scale = n.call("multiply", [a, b])?;
    let scale = n.call("divide", [scale, y])?;
    let sums = n.cast(sums, DType::FLOAT32)?;
    let real = n.call("multiply", [sums, scale])?;
    let zero = scalar_if_single(n, zero)?;
    let one = node::scalar(1.0, DType::FLOAT32)?;
    let attrs = [("axis", (-1i64).into()), ("out_dtype", dtype.into())];
    Ok(n.call_with("quantize", [real, one, zero], &attrs)?.into())
}
