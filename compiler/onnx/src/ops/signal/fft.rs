//! Fast Fourier transforms of known lengths.
//!
//! The Stockham autosort algorithm with decimation in frequency (Van Loan, Computational Frameworks for the Fast Fourier
//! Transform, section 1.7). For a length that is the product of radices, each pass of radix `r` transforms `r` elements
//! at a distance of `length / r`, and multiplies the results by twiddle factors. Radices are large: a pass is one real
//! contraction with the DFT matrix of `2 r` rows and columns, which runs at the speed of matmuls. For `L` the length that
//! the passes after it transform, `l < L`, and `m` the index of a result of the passes before:
//!
//! ```text
//! y[b, l, q, j, m] = Σ x[b, i, l, p, m] · matrix[i, p, q, j]      p, q: real and imaginary part
//! x[b, l, q, (j m)] = y[b, l, ·, j, m] · exp(-2πi·j·l / (r·L))
//! ```
//!
//! Lengths with large prime factors are left to [`super::bluestein`].

use super::roots::{Roots, constant, root};
use crate::node::{self, Node};
use hammock_ir::{DType, PrimExpr, relax::Operand};

/// Complex transform.
#[derive(Clone, Copy)]
pub struct Transform {
    /// Number of elements.
    pub length: i64,
    /// True for the conjugate roots of unity.
    pub inverse: bool,
    /// Multiplier of the results.
    pub scale: f64,
}

impl Transform {
    /// Multiplies by the first columns of the DFT matrix. Returns `[batch, 2, columns]`.
    pub fn direct(self, n: &mut Node, x: Operand, columns: i64) -> node::Result<Operand> {
        let dims = n.dims(&x)?;
        let (batch, parts) = (dims[0].clone(), parts(&dims[2]));
        let matrix = self.matrix([self.length, columns], parts, n.dtype(&x)?)?;
        let matrix = n.reshape(matrix, vec![(self.length * parts).into(), (2 * columns).into()])?;
        let x = n.reshape(x, vec![batch.clone(), (self.length * parts).into()])?;
        let y = n.call("matmul", [x, matrix])?;
        n.reshape(y, vec![batch, 2i64.into(), columns.into()])
    }

    /// Transforms along axis 1 of `[batch, length, parts]` in passes; the length is the product of the radices. Returns
    /// `[batch, 2, length]`.
    pub fn passes(self, n: &mut Node, x: Operand, radices: &[i64]) -> node::Result<Operand> {
        let (last, first) = radices.split_last().unwrap_or((&1, &[]));
        if first.is_empty() {
            return self.direct(n, x, self.length);
        }
        let dims = n.dims(&x)?;
        let (batch, mut parts, dtype) = (dims[0].clone(), parts(&dims[2]), n.dtype(&x)?);
        let (mut x, mut rest, mut done) = (x, self.length, 1);
        for &radix in first {
            rest /= radix;
            let pass = Transform { length: radix, scale: 1.0, ..self };
            let matrix = pass.matrix([radix, radix], parts, dtype)?;
            // Without unit axes, contractions are matmuls.
            let (subscripts, inner) = if done == 1 { ("bilp,ipqj->blqj", 0) } else { ("bilpm,ipqj->blqjm", 1) };
            let mut shape: Vec<PrimExpr> = vec![batch.clone(), radix.into(), rest.into(), parts.into()];
            shape.extend(vec![done.into(); inner]);
            let own = n.reshape(x, shape)?;
            let operands = Operand::Tuple(vec![own, matrix]);
            let y = n.call_with("einsum", [operands], &[("subscripts", subscripts.into())])?;
            let twiddles = Roots::new(rest, radix, inner, dtype, |l, j| root(j * l, rest * radix, self.inverse))?;
            let y = twiddles.multiply(n, y, 2)?;
            (parts, done) = (2, done * radix);
            x = n.reshape(y, vec![batch.clone(), rest.into(), 2i64.into(), done.into()])?;
        }
        let pass = Transform { length: *last, ..self };
        let matrix = pass.transposed_matrix(dtype)?;
        let x = n.reshape(x, vec![batch.clone(), (2 * last).into(), done.into()])?;
        let y = n.call("matmul", [matrix, x])?;
        n.reshape(y, vec![batch, 2i64.into(), self.length.into()])
    }

    /// Returns the DFT matrix of shape `[rows, parts, 2, columns]`, as real numbers.
    fn matrix(self, [rows, columns]: [i64; 2], parts: i64, dtype: DType) -> node::Result<Operand> {
        let indices = (0..rows).flat_map(|i| (0..parts * 2).flat_map(move |pq| (0..columns).map(move |j| (i, pq, j))));
        let values = indices.map(|(i, pq, j)| self.element(i * j, pq / 2, pq % 2));
        constant(&[rows, parts, 2, columns], dtype, values)
    }

    /// Returns the DFT matrix of shape `[2 columns, rows 2]`.
    fn transposed_matrix(self, dtype: DType) -> node::Result<Operand> {
        let size = self.length;
        let rows = (0..2).flat_map(|q| (0..size).map(move |j| (q, j)));
        let indices = rows.flat_map(|(q, j)| (0..size).flat_map(move |i| [(q, j, i, 0), (q, j, i, 1)]));
        constant(&[2 * size, 2 * size], dtype, indices.map(|(q, j, i, p)| self.element(i * j, p, q)))
    }

    /// Returns what part `p` of an operand contributes to part `q` of its product with a root of unity.
    fn element(self, number: i64, p: i64, q: i64) -> f64 {
        let (re, im) = root(number, self.length, self.inverse);
        self.scale
            * match (p, q) {
                (0, 0) | (1, 1) => re,
                (0, _) => im,
                _ => -im,
            }
    }
}

/// Swaps the last two axes of `[batch, length, parts]` or `[batch, parts, length]`.
pub fn swap_parts(n: &mut Node, x: Operand) -> node::Result<Operand> {
    n.call_with("permute_dims", [x], &[("axes", vec![0i64, 2, 1].into())])
}

/// Returns the number of parts: 2 for complex numbers, 1 for real ones.
pub fn parts(size: &PrimExpr) -> i64 {
    size.as_int().unwrap_or(1)
}
