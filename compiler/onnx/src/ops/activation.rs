//! Activations.

use super::{Op, Result, op};
use crate::node::{Node, product};
use hammock_ir::{AttrValue, PrimExpr, relax::Operand};

pub const OPS: &[Op] = &[
    op("Celu", celu).attributes("alpha"),
    op("Elu", elu).attributes("alpha consumed_inputs@-5"),
    op("Gelu", gelu).attributes("approximate"),
    op("HardSigmoid", |n| hard_sigmoid(n, 0.2, 0.5)).attributes("alpha beta consumed_inputs@-5"),
    op("HardSwish", hard_swish),
    op("LeakyRelu", leaky_relu).attributes("alpha consumed_inputs@-5"),
    op("LogSoftmax", |n| softmax(n, "nn.log_softmax")).attributes("axis"),
    op("Mish", mish),
    op("PRelu", prelu).attributes("consumed_inputs@-5"),
    op("Relu", |n| plain(n, "nn.relu")).attributes("consumed_inputs@-5"),
    op("Selu", selu).attributes("alpha consumed_inputs@-5 gamma"),
    op("Shrink", shrink).attributes("bias lambd"),
    op("Sigmoid", |n| plain(n, "sigmoid")).attributes("consumed_inputs@-5"),
    op("Softmax", |n| softmax(n, "nn.softmax")).attributes("axis"),
    op("Softplus", |n| plain(n, "nn.softplus")),
    op("Softsign", softsign),
    op("Swish", swish).attributes("alpha"),
    op("ThresholdedRelu", thresholded_relu).attributes("alpha"),
];

fn plain(n: &mut Node, ours: &'static str) -> Result {
    let x = n.input(0)?;
    Ok(n.call(ours, [x])?.into())
}

/// Before version 13, the axes from the given one on are collapsed.
fn softmax(n: &mut Node, ours: &'static str) -> Result {
    let x = n.input(0)?;
    let dims = n.dims(&x)?;
    let axis = n.attrs.int_or("axis", if n.opset < 13 { 1 } else { -1 })?;
    if n.opset >= 13 || dims.is_empty() {
        return Ok(n.call_with(ours, [x], &[("axis", axis.into())])?.into());
    }
    let axis = if axis == dims.len() as i64 { dims.len() } else { n.axis(axis, dims.len())? };
    if axis + 1 == dims.len() {
        return Ok(n.call_with(ours, [x], &[("axis", (-1i64).into())])?.into());
    }
    let flat = n.reshape(x, vec![product(&dims[..axis]), product(&dims[axis..])])?;
    let soft = n.call_with(ours, [flat], &[("axis", (-1i64).into())])?;
    Ok(n.reshape(soft, dims)?.into())
}

fn leaky_relu(n: &mut Node) -> Result {
    let alpha = n.attrs.float_or("alpha", 0.01)?;
    let x = n.input(0)?;
    Ok(n.call_with("nn.leakyrelu", [x], &[("alpha", alpha.into())])?.into())
}

fn elu(n: &mut Node) -> Result {
    let alpha = n.attrs.float_or("alpha", 1.0)?;
    let x = n.input(0)?;
    Ok(n.exponential(x, [alpha, 1.0, 1.0])?.into())
}

fn celu(n: &mut Node) -> Result {
    let alpha = n.attrs.float_or("alpha", 1.0)?;
    let x = n.input(0)?;
    Ok(n.exponential(x, [alpha, alpha, 1.0])?.into())
}

fn selu(n: &mut Node) -> Result {
    let (alpha, gamma) = (n.attrs.float_or("alpha", 1.673_263_2)?, n.attrs.float_or("gamma", 1.050_701)?);
    let x = n.input(0)?;
    Ok(n.exponential(x, [alpha, 1.0, gamma])?.into())
}

fn gelu(n: &mut Node) -> Result {
    match n.attrs.str_or("approximate", "none")? {
        "tanh" => plain(n, "nn.gelu_tanh"),
        _ => plain(n, "nn.gelu"),
    }
}

/// `max(0, min(1, alpha * x + beta))`
fn hard_sigmoid(n: &mut Node, alpha: f32, beta: f32) -> Result {
    let (alpha, beta) = (n.attrs.float_or("alpha", alpha)?, n.attrs.float_or("beta", beta)?);
    let x = n.input(0)?;
    Ok(n.hard_sigmoid(&x, alpha, beta)?.into())
}

fn hard_swish(n: &mut Node) -> Result {
    let x = n.input(0)?;
    let gate = n.hard_sigmoid(&x, 1.0 / 6.0, 0.5)?;
    Ok(n.call("multiply", [x, gate])?.into())
}

fn mish(n: &mut Node) -> Result {
    let x = n.input(0)?;
    let soft = n.call("nn.softplus", [x.clone()])?;
    let tanh = n.call("tanh", [soft])?;
    Ok(n.call("multiply", [x, tanh])?.into())
}

/// `x * sigmoid(alpha * x)`
fn swish(n: &mut Node) -> Result {
    let alpha = n.attrs.float_or("alpha", 1.0)?;
    if alpha == 1.0 {
        return plain(n, "nn.silu");
    }
    let x = n.input(0)?;
    let scaled = n.with_scalar("multiply", &x, alpha)?;
    let gate = n.call("sigmoid", [scaled])?;
    Ok(n.call("multiply", [x, gate])?.into())
}

fn softsign(n: &mut Node) -> Result {
    let x = n.input(0)?;
    Ok(n.softsign(x)?.into())
}

/// The slope broadcasts to `x`; before version 7 it is a single value, or one per channel.
fn prelu(n: &mut Node) -> Result {
    let (x, mut slope) = (n.input(0)?, n.input(1)?);
    let rank = n.rank(&x)?;
    if let (..7, [size], 2..) = (n.opset, n.dims(&slope)?.as_slice(), rank)
        && !hammock_ops::dims::is(size, 1)
    {
        slope = n.reshape(slope, n.axis_shape(size, 1, rank))?;
    }
    let below = n.call("multiply", [x.clone(), slope])?;
    let zero = n.scalar_like(0.0, &x)?;
    let above = n.call("greater_equal", [x.clone(), zero])?;
    Ok(n.call("where", [above, x, below])?.into())
}

fn thresholded_relu(n: &mut Node) -> Result {
    let alpha = n.attrs.float_or("alpha", 1.0)?;
    let x = n.input(0)?;
    Ok(n.thresholded_relu(x, alpha)?.into())
}

fn shrink(n: &mut Node) -> Result {
    let (bias, limit) = (n.attrs.float_or("bias", 0.0)?, n.attrs.float_or("lambd", 0.5)?);
    let x = n.input(0)?;
    let zero = n.scalar_like(0.0, &x)?;
    let (low, high) = (n.with_scalar("less", &x, -limit)?, n.with_scalar("greater", &x, limit)?);
    let (raised, lowered) = (n.with_scalar("add", &x, bias)?, n.with_scalar("subtract", &x, bias)?);
    let above = n.call("where", [high, lowered, zero])?;
    Ok(n.call("where", [low, raised, above])?.into())
}

impl Node<'_, '_> {
    /// `gamma * (x >= 0 ? x : alpha * (exp(x / beta) - 1))`
    pub(super) fn exponential(&mut self, x: Operand, [alpha, beta, gamma]: [f64; 3]) -> crate::node::Result<Operand> {
        self.in_accumulator_dtype(x, |n, x| {
            let scaled = if beta == 1.0 { x.clone() } else { n.with_scalar("divide", &x, beta)? };
            let exp = n.call("exp", [scaled])?;
            let less = n.with_scalar("subtract", &exp, 1.0)?;
            let below = n.with_scalar("multiply", &less, alpha)?;
            let above = n.with_scalar("greater_equal", &x, 0.0)?;
            let y = n.call("where", [above, x, below])?;
            if gamma == 1.0 { Ok(y) } else { n.with_scalar("multiply", &y, gamma) }
        })
    }

    /// `x / (1 + |x|)`
    pub(super) fn softsign(&mut self, x: Operand) -> crate::node::Result<Operand> {
        let size = self.call("abs", [x.clone()])?;
        let by = self.with_scalar("add", &size, 1.0)?;
        self.call("divide", [x, by])
    }

    /// `x > alpha ? x : 0`
    pub(super) fn thresholded_relu(&mut self, x: Operand, alpha: f64) -> crate::node::Result<Operand> {
        let above = self.with_scalar("greater", &x, alpha)?;
        let zero = self.scalar_like(0.0, &x)?;
        self.call("where", [above, x, zero])
    }

    /// `max(0, min(1, alpha * x + beta))`
    pub(super) fn hard_sigmoid(&mut self, x: &Operand, alpha: f64, beta: f64) -> crate::node::Result<Operand> {
        self.in_accumulator_dtype(x.clone(), |n, x| {
            let scaled = n.with_scalar("multiply", &x, alpha)?;
            let shifted = n.with_scalar("add", &scaled, beta)?;
            let dtype = n.dtype(&x)?;
            let limit = |v: f64| Operand::Prim(PrimExpr::float(v, dtype));
            n.call("clip", [shifted, limit(0.0), limit(1.0)])
        })
    }
}

/// Returns an axis as an attribute.
pub(super) fn axis_attr(axis: usize) -> AttrValue {
    (axis as i64).into()
}
