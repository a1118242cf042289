//! Fourier transforms between real signals of even length and the first half of their spectra.
//!
//! Even and odd elements are the real and imaginary parts of a complex signal of half the length (Press et al., Numerical
//! Recipes, section 12.3). With `z` its spectrum, `h` its length and `w = exp(-πi / h)`:
//!
//! ```text
//! y[k] = (z[k] + conj(z[h - k])) / 2 - i/2 · w^k · (z[k] - conj(z[h - k]))      k ≤ h, z[h] = z[0]
//! ```

use super::{
    algorithm,
    fft::{Transform, swap_parts},
    roots::{constant, root},
};
use crate::node::{self, Node};
use hammock_ir::{DType, PrimExpr, relax::Operand};

/// Transforms `[batch, length, 1]`. Returns `[batch, 2, length / 2 + 1]`.
pub fn forward(n: &mut Node, x: Operand, of: Transform) -> node::Result<Operand> {
    let half = of.length / 2;
    let batch = n.dims(&x)?[0].clone();
    let x = n.reshape(x, vec![batch, half.into(), 2i64.into()])?;
    let z = algorithm::append(n, x, Transform { length: half, scale: of.scale / 2.0, ..of })?;
    let first = n.strided_slice(z.clone(), 2, 0i64.into(), 1i64.into(), 1)?;
    let z = n.call_with("concat", [Operand::Tuple(vec![z, first])], &[("axis", 2i64.into())])?;
    combine(n, z, of, 1.0)
}

/// Transforms `[batch, length / 2 + 1, 2]` to a real signal `[batch, 1, length]`. As the signal is real, imaginary parts
/// of the first and the last element do not count.
pub fn inverse(n: &mut Node, x: Operand, of: Transform) -> node::Result<Operand> {
    let half = of.length / 2;
    let batch = n.dims(&x)?[0].clone();
    let x = swap_parts(n, x)?;
    let counts = (0..2 * (half + 1)).map(|at| f64::from(at != half + 1 && at != 2 * half + 1));
    let counts = constant(&[2, half + 1], DType::FLOAT32, counts)?;
    let counts = n.with_scalar("not_equal", &counts, 0.0)?;
    let zero = n.scalar_like(0.0, &x)?;
    let x = n.call("where", [counts, x, zero])?;
    let z = combine(n, x, of, -1.0)?;
    let z = n.strided_slice(z, 2, 0i64.into(), half.into(), 1)?;
    let z = swap_parts(n, z)?;
    let y = algorithm::append(n, z, Transform { length: half, ..of })?;
    let y = swap_parts(n, y)?;
    n.reshape(y, vec![batch, 1i64.into(), of.length.into()])
}

/// Returns `z + mirrored - sign·i·w^k·(z - mirrored)` for `mirrored[k] = conj(z[h - k])`.
fn combine(n: &mut Node, z: Operand, of: Transform, sign: f64) -> node::Result<Operand> {
    let (dtype, count) = (n.dtype(&z)?, of.length / 2 + 1);
    let conjugate = constant(&[2, 1], dtype, [1.0, -1.0].into_iter())?;
    let mirrored = n.call_with("flip", [z.clone()], &[("axis", 2i64.into())])?;
    let mirrored = n.call("multiply", [mirrored, conjugate])?;
    let even = n.call("add", [z.clone(), mirrored.clone()])?;
    let odd = n.call("subtract", [z, mirrored])?;
    let crossed = n.call_with("flip", [odd.clone()], &[("axis", 1i64.into())])?;
    let roots = move |k: i64| root(k, of.length, of.inverse);
    let sines = constant(&[count], dtype, (0..count).map(|k| sign * roots(k).1))?;
    let cosines = [1.0, -1.0].into_iter().flat_map(|part| (0..count).map(move |k| sign * part * roots(k).0));
    let cosines = constant(&[2, count], dtype, cosines)?;
    let (straight, crossed) = (n.call("multiply", [odd, sines])?, n.call("multiply", [crossed, cosines])?);
    let odd = n.call("add", [straight, crossed])?;
    n.call("add", [even, odd])
}

/// Completes a spectrum `[batch, 2, length / 2 + 1]` of a real signal: later elements are conjugates of earlier ones.
pub fn extend(n: &mut Node, x: Operand, length: i64) -> node::Result<Operand> {
    let count: PrimExpr = (length - length / 2 - 1).into();
    let conjugate = constant(&[2, 1], n.dtype(&x)?, [1.0, -1.0].into_iter())?;
    let later = n.strided_slice(x.clone(), 2, 1i64.into(), hammock_ops::dims::offset(&count, 1), 1)?;
    let later = n.call_with("flip", [later], &[("axis", 2i64.into())])?;
    let later = n.call("multiply", [later, conjugate])?;
    n.call_with("concat", [Operand::Tuple(vec![x, later])], &[("axis", 2i64.into())])
}
