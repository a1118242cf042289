//! Matmuls and other contractions.

use super::{Op, Result, op};
use crate::node::{self, Node};
use hammock_ir::relax::Operand;
use hammock_ops::legalize::accumulator;

pub const OPS: &[Op] = &[
    op("Einsum", einsum).attributes("equation"),
    op("Gemm", gemm).attributes("alpha beta broadcast@-6 transA transB"),
    op("MatMul", matmul),
];

fn matmul(n: &mut Node) -> Result {
    let (a, b) = (n.input(0)?, n.input(1)?);
    Ok(n.call("matmul", [a, b])?.into())
}

fn gemm(n: &mut Node) -> Result {
    Ok(append_gemm(n)?.into())
}

/// Appends `alpha * a b + beta * c`, with the node's inputs and attributes; `a` and `b` may be transposed.
pub(super) fn append_gemm(n: &mut Node) -> node::Result<Operand> {
    let (mut a, mut b) = (n.input(0)?, n.input(1)?);
    if n.attrs.flag("transA")? {
        a = n.call("permute_dims", [a])?;
    }
    if n.attrs.flag("transB")? {
        b = n.call("permute_dims", [b])?;
    }
    let (alpha, beta) = (n.attrs.float_or("alpha", 1.0)?, n.attrs.float_or("beta", 1.0)?);
    let dtype = n.dtype(&a)?;
    let wide = if (alpha, beta) == (1.0, 1.0) { dtype } else { accumulator(dtype) };
    let mut y = match wide == dtype {
        true => n.call("matmul", [a, b])?,
        // Before scaling, the result may exceed the range of narrow floats.
        false => n.call_with("matmul", [a, b], &[("out_dtype", wide.into())])?,
    };
    if alpha != 1.0 {
        y = n.with_scalar("multiply", &y, alpha)?;
    }
    let Some(c) = n.optional(2)?.filter(|_| beta != 0.0) else { return n.cast(y, dtype) };
    let mut c = n.cast(c, wide)?;
    if beta != 1.0 {
        c = n.with_scalar("multiply", &c, beta)?;
    }
    let c = n.align_operand(&y, c)?;
    let y = n.call("add", [y, c])?;
    n.cast(y, dtype)
}

fn einsum(n: &mut Node) -> Result {
    let equation: String = n.attrs.str_or("equation", "")?.chars().filter(|c| !c.is_whitespace()).collect();
    let operands = n.inputs_from(0)?;
    let tuple = Operand::Tuple(operands);
    Ok(n.call_with("einsum", [tuple], &[("subscripts", equation.as_str().into())])?.into())
}
