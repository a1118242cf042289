//! Contractions fused with what comes before and after them.

use super::{
    super::{Op, Result, conv::append_conv, linear},
    STANDARD_OPSET,
    activation::Parameters,
    op,
};
use crate::node::{self, Node};
use hammock_ir::relax::Operand;

pub const OPS: &[Op] = &[
    op("FusedConv", conv).attributes("activation activation_params auto_pad dilations group kernel_shape pads strides"),
    op("FusedGemm", gemm)
        .attributes("activation activation_alpha activation_beta activation_gamma alpha beta transA transB"),
    op("FusedMatMul", matmul).attributes("alpha transA transB transBatchA transBatchB"),
    op("TransposeMatMul", matmul).attributes("alpha transA transB"),
];

/// `activation(conv(x, weight) + bias + z)`
pub(super) fn conv(n: &mut Node) -> Result {
    n.opset = STANDARD_OPSET;
    let (x, weight) = (n.input(0)?, n.input(1)?);
    let y = append_conv(n, x, weight, None)?;
    let spatial = n.rank(&y)?.saturating_sub(2);
    let mut y = n.with_bias(y, 2, spatial)?;
    if let Some(z) = n.optional(3)? {
        y = n.call("add", [y, z])?;
    }
    let values = n.attrs.floats("activation_params")?.unwrap_or_default();
    let parameters = Parameters { alpha: values.first().copied(), beta: values.get(1).copied() };
    let activation = n.attrs.str_or("activation", "")?;
    Ok(n.fused_activation(activation, y, &parameters)?.into())
}

fn gemm(n: &mut Node) -> Result {
    n.opset = STANDARD_OPSET;
    let y = linear::append_gemm(n)?;
    let parameters = Parameters { alpha: n.attrs.float("activation_alpha")?, beta: n.attrs.float("activation_beta")? };
    let activation = n.attrs.str_or("activation", "")?;
    Ok(n.fused_activation(activation, y, &parameters)?.into())
}

/// `alpha * op(a) @ op(b)`
fn matmul(n: &mut Node) -> Result {
    let (a, b) = (n.input(0)?, n.input(1)?);
    let (a, b) = (operand(n, a, "transBatchA", "transA")?, operand(n, b, "transBatchB", "transB")?);
    let y = n.call("matmul", [a, b])?;
    let alpha = n.attrs.float_or("alpha", 1.0)?;
    Ok(if alpha == 1.0 { y } else { n.with_scalar("multiply", &y, alpha)? }.into())
}

/// Transposes an operand: the first axis moves behind the other ones of the batch, and the last two are swapped. Vectors
/// have no transpose.
fn operand(n: &mut Node, x: Operand, batch: &str, matrix: &str) -> node::Result<Operand> {
    let rank = n.rank(&x)?;
    let (moves_first, swaps) = (n.attrs.flag(batch)?, n.attrs.flag(matrix)?);
    let mut axes: Vec<i64> = (0..rank as i64).collect();
    if moves_first && rank > 2 {
        axes[..rank - 1].rotate_left(1);
    }
    if swaps && rank > 1 {
        axes.swap(rank - 2, rank - 1);
    }
    if axes.is_sorted() { Ok(x) } else { n.call_with("permute_dims", [x], &[("axes", axes.into())]) }
}
