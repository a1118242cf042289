//! Weight-only quantization: matrices of small integers packed in bytes, with a scale for each group of rows of a
//! column.
//!
//! A byte holds `8 / bits` integers of consecutive rows, the first in its low bits. Fused into a matmul, the kernel
//! dequantizes in registers.

use crate::legalize::fill_block;
use hammock_ir::{
    Attrs, DType, PrimExpr, Span, TensorType, Type,
    tir::{Block, Buffer, Param, PrimFunc, Region},
};

/// Format of a packed matrix.
#[derive(Clone, Copy, Debug)]
pub struct PackedWeights {
    /// Rows and columns.
    pub shape: [i64; 2],
    /// Bits of an integer: 2, 4 or 8.
    pub bits: i64,
    /// True if the integers are signed.
    pub is_signed: bool,
    /// Rows per group.
    pub group: i64,
    /// Dtype of the dequantized matrix.
    pub dtype: DType,
    /// Dtype of the scales.
    pub scale_dtype: DType,
    /// Dtype of the zero points; `None` if they are zero.
    pub zero_dtype: Option<DType>,
}

impl PackedWeights {
    /// Shape of the bytes.
    pub fn packed_shape(&self) -> [i64; 2] {
        let [rows, columns] = self.shape;
        [(rows * self.bits + 7) / 8, columns]
    }

    /// Shape of scales and zero points.
    pub fn parameter_shape(&self) -> [i64; 2] {
        [(self.shape[0] + self.group - 1) / self.group, self.shape[1]]
    }

    /// Dtype of the bytes.
    pub fn packed_dtype(&self) -> DType {
        if self.bits == 8 && self.is_signed { DType::INT8 } else { DType::UINT8 }
    }

    /// Type of the dequantized matrix.
    pub fn ty(&self) -> Type {
        TensorType::new(self.shape.map(PrimExpr::int64), self.dtype).into()
    }

    /// Returns the kernel that dequantizes a matrix. Its inputs are the bytes, the scales, and the zero points if they
    /// have a dtype.
    pub fn kernel(&self) -> PrimFunc {
        let buffer = |name: &str, shape: [i64; 2], dtype| Buffer::new(name, shape.map(PrimExpr::int64).to_vec(), dtype);
        let numbers = buffer("numbers", self.packed_shape(), self.packed_dtype());
        let scales = buffer("scales", self.parameter_shape(), self.scale_dtype);
        let zeros = self.zero_dtype.map(|dtype| buffer("zeros", self.parameter_shape(), dtype));
        let weights = buffer("weights", self.shape, self.dtype);
        let body = fill_block(&weights, Attrs::new(), |at| {
            let (index, group) =
                (vec![self.byte_of(&at[0]), at[1].clone()], vec![self.group_of(&at[0]), at[1].clone()]);
            let number = self.number(PrimExpr::load(&numbers, index.clone()), &at[0]);
            let mut reads = vec![Region::point(&numbers, index), Region::point(&scales, group.clone())];
            let shifted = match &zeros {
                Some(zeros) => {
                    reads.push(Region::point(zeros, group.clone()));
                    let exact = if zeros.dtype.is_integer() { DType::INT32 } else { DType::FLOAT32 };
                    number.cast(exact) - PrimExpr::load(zeros, group.clone()).cast(exact)
                }
                None => number,
            };
            let value = shifted.cast(DType::FLOAT32) * PrimExpr::load(&scales, group).cast(DType::FLOAT32);
            (value.cast(self.dtype), reads)
        });
        let buffers = [Some(numbers), Some(scales), zeros, Some(weights)];
        PrimFunc {
            params: buffers.into_iter().flatten().map(Param::buffer).collect(),
            ret_ty: None,
            body: Block::root(Vec::new(), body).into(),
            attrs: Attrs::new().with("tirx.noalias", true),
            s_tir: true,
            span: Span::NONE,
        }
    }

    fn byte_of(&self, row: &PrimExpr) -> PrimExpr {
        if self.bits == 8 { row.clone() } else { row.clone().floordiv(8 / self.bits) }
    }

    fn group_of(&self, row: &PrimExpr) -> PrimExpr {
        if self.parameter_shape()[0] == 1 { 0i64.into() } else { row.clone().floordiv(self.group) }
    }

    /// Extracts the integer of a row from its byte. Signed ones are shifted left and arithmetically back.
    fn number(&self, byte: PrimExpr, row: &PrimExpr) -> PrimExpr {
        if self.bits == 8 {
            return byte;
        }
        let int = |value: i64| PrimExpr::int(value, DType::INT32);
        let shift = |op: &str, x, by| PrimExpr::intrin(op, vec![x, by], DType::INT32);
        let bit = (row.clone().floormod(8 / self.bits) * PrimExpr::int64(self.bits)).cast(DType::INT32);
        let byte = byte.cast(DType::INT32);
        match self.is_signed {
            true => shift("shift_right", shift("shift_left", byte, int(32 - self.bits) - bit), int(32 - self.bits)),
            false => shift("bitwise_and", shift("shift_right", byte, bit), int((1 << self.bits) - 1)),
        }
    }
}
