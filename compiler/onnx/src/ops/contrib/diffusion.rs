//! Operators of image generation: group normalization, and sums and products fused with activations.

use super::{
    super::{Op, Result},
    channels_last::channels_second,
    op,
};
use crate::node::{self, Node, product};
use hammock_ir::{PrimExpr, relax::Operand};
use hammock_ops::dims;

pub const OPS: &[Op] = &[
    op("BiasAdd", bias_add),
    op("BiasSoftmax", bias_softmax).attributes("axis is_inner_broadcast"),
    op("BiasSplitGelu", bias_split_gelu),
    op("CDist", distances).attributes("metric"),
    op("ComplexMul", |n| complex_multiply(n, 1.0)),
    op("ComplexMulConj", |n| complex_multiply(n, -1.0)),
    op("GemmFastGelu", gemm_gelu),
    op("GroupNorm", group_norm).attributes("activation channels_last epsilon groups"),
    op("SkipGroupNorm", skip_group_norm).attributes("activation channels_last epsilon groups"),
];

/// `x + bias + residual`
fn bias_add(n: &mut Node) -> Result {
    let (x, bias, residual) = (n.input(0)?, n.input(1)?, n.input(2)?);
    let sum = n.call("add", [x, bias])?;
    Ok(n.call("add", [sum, residual])?.into())
}

/// Softmax of a sum, over an axis and all after it.
fn bias_softmax(n: &mut Node) -> Result {
    let (x, bias) = (n.input(0)?, n.input(1)?);
    let sizes = n.dims(&x)?;
    let axis = n.axis(n.attrs.int_or("axis", 1)?, sizes.len())?;
    let sum = n.call("add", [x, bias])?;
    let flat = n.reshape(sum, vec![product(&sizes[..axis]), product(&sizes[axis..])])?;
    let soft = n.call_with("nn.softmax", [flat], &[("axis", (-1i64).into())])?;
    Ok(n.reshape(soft, sizes)?.into())
}

/// The first half of `x + bias`, times the GELU of the second.
fn bias_split_gelu(n: &mut Node) -> Result {
    let (x, bias) = (n.input(0)?, n.input(1)?);
    let sum = n.call("add", [x, bias])?;
    let sizes = n.dims(&sum)?;
    let Some(whole) = sizes.last() else { return n.error("its input has no dimensions") };
    let half = dims::floordiv(whole, &2i64.into());
    let last = sizes.len() - 1;
    let left = n.slice_axis(sum.clone(), last, 0i64.into(), half.clone())?;
    let right = n.slice_axis(sum, last, half, whole.clone())?;
    let gate = n.call("nn.gelu", [right])?;
    Ok(n.call("multiply", [left, gate])?.into())
}

/// Distances of the rows of two matrices.
fn distances(n: &mut Node) -> Result {
    let (a, b) = (n.input(0)?, n.input(1)?);
    let (a, b) = (
        n.call_with("expand_dims", [a], &[("axis", vec![1i64].into())])?,
        n.call_with("expand_dims", [b], &[("axis", vec![0i64].into())])?,
    );
    let difference = n.call("subtract", [a, b])?;
    let squares = n.call("multiply", [difference.clone(), difference])?;
    let sums = n.call_with("sum", [squares], &[("axis", vec![-1i64].into())])?;
    match n.attrs.str_or("metric", "sqeuclidean")? {
        "sqeuclidean" => Ok(sums.into()),
        "euclidean" => Ok(n.call("sqrt", [sums])?.into()),
        other => n.error(format!("its metric `{other}` is not supported: only `euclidean` and `sqeuclidean` are")),
    }
}

/// Multiplies complex numbers, whose parts are the last axis; the second one is conjugated if `sign` is -1.
fn complex_multiply(n: &mut Node, sign: f64) -> Result {
    let (a, b) = (n.input(0)?, n.input(1)?);
    let part = |n: &mut Node, x: &Operand, at: i64| -> node::Result<Operand> {
        let at = node::scalar(at as f64, hammock_ir::DType::INT64)?;
        n.call_with("take", [x.clone(), at], &[("axis", (-1i64).into())])
    };
    for x in [&a, &b] {
        if n.dims(x)?.last().is_none_or(|size| !dims::is(size, 2)) {
            return n.error("the last axis of its operands has to have 2 elements");
        }
    }
    let (a_real, a_imaginary, b_real) = (part(n, &a, 0)?, part(n, &a, 1)?, part(n, &b, 0)?);
    let b_imaginary = part(n, &b, 1)?;
    let b_imaginary = n.with_scalar("multiply", &b_imaginary, sign)?;
    let multiply = |n: &mut Node, x: &Operand, y: &Operand| n.call("multiply", [x.clone(), y.clone()]);
    let (rr, ii) = (multiply(n, &a_real, &b_real)?, multiply(n, &a_imaginary, &b_imaginary)?);
    let (ri, ir) = (multiply(n, &a_real, &b_imaginary)?, multiply(n, &a_imaginary, &b_real)?);
    let parts = vec![n.call("subtract", [rr, ii])?, n.call("add", [ri, ir])?];
    Ok(n.call_with("stack", [Operand::Tuple(parts)], &[("axis", (-1i64).into())])?.into())
}

/// `gelu(x @ weights + bias)`, approximated by the hyperbolic tangent.
fn gemm_gelu(n: &mut Node) -> Result {
    let (x, weights) = (n.input(0)?, n.input(1)?);
    let mut y = n.call("matmul", [x, weights])?;
    if let Some(bias) = n.optional(2)? {
        y = n.call("add", [y, bias])?;
    }
    Ok(n.call("nn.gelu_tanh", [y])?.into())
}

fn group_norm(n: &mut Node) -> Result {
    let x = n.input(0)?;
    Ok(normalize_groups(n, x)?.into())
}

/// Inputs: data, scale, shift, a residual, and a bias. Results: the normalized sum, and the sum.
fn skip_group_norm(n: &mut Node) -> Result {
    let (x, mut residual) = (n.input(0)?, n.input(3)?);
    let is_last = n.attrs.int_or("channels_last", 1)? != 0;
    let per_channel = |n: &mut Node, x: Operand, batch: PrimExpr, channels: PrimExpr| {
        let one = PrimExpr::int64(1);
        let spatial = [one.clone(), one];
        let shape = if is_last {
            [vec![batch], spatial.into(), vec![channels]]
        } else {
            [vec![batch], vec![channels], spatial.into()]
        };
        n.reshape(x, shape.concat())
    };
    let sizes = n.dims(&residual)?;
    if let [batch, channels] = sizes.as_slice() {
        residual = per_channel(n, residual, batch.clone(), channels.clone())?;
    }
    let mut sum = n.call("add", [x, residual])?;
    if let Some(bias) = n.optional(4)? {
        let channels = product(&n.dims(&bias)?);
        let bias = per_channel(n, bias, 1i64.into(), channels)?;
        sum = n.call("add", [sum, bias])?;
    }
    Ok(vec![normalize_groups(n, sum.clone())?, sum].into())
}

/// Normalizes groups of channels, in float32, and applies the activation.
fn normalize_groups(n: &mut Node, x: Operand) -> node::Result<Operand> {
    let Some(groups) = n.attrs.int("groups")? else { return n.error("its `groups` are missing") };
    let (dtype, is_last) = (n.dtype(&x)?, n.attrs.int_or("channels_last", 1)? != 0);
    let x = if is_last { channels_second(n, x)? } else { x };
    let rank = n.rank(&x)?;
    let wide = hammock_ops::legalize::accumulator(dtype);
    let (x, scale, shift) = (n.cast(x, wide)?, n.input(1)?, n.input(2)?);
    let (scale, shift) = (n.cast(scale, wide)?, n.cast(shift, wide)?);
    let attrs = [
        ("num_groups", groups.into()),
        ("channel_axis", 1i64.into()),
        ("axes", (2..rank as i64).collect::<Vec<_>>().into()),
        ("epsilon", n.attrs.float_or("epsilon", 1e-5)?.into()),
    ];
    let y = n.call_with("nn.group_norm", [x, scale, shift], &attrs)?;
    let y = match n.attrs.int_or("activation", 0)? {
        0 => y,
        1 => n.call("nn.silu", [y])?,
        other => return n.error(format!("its `activation` is {other}, which is not known")),
    };
    let y = n.cast(y, dtype)?;
    if !is_last {
        return Ok(y);
    }
    let mut axes: Vec<i64> = (0..rank as i64).collect();
    axes[1..].rotate_left(1);
    n.call_with("permute_dims", [y], &[("axes", axes.into())])
}
