//! Tables of roots of unity, as constants.

use crate::node;
use hammock_ir::{
    DType, Tensor,
    relax::{Constant, InferError, Operand},
};
use std::f64::consts::TAU;

/// Cosine and sine of an angle.
pub type Root = (f64, f64);

/// Returns `exp(-2 pi i number / length)`, or its conjugate for inverse transforms.
pub fn root(number: i64, length: i64, inverse: bool) -> Root {
    // Reduced modulo the length, so large numbers lose no precision.
    let angle = TAU * number.rem_euclid(length) as f64 / length as f64;
    (angle.cos(), if inverse { angle.sin() } else { -angle.sin() })
}

/// Returns a constant of a floating-point dtype, float32 unless it is float64.
pub fn constant(shape: &[i64], dtype: DType, values: impl Iterator<Item = f64>) -> node::Result<Operand> {
    let tensor = match dtype {
        DType::FLOAT64 => Tensor::from_slice(shape, &values.collect::<Vec<f64>>()),
        _ => Tensor::from_slice(shape, &values.map(|value| value as f32).collect::<Vec<f32>>()),
    };
    Ok(Operand::Const(Constant::new(tensor.map_err(|error| InferError::new(error.to_string()))?)))
}

/// Constants that multiply complex numbers elementwise: `x * real + flip(x) * imaginary`, where `flip` exchanges real
/// and imaginary parts.
pub struct Roots {
    /// The real parts, with one element along the axis of parts.
    pub real: Operand,
    /// The negative imaginary parts, then the imaginary parts, along the axis of parts.
    pub imaginary: Operand,
}

impl Roots {
    /// Returns tables of shape `[outer, parts, inner]`, in which element `(o, i)` is `root(o, i)`.
    pub fn new(
        outer: i64,
        inner: i64,
        unit_axes: usize,
        dtype: DType,
        root: impl Fn(i64, i64) -> Root,
    ) -> node::Result<Roots> {
        let rows = || 0..outer;
        let columns = || 0..inner;
        let real = rows().flat_map(|o| columns().map(move |i| (o, i))).map(|(o, i)| root(o, i).0);
        let signed = rows().flat_map(|o| [-1.0, 1.0].map(|sign| (o, sign)));
        let imaginary = signed.flat_map(|(o, sign)| columns().map(move |i| (o, sign, i)));
        let imaginary = imaginary.map(|(o, sign, i)| sign * root(o, i).1);
        let shape = |parts: i64| [&[outer, parts, inner][..], &vec![1; unit_axes]].concat();
        Ok(Roots { real: constant(&shape(1), dtype, real)?, imaginary: constant(&shape(2), dtype, imaginary)? })
    }

    /// Appends the product with complex numbers; `axis` is that of real and imaginary parts.
    pub fn multiply(self, n: &mut node::Node, x: Operand, axis: usize) -> node::Result<Operand> {
        let flipped = n.call_with("flip", [x.clone()], &[("axis", (axis as i64).into())])?;
        let (straight, crossed) = (n.call("multiply", [x, self.real])?, n.call("multiply", [flipped, self.imaginary])?);
        n.call("add", [straight, crossed])
    }
}
