//! Discrete Fourier transforms.

use super::{
    algorithm, definition,
    fft::{Transform, parts, swap_parts},
    real,
};
use crate::{
    node::{self, Node, product},
    ops::{Result, dynamic_shape},
};
use hammock_ir::{DType, PrimExpr, TensorShape, TensorType, relax::Operand};
use hammock_ops::dims;

/// Maximum length of transforms by constant matrices alone.
const MAX_DIRECT_LENGTH: i64 = 64;
/// Maximum length of fast transforms, whose tables are constants; longer ones compute their tables at run time.
const MAX_TABLE_LENGTH: i64 = 1 << 22;

/// `DFT`
pub fn dft(n: &mut Node) -> Result {
    let x = n.input(0)?;
    let rank = n.rank(&x)?;
    if n.opset < 20 {
        let axis = n.axis(n.attrs.int_or("axis", 1)?, rank)?;
        return Ok(dft_along(n, axis)?.into());
    }
    match n.ints(2, "axis") {
        Ok(axis) => {
            let axis = n.axis(axis.and_then(|axis| axis.first().copied()).unwrap_or(-2), rank)?;
            Ok(dft_along(n, axis)?.into())
        }
        Err(error) if rank < 2 => Err(error),
        Err(_) if !n.attrs.flag("onesided")? && n.given(1).is_none() => {
            dynamic_shape::select_axis(n, 2, rank, rank - 1, dft_along)
        }
        Err(_) => Ok(dft_along_dynamic(n, x, rank)?.into()),
    }
}

fn dft_along(n: &mut Node, axis: usize) -> node::Result<Operand> {
    let x = n.input(0)?;
    transform_axis(n, x, axis)
}

/// Transforms along an axis that an input names, and whose size changes: the axes before and after it are flattened.
fn dft_along_dynamic(n: &mut Node, x: Operand, rank: usize) -> node::Result<Operand> {
    let dims = n.dims(&x)?;
    let axis = n.normalize_axes(2, rank)?;
    let axis = n.reshape(axis, vec![1i64.into()])?;
    // The axis of real and imaginary parts is a run-time error.
    let all = n.int64_vector(0..rank as i64 - 1)?;
    let axis = n.call_with("take", [all.clone(), axis], &[("axis", 0i64.into())])?;
    let sizes = n.dims_vector(&dims[..rank - 1])?;
    let mut flat = Vec::new();
    for side in ["less", "equal", "greater"] {
        let is_on_side = n.call(side, [all.clone(), axis.clone()])?;
        let one = node::scalar(1.0, DType::INT64)?;
        let chosen = n.call("where", [is_on_side, sizes.clone(), one])?;
        flat.push(n.call_with("prod", [chosen], &[("axis", vec![0i64].into()), ("keepdims", true.into())])?);
    }
    let flat = n.call_with("concat", [Operand::Tuple(flat)], &[("axis", 0i64.into())])?;
    let mut flat = n.symbolic_dims(flat)?;
    flat.push(dims[rank - 1].clone());
    let x = n.reshape(x, flat)?;
    let y = transform_axis(n, x, 1)?;
    let transformed = n.dims(&y)?;
    let size = n.dims_vector(&transformed[1..2])?;
    let is_axis = n.call("equal", [all, axis])?;
    let sizes = n.call("where", [is_axis, size, sizes])?;
    let mut sizes = n.symbolic_dims(sizes)?;
    sizes.push(transformed[3].clone());
    n.reshape(y, sizes)
}

/// Transforms along an axis.
fn transform_axis(n: &mut Node, x: Operand, axis: usize) -> node::Result<Operand> {
    let (inverse, half) = (n.attrs.flag("inverse")?, n.attrs.flag("onesided")?);
    let rank = n.rank(&x)?;
    if rank < 2 || axis == rank - 1 {
        return n.error("its axis is that of the real and imaginary parts");
    }
    // The transformed axis is moved behind the other ones, before real and imaginary parts.
    let mut order: Vec<usize> = (0..rank - 1).filter(|at| *at != axis).collect();
    order.extend([axis, rank - 1]);
    let x = permute(n, x, &order)?;
    let dims = n.dims(&x)?;
    let size = &dims[rank - 2];
    let length = match n.given(1) {
        Some(_) => n.scalar_dim(1)?,
        None if inverse && half => dims::mul(&dims::offset(size, -1), &2i64.into()),
        None => size.clone(),
    };
    let length = checked_length(n, length)?;
    let x = crop_or_pad(n, x, rank - 2, if inverse && half { half_length(&length) } else { length.clone() })?;
    let y = Dft { length, inverse, half }.append(n, x)?;
    let mut back = vec![0; rank];
    order.iter().enumerate().for_each(|(at, axis)| back[*axis] = at);
    permute(n, y, &back)
}

/// Discrete Fourier transform.
pub struct Dft {
    /// Length of the signal.
    pub length: PrimExpr,
    /// True if the spectrum is transformed to the signal.
    pub inverse: bool,
    /// True if the spectrum has only the first half of its elements.
    pub half: bool,
}

impl Dft {
    /// Transforms along the second last axis; the last one has real and imaginary parts.
    pub fn append(&self, n: &mut Node, x: Operand) -> node::Result<Operand> {
        n.in_accumulator_dtype(x, |n, x| {
            let mut shape = n.dims(&x)?;
            let Some([size, parts]) = shape.last_chunk().cloned() else { return n.error("it has too few dimensions") };
            let mut x = x;
            if !dims::is(&parts, 2) && !dims::is(&parts, 1) {
                x = n.strided_slice(x, shape.len() - 1, 0i64.into(), 1i64.into(), 1)?;
            }
            let parts: PrimExpr = if dims::is(&parts, 2) { parts } else { 1i64.into() };
            shape.truncate(shape.len() - 2);
            let x = n.reshape(x, vec![product(&shape), size, parts])?;
            let y = match self.length.as_int().filter(|length| *length <= MAX_TABLE_LENGTH) {
                Some(length) => self.fast(n, x, length)?,
                None => self.by_definition(n, x)?,
            };
            let y = swap_parts(n, y)?;
            shape.extend_from_slice(&n.dims(&y)?[1..]);
            n.reshape(y, shape)
        })
    }

    fn by_definition(&self, n: &mut Node, x: Operand) -> node::Result<Operand> {
        if self.inverse && self.half {
            self.expect_complex(n, &x)?;
            return definition::inverse_real(n, x, &self.length);
        }
        let count = if self.half { half_length(&self.length) } else { self.length.clone() };
        definition::transform(n, x, &self.length, &count, self.inverse)
    }

    fn expect_complex(&self, n: &Node, x: &Operand) -> node::Result<()> {
        match dims::is(&n.dims(x)?[2], 2) {
            true => Ok(()),
            false => n.error("a one-sided spectrum needs real and imaginary parts"),
        }
    }

    /// Transforms `[batch, length, parts]`. Returns `[batch, parts, length]`.
    fn fast(&self, n: &mut Node, x: Operand, length: i64) -> node::Result<Operand> {
        let of =
            Transform { length, inverse: self.inverse, scale: if self.inverse { 1.0 / length as f64 } else { 1.0 } };
        let is_even = length % 2 == 0;
        if self.inverse && self.half {
            self.expect_complex(n, &x)?;
            if is_even {
                return real::inverse(n, x, of);
            }
            let x = swap_parts(n, x)?;
            let x = real::extend(n, x, length)?;
            let x = swap_parts(n, x)?;
            let y = algorithm::append(n, x, of)?;
            return n.strided_slice(y, 1, 0i64.into(), 1i64.into(), 1);
        }
        let count = if self.half { length / 2 + 1 } else { length };
        if length <= MAX_DIRECT_LENGTH {
            return of.direct(n, x, count);
        }
        if is_even && parts(&n.dims(&x)?[2]) == 1 {
            let y = real::forward(n, x, of)?;
            return if self.half { Ok(y) } else { real::extend(n, y, length) };
        }
        let y = algorithm::append(n, x, of)?;
        if self.half { n.strided_slice(y, 2, 0i64.into(), count.into(), 1) } else { Ok(y) }
    }
}

/// Checks the length of a signal or frame.
pub fn checked_length(n: &Node, length: PrimExpr) -> node::Result<PrimExpr> {
    match length.as_int() {
        Some(known) if !(1..1 << 31).contains(&known) => {
            n.error(format!("its length is {known}, and has to be at least 1 and less than 2^31"))
        }
        _ => Ok(length),
    }
}

/// Number of elements of the first half of a spectrum.
fn half_length(length: &PrimExpr) -> PrimExpr {
    dims::offset(&dims::floordiv(length, &2i64.into()), 1)
}

fn permute(n: &mut Node, x: Operand, order: &[usize]) -> node::Result<Operand> {
    match order.is_sorted() {
        true => Ok(x),
        false => n.call_with("permute_dims", [x], &[("axes", node::axes_attr(order))]),
    }
}

/// Crops or zero-pads an axis to a length.
fn crop_or_pad(n: &mut Node, x: Operand, axis: usize, length: PrimExpr) -> node::Result<Operand> {
    let mut shape = n.dims(&x)?;
    if dims::equal(&shape[axis], &length) == Some(true) {
        return Ok(x);
    }
    let shorter = dims::at_least(&shape[axis], &length) == Some(true);
    let x = if shorter { x } else { n.append_zeros(x, axis, &length)? };
    let x = n.strided_slice(x, axis, 0i64.into(), length.clone(), 1)?;
    let ty = n.importer.build.tensor(&x)?;
    shape[axis] = length;
    if ty.shape.dims().is_some_and(|own| dims::all_equal(own, &shape)) {
        return Ok(x);
    }
    n.importer.build.match_cast(x, TensorType { shape: TensorShape::Known(shape.into()), ..ty }.into())
}
