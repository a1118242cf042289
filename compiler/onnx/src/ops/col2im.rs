//! `Col2Im`: adds up the elements of overlapping blocks.
//!
//! Along an axis, element `k` of block `q` is at position `q * stride + k * dilation = (q + shift) * stride + phase`. So
//! the elements of a phase are a sum of blocks' elements, each shifted by a constant, and the phases of the axis are
//! interleaved. If that is not possible with a limited number of summands, the blocks are scattered.

use super::{Op, Result, op};
use crate::node::{self, Node, product};
use hammock_ir::{PrimExpr, relax::Operand};
use hammock_ops::dims;

pub const OPS: &[Op] = &[op("Col2Im", col2im).attributes("dilations pads strides")];

/// Maximum number of summands of an element.
const MAX_SUMMANDS: i64 = 64;

/// Blocks along one axis.
struct Axis {
    /// Size of the image.
    image: PrimExpr,
    /// Size of a block.
    block: PrimExpr,
    stride: i64,
    dilation: i64,
    /// Padding of the image before and after.
    pads: [i64; 2],
}

impl Axis {
    /// Size of the padded image.
    fn padded(&self) -> PrimExpr {
        dims::add(&self.image, &(self.pads[0] + self.pads[1]).into())
    }

    /// Number of blocks.
    fn blocks(&self) -> PrimExpr {
        let reach = dims::mul(&dims::sub(&self.block, &1i64.into()), &self.dilation.into());
        let room = dims::sub(&dims::sub(&self.padded(), &reach), &1i64.into());
        dims::add(&dims::floordiv(&room, &self.stride.into()), &1i64.into())
    }

    /// Number of summands of an element at most, if blocks are shifted by multiples of the stride.
    fn summands(&self) -> Option<i64> {
        let block = self.block.as_int().filter(|block| *block > 0)?;
        (self.stride == 1 || self.dilation == 1).then(|| (block + self.stride - 1) / self.stride)
    }

    /// Shift of a summand, in strides.
    fn shift(&self, summand: i64) -> i64 {
        summand * self.dilation
    }

    /// Number of elements of each phase: the blocks and all shifts.
    fn phase_size(&self, summands: i64) -> PrimExpr {
        dims::offset(&self.blocks(), self.shift(summands - 1))
    }

    /// Number of zeros behind the interleaved phases, up to the end of the image.
    fn uncovered(&self, summands: i64) -> Option<i64> {
        let covered = dims::mul(&self.phase_size(summands), &self.stride.into());
        let end = dims::offset(&self.image, self.pads[0]);
        dims::sub(&end, &covered).as_int().map(|missing| missing.max(0))
    }
}

fn col2im(n: &mut Node) -> Result {
    let x = n.input(0)?;
    let (image, block) = (n.sizes(1)?, n.sizes(2)?);
    let rank = block.len();
    let list = |name: &str, default: i64, len: usize| {
        node::Result::Ok(n.attrs.ints(name)?.unwrap_or_else(|| vec![default; len]))
    };
    let (strides, dilations, pads) =
        (list("strides", 1, rank)?, list("dilations", 1, rank)?, list("pads", 0, 2 * rank)?);
    let positive = |list: &[i64]| list.len() == rank && list.iter().all(|v| (1..1 << 31).contains(v));
    let padded = pads.len() == 2 * rank && pads.iter().all(|v| (0..1 << 31).contains(v));
    if image.len() != rank || rank == 0 || !positive(&strides) || !positive(&dilations) || !padded {
        return n.error("its shapes, strides, dilations and pads do not fit");
    }
    let axis = |at: usize| Axis {
        image: image[at].clone(),
        block: block[at].clone(),
        stride: strides[at],
        dilation: dilations[at],
        pads: [pads[at], pads[at + rank]],
    };
    let axes: Vec<Axis> = (0..rank).map(axis).collect();
    let summands: Option<Vec<i64>> = axes.iter().map(Axis::summands).collect();
    let summands = summands.filter(|counts| {
        counts.iter().try_fold(1i64, |all, n| all.checked_mul(*n)).is_some_and(|all| all <= MAX_SUMMANDS)
    });
    let uncovered = |counts: &Vec<i64>| {
        axes.iter().zip(counts).map(|(axis, count)| axis.uncovered(*count)).collect::<Option<Vec<i64>>>()
    };
    let y = match summands.and_then(|counts| Some((uncovered(&counts)?, counts))) {
        Some((uncovered, counts)) => n.in_accumulator_dtype(x, |n, x| sum_shifted(n, x, &axes, &counts, &uncovered))?,
        None => scatter(n, x, &axes)?,
    };
    let mut y = y;
    for (at, axis) in axes.iter().enumerate() {
        let begin = PrimExpr::int64(axis.pads[0]);
        y = n.slice_axis(y, at + 2, begin.clone(), dims::add(&begin, &axis.image))?;
    }
    Ok(y.into())
}

/// Batch and channels of the image.
fn batch_and_channels(n: &mut Node, x: &Operand, axes: &[Axis]) -> node::Result<[PrimExpr; 2]> {
    let [batch, columns, _] = n.dims(x)?.try_into().or_else(|_| n.error("its input has to have 3 dimensions"))?;
    let block: Vec<PrimExpr> = axes.iter().map(|axis| axis.block.clone()).collect();
    Ok([batch, dims::floordiv(&columns, &product(&block))])
}

/// Pads axes by numbers of zeros before and after.
fn pad(n: &mut Node, x: Operand, widths: Vec<i64>) -> node::Result<Operand> {
    match widths.iter().all(|width| *width == 0) {
        true => Ok(x),
        false => n.call_with("nn.pad", [x], &[("pad_width", widths.into()), ("pad_value", 0.0.into())]),
    }
}

/// The padded image as a sum of shifted elements of blocks.
fn sum_shifted(n: &mut Node, x: Operand, axes: &[Axis], counts: &[i64], uncovered: &[i64]) -> node::Result<Operand> {
    let rank = axes.len();
    let leading = batch_and_channels(n, &x, axes)?;
    let blocks: Vec<PrimExpr> = axes.iter().map(Axis::blocks).collect();
    let block: Vec<PrimExpr> = axes.iter().map(|axis| axis.block.clone()).collect();
    let x = n.reshape(x, [&leading[..], &block, &blocks].concat())?;
    // Blocks of whole strides: each axis becomes one of summands and one of phases.
    let missing = axes.iter().zip(counts).map(|(axis, count)| count * axis.stride - axis.block.as_int().unwrap_or(0));
    let widths = [0; 4].into_iter().chain(missing.flat_map(|missing| [0, missing])).chain(vec![0; 2 * rank]);
    let x = pad(n, x, widths.collect())?;
    let phases: Vec<PrimExpr> = axes.iter().map(|axis| axis.stride.into()).collect();
    let split = counts.iter().zip(&phases).flat_map(|(count, phases)| [(*count).into(), phases.clone()]);
    let shape: Vec<PrimExpr> = leading.iter().cloned().chain(split).chain(blocks.iter().cloned()).collect();
    let x = n.reshape(x, shape)?;
    let mut sum = None;
    for summand in crate::fold::indices_of(counts) {
        let mut part = x.clone();
        let mut widths = vec![0; 2 * (2 + rank)];
        for (at, (axis, index)) in axes.iter().zip(&summand).enumerate() {
            part = n.slice_axis(part, 2 + 2 * at, (*index).into(), (index + 1).into())?;
            widths.extend([axis.shift(*index), axis.shift(counts[at] - 1 - index)]);
        }
        let part = n.reshape(part, [&leading[..], &phases, &blocks].concat())?;
        let part = pad(n, part, widths)?;
        sum = Some(n.accumulate_sum(sum, part)?);
    }
    let Some(sum) = sum else { return n.error("its shapes are empty") };
    // The phases of each axis behind it.
    let order = [0, 1].into_iter().chain((0..rank).flat_map(|at| [2 + rank + at, 2 + at]));
    let order: Vec<i64> = order.map(|at| at as i64).collect();
    let interleaved = n.call_with("permute_dims", [sum], &[("axes", order.into())])?;
    let sizes = axes.iter().zip(counts).map(|(axis, count)| dims::mul(&axis.phase_size(*count), &axis.stride.into()));
    let y = n.reshape(interleaved, leading.into_iter().chain(sizes).collect())?;
    pad(n, y, [0; 4].into_iter().chain(uncovered.iter().flat_map(|zeros| [0, *zeros])).collect())
}

/// The padded image, by a scatter of all elements of the blocks.
fn scatter(n: &mut Node, x: Operand, axes: &[Axis]) -> node::Result<Operand> {
    let rank = axes.len();
    let [batch, channels] = batch_and_channels(n, &x, axes)?;
    let (blocks, wide): (Vec<_>, Vec<_>) = axes.iter().map(|axis| (axis.blocks(), axis.padded())).unzip();
    let block: Vec<PrimExpr> = axes.iter().map(|axis| axis.block.clone()).collect();
    // Linear index in the padded image of each element of each block, in the order of the columns.
    let mut flat: Option<Operand> = None;
    for (at, axis) in axes.iter().enumerate() {
        let mut along = |size: &PrimExpr, by: i64, axis: usize| {
            let counted = n.arange(size.clone())?;
            let offsets = n.with_scalar("multiply", &counted, by as f64)?;
            let shape = n.axis_shape(size, axis, 2 * rank);
            n.reshape(offsets, shape)
        };
        let (inner, outer) = (along(&axis.block, axis.dilation, at)?, along(&blocks[at], axis.stride, rank + at)?);
        let offset = n.call("add", [inner, outer])?;
        let step = n.dims_vector(&[product(&wide[at + 1..])])?;
        let offset = n.call("multiply", [offset, step])?;
        flat = Some(n.accumulate_sum(flat, offset)?);
    }
    let Some(flat) = flat else { return n.error("its shapes are empty") };
    let (rows, all) = (dims::mul(&batch, &channels), dims::mul(&product(&block), &product(&blocks)));
    let flat = n.reshape(flat, vec![1i64.into(), all.clone()])?;
    let flat = n.call("broadcast_to", [flat, Operand::Shape(vec![rows.clone(), all.clone()])])?;
    let zero = n.scalar_like(0.0, &x)?;
    let zeros = n.call("full", [Operand::Shape(vec![rows.clone(), product(&wide)]), zero])?;
    let x = n.reshape(x, vec![rows, all])?;
    let y = n.call_with("scatter_elements", [zeros, flat, x], &[("axis", 1i64.into()), ("reduction", "add".into())])?;
    n.reshape(y, [&[batch, channels], wide.as_slice()].concat())
}
