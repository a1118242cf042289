//! Max pooling with indices, and max unpooling.

use super::{Op, Result, op, windows::Windows};
use crate::node::{self, Node, product};
use hammock_ir::{DType, PrimExpr, relax::Operand};
use hammock_ops::dims;

pub const OPS: &[Op] = &[op("MaxUnpool", max_unpool).attributes("kernel_shape pads strides")];

/// Maximum number of window elements, which are unrolled.
const MAX_WINDOW_ELEMENTS: i64 = 256;

/// Returns the padding value of a max pooling: the lowest value of the dtype.
pub fn lowest_value(n: &Node, x: &Operand) -> node::Result<f64> {
    match n.dtype(x)? {
        dtype if dtype.is_floating() => Ok(f64::NEG_INFINITY),
        DType::INT8 => Ok(-128.0),
        DType::UINT8 => Ok(0.0),
        dtype => n.error(format!("the largest of {dtype} is not supported")),
    }
}

/// Max pooling that also returns the linear indices of the maxima in `x`.
pub fn max_pool_with_indices(n: &mut Node, x: Operand, kernel: &[i64], mut windows: Windows) -> Result {
    let rank = kernel.len();
    let count = kernel.iter().try_fold(1i64, |all, size| all.checked_mul(*size));
    if count.is_none_or(|count| count > MAX_WINDOW_ELEMENTS) {
        return n.error(format!("indices of windows with more than {MAX_WINDOW_ELEMENTS} elements are not supported"));
    }
    let (own, lowest_value) = (n.dims(&x)?, lowest_value(n, &x)?);
    let counts = windows.window_counts(n, &own[2..], kernel)?;
    let mut widths = vec![0i64; 4];
    (0..rank).for_each(|at| widths.extend([windows.pads[at], windows.pads[at + rank]]));
    let padded = n.call_with("nn.pad", [x], &[("pad_width", widths.into()), ("pad_value", lowest_value.into())])?;
    let padded = windows.pad_dynamic(n, padded, lowest_value)?;
    let columns_first = n.attrs.flag("storage_order")?;
    let step = |at: usize| product(if columns_first { &own[2..at + 2] } else { &own[at + 3..] });
    let mut best: Option<(Operand, Operand)> = None;
    for tap in crate::fold::indices_of(kernel) {
        let mut part = padded.clone();
        let mut flat: Option<Operand> = None;
        for (at, offset) in tap.iter().enumerate() {
            let begin = offset * windows.dilations[at];
            let end = dims::offset(&dims::mul(&counts[at], &windows.strides[at].into()), begin);
            part = n.slice_in_bounds(part, at + 2, begin.into(), end, windows.strides[at])?;
            let counted = n.arange(counts[at].clone())?;
            let from = n.with_scalar("multiply", &counted, windows.strides[at] as f64)?;
            let first = n.dims_vector(&[dims::sub(&begin.into(), &windows.before(at))])?;
            let from = n.call("add", [from, first])?;
            let step = n.dims_vector(&[step(at)])?;
            let from = n.call("multiply", [from, step])?;
            let shape = n.axis_shape(&counts[at], at + 2, rank + 2);
            let from = n.reshape(from, shape)?;
            flat = Some(n.accumulate_sum(flat, from)?);
        }
        let Some(flat) = flat else { return n.error("its windows have no dimensions") };
        best = Some(match best {
            None => (part, flat),
            Some((max, at)) => {
                let more = n.is_greater(&part, &max)?;
                (n.call("where", [more.clone(), part, max])?, n.call("where", [more, flat, at])?)
            }
        });
    }
    let Some((max, at)) = best else { return n.error("its windows are empty") };
    let images = n.arange(dims::mul(&own[0], &own[1]))?;
    let size = n.dims_vector(&[product(&own[2..])])?;
    let images = n.call("multiply", [images, size])?;
    let mut shape = vec![PrimExpr::int64(1); rank + 2];
    shape[..2].clone_from_slice(&own[..2]);
    let images = n.reshape(images, shape)?;
    let at = n.call("add", [images, at])?;
    let shape = n.dims(&max)?;
    let at = n.call("broadcast_to", [at, Operand::Shape(shape)])?;
    Ok(vec![max, at].into())
}

impl Node<'_, '_> {
    /// True if an element replaces the maximum so far: it is greater, or the first NaN.
    fn is_greater(&mut self, new: &Operand, old: &Operand) -> node::Result<Operand> {
        if !self.dtype(new)?.is_floating() {
            return self.call("greater", [new.clone(), old.clone()]);
        }
        let no_more = self.call("less_equal", [new.clone(), old.clone()])?;
        let is_nan = self.call("isnan", [old.clone()])?;
        let stays = self.call("logical_or", [no_more, is_nan])?;
        self.call("logical_not", [stays])
    }
}

/// Scatters elements to linear indices of the result, zeros elsewhere.
fn max_unpool(n: &mut Node) -> Result {
    let (x, indices) = (n.input(0)?, n.input_as_int64(1)?);
    let own = n.dims(&x)?;
    let Some(kernel) = n.attrs.ints("kernel_shape")? else { return n.error("its `kernel_shape` is missing") };
    let windows = Windows::with_static_padding(n, &x, &kernel)?;
    let rank = kernel.len();
    let mut inferred = own[..2].to_vec();
    for at in 0..rank {
        let steps = dims::mul(&dims::sub(&own[at + 2], &1i64.into()), &windows.strides[at].into());
        inferred.push(dims::add(&steps, &PrimExpr::int64(kernel[at] - windows.pads[at] - windows.pads[at + rank])));
    }
    let count = product(&own);
    let mut flat = n.reshape(indices, vec![count.clone()])?;
    let mut shape = inferred.clone();
    if n.given(2).is_some() {
        shape = match n.known_sizes(2, "output_shape") {
            Ok(sizes) => sizes,
            Err(_) => {
                let sizes = n.input_as_int64(2)?;
                n.symbolic_dims_with_prefix(sizes, &own[..2])?
            }
        };
        if shape.len() != rank + 2 {
            return n.error("its `output_shape` has another number of sizes");
        }
        flat = relinearize_indices(n, flat, &inferred, &shape)?;
    }
    let zero = n.scalar_like(0.0, &x)?;
    let zeros = n.call("full", [Operand::Shape(vec![product(&shape)]), zero])?;
    let x = n.reshape(x, vec![count])?;
    let y = n.call_with("scatter_elements", [zeros, flat, x], &[("axis", 0i64.into())])?;
    Ok(n.reshape(y, shape)?.into())
}

/// Converts linear indices of one shape to those of another.
fn relinearize_indices(n: &mut Node, flat: Operand, from: &[PrimExpr], to: &[PrimExpr]) -> node::Result<Operand> {
    let mut axes = Vec::new();
    for at in 0..from.len() {
        axes.push((n.dims_vector(&from[at..=at])?, n.dims_vector(&[product(&to[at + 1..])])?));
    }
    let relinearized = n.relinearize(flat, axes)?;
    relinearized.map_or_else(|| n.error("it has no dimensions"), Ok)
}
