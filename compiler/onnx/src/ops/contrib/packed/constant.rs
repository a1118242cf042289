//! Constant matrices of `MatMulNBits`, repacked for the kernel that QuantizeWeights uses as well.

use super::{Format, GROUPS, SCALES, WEIGHTS, ZEROS};
use crate::node::{self, Node};
use hammock_ir::{
    DType, Tensor,
    relax::{Constant, InferError, Operand},
};
use hammock_ops::packed_weights::{FLOAT_ACTIVATIONS, PackedWeights};

/// Accuracy levels that ask for activations in float32, float16 or bfloat16.
const FLOAT_LEVELS: std::ops::RangeInclusive<i64> = 1..=3;

impl Format {
    /// Returns a constant matrix that a kernel dequantizes; `None` if it is not constant, or its rows select their
    /// blocks.
    pub(super) fn constant(&self, n: &mut Node, dtype: DType) -> node::Result<Option<Operand>> {
        let zeros = n.constant(ZEROS)?;
        let (Some(weights), Some(scales)) = (n.constant(WEIGHTS)?, n.constant(SCALES)?) else { return Ok(None) };
        if (zeros.is_none() && n.given(ZEROS).is_some()) || !self.has_plain_groups(n)? {
            return Ok(None);
        }
        expect_dtypes(n, &weights, &scales)?;
        self.input(n, WEIGHTS, "weights", self.column_bytes())?;
        self.input(n, SCALES, "scales", self.blocks())?;
        let zeros = match zeros {
            Some(zeros) if zeros.dtype() == DType::UINT8 => {
                self.input(n, ZEROS, "zero points", self.zero_bytes())?;
                self.unpacked_zeros(&zeros)?
            }
            Some(zeros) => {
                self.input(n, ZEROS, "zero points", self.blocks())?;
                Some(zeros)
            }
            None => None,
        };
        let format = PackedWeights {
            shape: [self.rows, self.columns],
            bits: self.bits,
            is_signed: zeros.is_none(),
            group: self.block,
            dtype,
            scale_dtype: scales.dtype(),
            zero_dtype: zeros.as_ref().map(Tensor::dtype),
        };
        let mut args = vec![self.repacked(&weights, &format)?, self.transposed(&scales)?];
        if let Some(zeros) = zeros {
            args.push(self.transposed(&zeros)?);
        }
        let args = args.into_iter().map(|tensor| Operand::Const(Constant::new(tensor))).collect();
        let mut kernel = format.kernel();
        if FLOAT_LEVELS.contains(&n.attrs.int_or("accuracy_level", 0)?) {
            kernel.attrs.set(FLOAT_ACTIVATIONS, true);
        }
        n.importer.build.call_kernel("dequantize_weights", kernel, args, format.ty()).map(Some)
    }

    /// Returns true if each row belongs to the block at its index.
    fn has_plain_groups(&self, n: &mut Node) -> node::Result<bool> {
        if n.given(GROUPS).is_none() {
            return Ok(true);
        }
        let Some(groups) = n.constant(GROUPS)? else { return Ok(false) };
        let groups = groups.as_slice::<i32>().map_err(error)?;
        Ok(groups.iter().enumerate().all(|(row, group)| row as i64 / self.block == i64::from(*group)))
    }

    /// Repacks the bytes of columns; signed bytes are shifted by the default zero point, which flips their sign bits.
    fn repacked(&self, weights: &Tensor, format: &PackedWeights) -> node::Result<Tensor> {
        let bytes = weights.as_bytes().map_err(error)?;
        let width = self.column_bytes() as usize;
        if self.bits == 8 {
            let mut rows = transpose(bytes, width, self.rows as usize, 1);
            let signs = if format.is_signed { 0x80 } else { 0 };
            rows.iter_mut().for_each(|byte| *byte ^= signs);
            return Tensor::from_bytes(format.packed_dtype(), &format.packed_shape(), &rows).map_err(error);
        }
        let (bits, per_byte) = (self.bits as usize, 8 / self.bits as usize);
        let mask = 0xff >> (8 - bits);
        let words =
            format.pack(|row, column| (bytes[column * width + row / per_byte] >> (row % per_byte * bits)) & mask);
        Tensor::from_slice(&format.packed_shape(), &words).map_err(error)
    }

    /// Unpacks the zero points of blocks; `None` if all are the default.
    fn unpacked_zeros(&self, zeros: &Tensor) -> node::Result<Option<Tensor>> {
        let per_byte = 8 / self.bits;
        let number = |bytes: &[u8], block: i64| {
            let byte = bytes[(block / per_byte) as usize];
            (byte >> (block % per_byte * self.bits)) & (0xff >> (8 - self.bits))
        };
        let of_column = |bytes: &[u8]| (0..self.blocks()).map(|block| number(bytes, block)).collect::<Vec<_>>();
        let bytes = zeros.as_bytes().map_err(error)?;
        let unpacked: Vec<u8> = bytes.chunks_exact(self.zero_bytes() as usize).flat_map(of_column).collect();
        if unpacked.iter().all(|zero| *zero == 1 << (self.bits - 1)) {
            return Ok(None);
        }
        Tensor::from_slice(&[self.columns, self.blocks()], &unpacked).map(Some).map_err(error)
    }

    /// Returns the parameters of blocks as (blocks, columns).
    fn transposed(&self, parameters: &Tensor) -> node::Result<Tensor> {
        let (blocks, dtype) = (self.blocks() as usize, parameters.dtype());
        let bytes = transpose(parameters.as_bytes().map_err(error)?, blocks, blocks, dtype.bytes());
        Tensor::from_bytes(dtype, &[self.blocks(), self.columns], &bytes).map_err(error)
    }
}

/// Checks dtypes, on which the sizes of the data depend.
fn expect_dtypes(n: &Node, weights: &Tensor, scales: &Tensor) -> node::Result<()> {
    match (weights.dtype(), scales.dtype()) {
        (DType::UINT8, DType::FLOAT32 | DType::FLOAT16 | DType::BFLOAT16) => Ok(()),
        (weights, scales) => {
            n.error(format!("its weights have to be uint8 and its scales floats, not {weights} and {scales}"))
        }
    }
}

/// Transposes rows of elements, of which the first `kept` become rows.
fn transpose(bytes: &[u8], row: usize, kept: usize, width: usize) -> Vec<u8> {
    /// Rows and columns of a tile, which stays in cache.
    const TILE: usize = 64;
    let rows: Vec<&[u8]> = bytes.chunks_exact(row * width).collect();
    let mut transposed = vec![0; rows.len() * kept * width];
    for (tile, rows_of_tile) in rows.chunks(TILE).enumerate() {
        for first in (0..kept).step_by(TILE) {
            for column in first..kept.min(first + TILE) {
                let start = (column * rows.len() + tile * TILE) * width;
                let target = transposed[start..].chunks_exact_mut(width);
                for (to, from) in target.zip(rows_of_tile) {
                    to.copy_from_slice(&from[column * width..][..width]);
                }
            }
        }
    }
    transposed
}

fn error(error: hammock_runtime::value::TensorError) -> InferError {
    InferError::new(error.to_string())
}
