//! Operators on weights of 2, 4 or 8 bits, packed in bytes, with scales and zero points for blocks of elements.

mod constant;
mod lookup;

use super::{
    super::{Op, Result},
    op,
};
use crate::node::{self, Node};
use hammock_ir::{DType, PrimExpr, relax::Operand};
use hammock_ops::dims;

pub const OPS: &[Op] = &[
    op("GatherBlockQuantized", gather).handles_sub_byte().attributes("bits block_size gather_axis quantize_axis"),
    op("MatMulBnb4", lookup::matmul).attributes("K N block_size quant_type training_mode transB"),
    op("MatMulNBits", matmul).attributes("K N accuracy_level bits block_size weight_prepacked"),
];

/// Indices of `MatMulNBits`'s inputs.
const WEIGHTS: usize = 1;
const SCALES: usize = 2;
const ZEROS: usize = 3;
const GROUPS: usize = 4;
const BIAS: usize = 5;

/// Maximum of `K`, `N` and `block_size`; the number of elements of a matrix fits into an int64.
const MAX_SIZE: i64 = 1 << 30;

/// Format of the matrix of `MatMulNBits`: transposed, and divided into blocks along its rows, each in whole bytes.
struct Format {
    bits: i64,
    block: i64,
    rows: i64,
    columns: i64,
}

impl Format {
    fn of(n: &Node) -> node::Result<Format> {
        let positive = |name: &str| match n.attrs.int(name)?.filter(|size| (1..=MAX_SIZE).contains(size)) {
            Some(size) => Ok(size),
            None => n.error(format!("its `{name}` has to be a positive integer")),
        };
        let (rows, columns, block) = (positive("K")?, positive("N")?, positive("block_size")?);
        if n.attrs.flag("weight_prepacked")? {
            return n.error("weights that are packed for a GPU already are not supported");
        }
        if block < 16 || !(block as u64).is_power_of_two() {
            return n.error(format!("its `block_size` has to be a power of two from 16 on, not {block}"));
        }
        Ok(Format { bits: bits(n)?, block, rows, columns })
    }

    fn blocks(&self) -> i64 {
        (self.rows + self.block - 1) / self.block
    }

    /// Bytes of a column.
    fn column_bytes(&self) -> i64 {
        self.blocks() * self.block * self.bits / 8
    }

    /// Bytes of the zero points of a column.
    fn zero_bytes(&self) -> i64 {
        (self.blocks() * self.bits + 7) / 8
    }

    /// Returns an input, with a row for each column of the matrix.
    fn input(&self, n: &mut Node, at: usize, name: &str, width: i64) -> node::Result<Operand> {
        let x = n.input(at)?;
        let count = node::product(&n.dims(&x)?);
        let needed = self.columns * width;
        if count.as_int().is_some_and(|count| count != needed) {
            let count = node::shown_size(&count);
            return n.error(format!(
                "its {name} have {count} elements, but `K`, `N`, `bits` and `block_size` need {needed}"
            ));
        }
        n.reshape(x, vec![self.columns.into(), width.into()])
    }

    /// Dequantizes the matrix by operators, and returns it as (rows, columns).
    fn dequantized(&self, n: &mut Node, dtype: DType) -> node::Result<Operand> {
        let bytes = self.input(n, WEIGHTS, "weights", self.column_bytes())?;
        let numbers = unpack(n, bytes, self.bits)?;
        let numbers = n.slice_axis(numbers, 1, 0i64.into(), self.rows.into())?;
        let numbers = n.cast(numbers, DType::FLOAT32)?;
        let scales = self.input(n, SCALES, "scales", self.blocks())?;
        let scales = self.per_row(n, scales)?;
        let shifted = match self.zeros(n)? {
            Some(zeros) => {
                let zeros = self.per_row(n, zeros)?;
                n.call("subtract", [numbers, zeros])?
            }
            None => n.with_scalar("subtract", &numbers, f64::from(1 << (self.bits - 1)))?,
        };
        let weights = n.call("multiply", [shifted, scales])?;
        let weights = n.cast(weights, dtype)?;
        n.call("permute_dims", [weights])
    }

    /// Returns the zero points of blocks, one element each.
    fn zeros(&self, n: &mut Node) -> node::Result<Option<Operand>> {
        let Some(zeros) = n.optional(ZEROS)? else { return Ok(None) };
        if n.dtype(&zeros)? != DType::UINT8 {
            return self.input(n, ZEROS, "zero points", self.blocks()).map(Some);
        }
        let bytes = self.input(n, ZEROS, "zero points", self.zero_bytes())?;
        let zeros = unpack(n, bytes, self.bits)?;
        n.slice_axis(zeros, 1, 0i64.into(), self.blocks().into()).map(Some)
    }

    /// Returns the parameter of each row's block in float32: the block at its index, or the one that an input selects.
    fn per_row(&self, n: &mut Node, parameter: Operand) -> node::Result<Operand> {
        let parameter = n.cast(parameter, DType::FLOAT32)?;
        let parameter = match n.optional(GROUPS)? {
            Some(groups) => n.call_with("take", [parameter, groups], &[("axis", 1i64.into())])?,
            None => n.call_with("repeat", [parameter], &[("repeats", self.block.into()), ("axis", 1i64.into())])?,
        };
        n.slice_axis(parameter, 1, 0i64.into(), self.rows.into())
    }
}

/// Inputs: data, the packed matrix, scales, zero points, the block of each row, and a bias.
fn matmul(n: &mut Node) -> Result {
    let format = Format::of(n)?;
    let x = n.input(0)?;
    let dtype = n.dtype(&x)?;
    let weights = match format.constant(n, dtype)? {
        Some(weights) => weights,
        None => format.dequantized(n, dtype)?,
    };
    let y = n.call("matmul", [x, weights])?;
    Ok(match n.optional(BIAS)? {
        Some(bias) => n.call("add", [y, bias])?,
        None => y,
    }
    .into())
}

fn bits(n: &Node) -> node::Result<i64> {
    match n.attrs.int_or("bits", 4)? {
        bits @ (2 | 4 | 8) => Ok(bits),
        bits => n.error(format!("its `bits` have to be 2, 4 or 8, not {bits}")),
    }
}

/// Unpacks the bytes of the last axis into elements; the first is in the low bits.
fn unpack(n: &mut Node, bytes: Operand, bits: i64) -> node::Result<Operand> {
    if bits == 8 {
        return Ok(bytes);
    }
    let mut shape = n.dims(&bytes)?;
    let Some(last) = shape.last_mut() else { return n.error("its packed data have no dimensions") };
    *last = dims::mul(last, &(8 / bits).into());
    let part = |shift: i64| {
        let shifted = if shift == 0 { bytes.clone() } else { n.with_scalar("right_shift", &bytes, shift as f64)? };
        n.with_scalar("bitwise_and", &shifted, f64::from((1 << bits) - 1))
    };
    let parts = (0..8).step_by(bits as usize).map(part).collect::<node::Result<Vec<_>>>()?;
    let stacked = n.call_with("stack", [Operand::Tuple(parts)], &[("axis", (-1i64).into())])?;
    n.reshape(stacked, shape)
}

/// Inputs: data, indices, scales and zero points. Elements of bytes are packed along the last axis. An index that is out
/// of range selects zeros.
fn gather(n: &mut Node) -> Result {
    let element = n.value(0)?.narrow();
    let (data, indices, scales) = (n.input(0)?, n.input(1)?, n.input(2)?);
    let is_packed = element.is_none() && n.dtype(&data)? == DType::UINT8;
    if !is_packed && !element.is_some_and(|element| element.stored.is_integer()) {
        return n.error("its data have to be int4, uint4 or uint8");
    }
    let rank = n.rank(&data)?;
    let axis = n.axis(n.attrs.int_or("gather_axis", 0)?, rank)?;
    let along = n.axis(n.attrs.int_or("quantize_axis", 1)?, rank)?;
    let block = n.attrs.int_or("block_size", 128)?;
    if block < 16 || !(block as u64).is_power_of_two() {
        return n.error(format!("its `block_size` has to be a power of two from 16 on, not {block}"));
    }
    let bits = if is_packed { bits(n)? } else { 8 };
    if bits < 8 && (axis == rank - 1 || along != rank - 1) {
        return n.error("packed data have to be quantized along the last axis, and gathered along another one");
    }
    if axis == along {
        return n.error("its `gather_axis` and its `quantize_axis` have to differ");
    }
    let size = n.dims(&data)?[axis].clone();
    let after = if along > axis { along + n.rank(&indices)? - 1 } else { along };
    let take = |n: &mut Node, x: Operand| n.call_with("take", [x, indices.clone()], &[("axis", (axis as i64).into())]);
    let numbers = take(n, data)?;
    let numbers = unpack(n, numbers, bits)?;
    let width = n.dims(&numbers)?[after].clone();
    let numbers = n.cast(numbers, DType::FLOAT32)?;
    let spread = |n: &mut Node, x: Operand| -> node::Result<Operand> {
        let x = n.cast(x, DType::FLOAT32)?;
        let attrs = [("repeats", block.into()), ("axis", (after as i64).into())];
        let x = n.call_with("repeat", [x], &attrs)?;
        n.slice_axis(x, after, 0i64.into(), width.clone())
    };
    let shifted = match n.optional(3)? {
        Some(zeros) => {
            let zeros = take(n, zeros)?;
            let zeros = unpack(n, zeros, bits)?;
            let zeros = spread(n, zeros)?;
            n.call("subtract", [numbers, zeros])?
        }
        None if is_packed => n.with_scalar("subtract", &numbers, f64::from(1 << (bits - 1)))?,
        None => numbers,
    };
    let dtype = n.dtype(&scales)?;
    let scales = take(n, scales)?;
    let scales = spread(n, scales)?;
    let y = n.call("multiply", [shifted, scales])?;
    let y = n.cast(y, dtype)?;
    in_range(n, y, &indices, &size, axis).map(Into::into)
}

/// Replaces what indices outside of an axis selected by zeros.
fn in_range(n: &mut Node, y: Operand, indices: &Operand, size: &PrimExpr, axis: usize) -> node::Result<Operand> {
    let wide = n.cast(indices.clone(), DType::INT64)?;
    let (sizes, rank) = (n.dims(&wide)?, n.rank(&y)?);
    let (end, start) = (n.dims_vector(std::slice::from_ref(size))?, n.dims_vector(&[dims::sub(&0i64.into(), size)])?);
    let (below, above) = (n.call("less", [wide.clone(), end])?, n.call("greater_equal", [wide, start])?);
    let inside = n.call("logical_and", [below, above])?;
    let mut shape = vec![PrimExpr::int64(1); rank];
    shape.splice(axis..axis + sizes.len(), sizes);
    let inside = n.reshape(inside, shape)?;
    let zero = n.scalar_like(0.0, &y)?;
    n.call("where", [inside, y, zero])
}
