//! Max pooling with indices, and max unpooling.

use super::{Op, Result, op, pool::Windows};
use crate::node::{self, Node, product};
use hammock_ir::{DType, PrimExpr, relax::Operand};
use hammock_ops::dims;

pub const OPS: &[Op] = &[op("MaxUnpool", unpool)];

/// Maximum number of window elements, which are unrolled.
const MOST_ELEMENTS: i64 = 256;

/// Returns the padding value of a max pooling: the lowest value of the dtype.
pub fn lowest(n: &Node, x: &Operand) -> node::Result<f64> {
    match n.dtype(x)? {
        dtype if dtype.is_floating() => Ok(f64::NEG_INFINITY),
        DType::INT8 => Ok(-128.0),
        DType::UINT8 => Ok(0.0),
        dtype => n.error(format!("the largest of {dtype} is not supported")),
    }
}

/// Max pooling that also returns the linear indices of the maxima in `x`.
pub fn max_with_places(n: &mut Node, x: Operand, kernel: &[i64], mut windows: Windows) -> Result {
    let rank = kernel.len();
    let count = kernel.iter().try_fold(1i64, |all, size| all.checked_mul(*size));
    if count.is_none_or(|count| count > MOST_ELEMENTS) {
        return n.error(format!("places of the largest of more than {MOST_ELEMENTS} are not supported"));
    }
    let (own, lowest) = (n.dims(&x)?, lowest(n, &x)?);
    let counts = windows.all_counts(n, &own[2..], kernel)?;
    let mut widths = vec![0i64; 4];
    (0..rank).for_each(|at| widths.extend([windows.pads[at], windows.pads[at + rank]]));
    let padded = n.call_with("nn.pad", [x], &[("pad_width", widths.into()), ("pad_value", lowest.into())])?;
    let padded = windows.padded(n, padded, lowest)?;
    let columns_first = n.attrs.flag("storage_order")?;
    let step = |at: usize| product(if columns_first { &own[2..at + 2] } else { &own[at + 3..] });
    let mut best: Option<(Operand, Operand)> = None;
    for place in crate::fold::places(kernel) {
        let mut part = padded.clone();
        let mut flat: Option<Operand> = None;
        for (at, offset) in place.iter().enumerate() {
            let begin = offset * windows.dilations[at];
            let end = dims::offset(&dims::mul(&counts[at], &windows.strides[at].into()), begin);
            part = n.inner_steps(part, at + 2, begin.into(), end, windows.strides[at])?;
            let counted = n.count_to(counts[at].clone())?;
            let from = n.with_number("multiply", &counted, windows.strides[at] as f64)?;
            let first = n.vector(&[dims::sub(&begin.into(), &windows.before(at))])?;
            let from = n.call("add", [from, first])?;
            let step = n.vector(&[step(at)])?;
            let from = n.call("multiply", [from, step])?;
            let shape = n.beside(&counts[at], at + 2, rank + 2);
            let from = n.reshape(from, shape)?;
            flat = Some(n.plus(flat, from)?);
        }
        let Some(flat) = flat else { return n.error("its windows have no dimensions") };
        best = Some(match best {
            None => (part, flat),
            Some((most, at)) => {
                let more = n.is_greater(&part, &most)?;
                (n.call("where", [more.clone(), part, most])?, n.call("where", [more, flat, at])?)
            }
        });
    }
    let Some((most, at)) = best else { return n.error("its windows are empty") };
    let images = n.count_to(dims::mul(&own[0], &own[1]))?;
    let size = n.vector(&[product(&own[2..])])?;
    let images = n.call("multiply", [images, size])?;
    let mut shape = vec![PrimExpr::int64(1); rank + 2];
    shape[..2].clone_from_slice(&own[..2]);
    let images = n.reshape(images, shape)?;
    let at = n.call("add", [images, at])?;
    let shape = n.dims(&most)?;
    let at = n.call("broadcast_to", [at, Operand::Shape(shape)])?;
    Ok(vec![most, at].into())
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
fn unpool(n: &mut Node) -> Result {
    let (x, places) = (n.input(0)?, n.int64(1)?);
    let own = n.dims(&x)?;
    let Some(kernel) = n.attrs.ints("kernel_shape")? else { return n.error("its `kernel_shape` is missing") };
    let windows = Windows::of(n, &x, &kernel)?;
    let rank = kernel.len();
    let mut inferred = own[..2].to_vec();
    for at in 0..rank {
        let steps = dims::mul(&dims::sub(&own[at + 2], &1i64.into()), &windows.strides[at].into());
        inferred.push(dims::add(&steps, &PrimExpr::int64(kernel[at] - windows.pads[at] - windows.pads[at + rank])));
    }
    let count = product(&own);
    let mut flat = n.reshape(places, vec![count.clone()])?;
    let mut shape = inferred.clone();
    if n.given(2).is_some() {
        shape = match n.known_sizes(2, "output_shape") {
            Ok(sizes) => sizes,
            Err(_) => {
                let sizes = n.int64(2)?;
                n.sizes_from(sizes, &own[..2])?
            }
        };
        if shape.len() != rank + 2 {
            return n.error("its `output_shape` has another number of sizes");
        }
        flat = moved(n, flat, &inferred, &shape)?;
    }
    let zero = n.number(0.0, &x)?;
    let zeros = n.call("full", [Operand::Shape(vec![product(&shape)]), zero])?;
    let x = n.reshape(x, vec![count])?;
    let y = n.call_with("scatter_elements", [zeros, flat, x], &[("axis", 0i64.into())])?;
    Ok(n.reshape(y, shape)?.into())
}

/// Converts linear indices of one shape to those of another.
fn moved(n: &mut Node, flat: Operand, from: &[PrimExpr], to: &[PrimExpr]) -> node::Result<Operand> {
    let mut axes = Vec::new();
    for at in 0..from.len() {
        axes.push((n.vector(&from[at..=at])?, n.vector(&[product(&to[at + 1..])])?));
    }
    let place = n.recounted(flat, axes)?;
    place.map_or_else(|| n.error("it has no dimensions"), Ok)
}
