//! Discrete Fourier transforms by their definition, for lengths that are only known at run time: matmuls with DFT
//! matrices that are computed at run time.

use crate::node::{self, Node};
use hammock_ir::{DType, PrimExpr, relax::Operand};
use hammock_ops::dims;
use std::f64::consts::TAU;

/// Transforms `[batch, length, parts]`. Returns the first `count` results, `[batch, 2, count]`.
pub fn transform(
    n: &mut Node,
    x: Operand,
    length: &PrimExpr,
    count: &PrimExpr,
    inverse: bool,
) -> node::Result<Operand> {
    let is_complex = dims::is(&n.dims(&x)?[2], 2);
    let (cos, sin) = dft_matrices(n, length, count, length, n.dtype(&x)?)?;
    let real = component(n, &x, 0)?;
    let matmul = |n: &mut Node, x: &Operand, by: &Operand| n.call("matmul", [x.clone(), by.clone()]);
    let (mut re, mut im) = (matmul(n, &real, &cos)?, matmul(n, &real, &sin)?);
    if !inverse {
        im = n.call("negative", [im])?;
    }
    if is_complex {
        let imaginary = component(n, &x, 1)?;
        let (across, along) = (matmul(n, &imaginary, &sin)?, matmul(n, &imaginary, &cos)?);
        re = n.call(if inverse { "subtract" } else { "add" }, [re, across])?;
        im = n.call("add", [im, along])?;
    }
    let y = n.call_with("stack", [Operand::Tuple(vec![re, im])], &[("axis", 1i64.into())])?;
    if inverse { n.divide_by_dim(y, length) } else { Ok(y) }
}

/// Inverse transform of a one-sided spectrum `[batch, length / 2 + 1, 2]` to a real signal `[batch, 1, length]`.
pub fn inverse_real(n: &mut Node, x: Operand, length: &PrimExpr) -> node::Result<Operand> {
    let dtype = n.dtype(&x)?;
    let (real, imaginary) = (component(n, &x, 0)?, component(n, &x, 1)?);
    let half_length = dims::offset(&dims::floordiv(length, &2i64.into()), 1);
    let (cos, sin) = dft_matrices(n, &half_length, length, length, dtype)?;
    // Bins other than DC and Nyquist also stand for their conjugates.
    let bins = n.arange(half_length)?;
    let twice = n.with_scalar("multiply", &bins, 2.0)?;
    let whole = n.dims_vector(std::slice::from_ref(length))?;
    let rest = n.call("floor_mod", [twice, whole])?;
    let mirrored = n.with_scalar("not_equal", &rest, 0.0)?;
    let (one, two) = (node::scalar(1.0, dtype)?, node::scalar(2.0, dtype)?);
    let weights = n.call("where", [mirrored, two, one])?;
    let (real, imaginary) = (n.call("multiply", [real, weights.clone()])?, n.call("multiply", [imaginary, weights])?);
    let (re, im) = (n.call("matmul", [real, cos])?, n.call("matmul", [imaginary, sin])?);
    let y = n.call("subtract", [re, im])?;
    let y = n.divide_by_dim(y, length)?;
    n.call_with("expand_dims", [y], &[("axis", vec![1i64].into())])
}

/// Selects the real or imaginary part.
fn component(n: &mut Node, x: &Operand, at: i64) -> node::Result<Operand> {
    let at = node::scalar(at as f64, DType::INT64)?;
    n.call_with("take", [x.clone(), at], &[("axis", 2i64.into())])
}

/// Returns the DFT matrices: cosine and sine of `2 pi i k / length` for row `i` and column `k`.
fn dft_matrices(
    n: &mut Node,
    rows: &PrimExpr,
    columns: &PrimExpr,
    length: &PrimExpr,
    dtype: DType,
) -> node::Result<(Operand, Operand)> {
    let length = n.dims_vector(std::slice::from_ref(length))?;
    let counted = n.arange(rows.clone())?;
    let counted = n.reshape(counted, vec![rows.clone(), 1i64.into()])?;
    let across = n.arange(columns.clone())?;
    let products = n.call("multiply", [counted, across])?;
    // Reduced modulo the length, so large products lose no precision.
    let turns = n.call("floor_mod", [products, length.clone()])?;
    let (turns, length) = (n.cast(turns, DType::FLOAT64)?, n.cast(length, DType::FLOAT64)?);
    let turns = n.call("divide", [turns, length])?;
    let angles = n.with_scalar("multiply", &turns, TAU)?;
    let (cos, sin) = (n.call("cos", [angles.clone()])?, n.call("sin", [angles])?);
    Ok((n.cast(cos, dtype)?, n.cast(sin, dtype)?))
}
