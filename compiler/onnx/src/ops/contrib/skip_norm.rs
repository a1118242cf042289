//! Normalizations of a sum: of the input, a residual and a bias.

use super::{
    super::{Op, Result},
    op,
};
use crate::node::{self, Node, axes_attr};
use hammock_ir::relax::Operand;
use hammock_ops::legalize::accumulator;

pub const OPS: &[Op] = &[
    op("SkipLayerNormalization", skip_layer).attributes("epsilon"),
    op("SkipSimplifiedLayerNormalization", skip_simplified).attributes("epsilon"),
    // Fused from the standard operators, whose domain ONNX Runtime leaves it in.
    super::super::op("SimplifiedLayerNormalization", simplified).attributes("axis epsilon stash_type"),
];

/// Inputs: data, residual, scale, shift and bias. Results: the normalized sum, mean and inverse deviation of its rows, and
/// the sum.
fn skip_layer(n: &mut Node) -> Result {
    let sum = sum(n, 4)?;
    let scale = n.input(2)?;
    let shift = match n.optional(3)? {
        Some(shift) => shift,
        None => n.call("zeros_like", [scale.clone()])?,
    };
    let y = n.layer_norm(sum.clone(), scale, shift, 1e-12)?;
    if n.outputs == 1 {
        return Ok(y.into());
    }
    let (mean, variance) = (row_statistic(n, &sum, "mean")?, row_statistic(n, &sum, "variance")?);
    let inverse = inverse_root(n, variance, 1e-12)?;
    Ok(vec![y, mean, inverse, sum].into())
}

/// As [`skip_layer`], by the root of the mean square, and without a shift.
fn skip_simplified(n: &mut Node) -> Result {
    let sum = sum(n, 3)?;
    let scale = n.input(2)?;
    let attrs = [("axes", vec![-1i64].into()), ("epsilon", n.attrs.float_or("epsilon", 1e-6)?.into())];
    let y = n.call_with("nn.rms_norm", [sum.clone(), scale], &attrs)?;
    if n.outputs == 1 {
        return Ok(y.into());
    }
    let mean = row_statistic(n, &sum, "mean")?;
    let square = n.call("multiply", [sum.clone(), sum.clone()])?;
    let square = row_statistic(n, &square, "mean")?;
    let inverse = inverse_root(n, square, 1e-6)?;
    Ok(vec![y, mean, inverse, sum].into())
}

/// Adds data, residual and, if there is one, the bias at an input.
fn sum(n: &mut Node, bias: usize) -> node::Result<Operand> {
    let (x, mut skip) = (n.input(0)?, n.input(1)?);
    // A residual without a batch is that of all of it.
    let (own, other) = (n.dims(&x)?, n.dims(&skip)?);
    if other.len() == 2 && own.len() == 3 {
        skip = n.reshape(skip, [vec![1i64.into()], other].concat())?;
    }
    let sum = n.call("add", [x, skip])?;
    match n.optional(bias)? {
        Some(bias) => n.call("add", [sum, bias]),
        None => Ok(sum),
    }
}

/// Returns a statistic of each row, in the accumulator dtype.
fn row_statistic(n: &mut Node, x: &Operand, statistic: &'static str) -> node::Result<Operand> {
    let wide = n.cast(x.clone(), accumulator(n.dtype(x)?))?;
    n.call_with(statistic, [wide], &[("axis", vec![-1i64].into()), ("keepdims", true.into())])
}

/// Returns `1 / sqrt(x + epsilon)`, with the node's `epsilon`.
fn inverse_root(n: &mut Node, x: Operand, default_epsilon: f32) -> node::Result<Operand> {
    let epsilon = n.attrs.float_or("epsilon", default_epsilon)?;
    let shifted = n.with_scalar("add", &x, epsilon)?;
    n.call("rsqrt", [shifted])
}

/// `x / sqrt(mean(x²) + epsilon) * scale` over the axes from one on, and the inverse of that root.
fn simplified(n: &mut Node) -> Result {
    let x = n.input(0)?;
    let rank = n.rank(&x)?;
    let first = n.axis(n.attrs.int_or("axis", -1)?, rank)?;
    let axes: Vec<usize> = (first..rank).collect();
    let epsilon = n.attrs.float_or("epsilon", 1e-5)?;
    let attrs = [("axes", axes_attr(&axes)), ("epsilon", epsilon.into())];
    let scale = n.input(1)?;
    let y = n.call_with("nn.rms_norm", [x.clone(), scale], &attrs)?;
    if n.outputs == 1 {
        return Ok(y.into());
    }
    let wide = n.cast(x.clone(), accumulator(n.dtype(&x)?))?;
    let square = n.call("multiply", [wide.clone(), wide])?;
    let mean = n.call_with("mean", [square], &[("axis", axes_attr(&axes)), ("keepdims", true.into())])?;
    let inverse = inverse_root(n, mean, 1e-5)?;
    Ok(vec![y, inverse].into())
}

impl Node<'_, '_> {
    /// Normalizes rows, with the node's `epsilon`.
    pub(super) fn layer_norm(
        &mut self,
        x: Operand,
        scale: Operand,
        shift: Operand,
        default_epsilon: f32,
    ) -> node::Result<Operand> {
        let epsilon = self.attrs.float_or("epsilon", default_epsilon)?;
        self.call_with("nn.layer_norm", [x, scale, shift], &[("axes", vec![-1i64].into()), ("epsilon", epsilon.into())])
    }
}
