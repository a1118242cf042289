//! Weight-only quantization: matrices of small integers, with a scale for each group of rows of a column.
//!
//! Integers of 8 bits are bytes. A 32-bit word holds `32 / bits` smaller ones of consecutive rows, each plus an offset
//! that makes it unsigned: four rows in the low bits of its bytes, the next four in the bits above, and so on. So the
//! same bits of a word are a packed group of four rows, and vectors of words are unpacked by shifts alone. Fused into a
//! matmul, the kernel dequantizes in registers.

mod constant;
mod matmul;
mod recognize;

use crate::legalize::fill_block;
pub use constant::QuantizedMatrix;
use hammock_ir::{
    Attrs, DType, PrimExpr, Span, TensorType, Type,
    tir::{Block, Buffer, Param, PrimFunc, Region},
};

/// Attribute of a kernel that dequantizes weights of matmuls whose activations must stay floats.
pub const FLOAT_ACTIVATIONS: &str = "float_activations";
/// Bits of a word.
const WORD_BITS: i64 = 32;
/// Rows of a packed group, one in each byte of a word.
const GROUP: i64 = 4;

/// Format of a packed matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackedWeights {
    /// Rows and columns.
    pub shape: [i64; 2],
    /// Bits of an integer: 2, 4 or 8.
    pub bits: i64,
    /// True if the integers are signed: of 8 bits, or stored with the offset `2^(bits - 1)`.
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
    /// Rows of an element of the packed matrix: a byte, or a word.
    pub fn rows_per_element(&self) -> i64 {
        if self.bits == 8 { 1 } else { WORD_BITS / self.bits }
    }

    /// Shape of the packed matrix.
    pub fn packed_shape(&self) -> [i64; 2] {
        let [rows, columns] = self.shape;
        let per_element = self.rows_per_element();
        [(rows + per_element - 1) / per_element, columns]
    }

    /// Packs a matrix of integers of less than 8 bits. `number` returns the bits of a row and column, with the offset.
    pub fn pack(&self, number: impl Fn(usize, usize) -> u8) -> Vec<u32> {
        let [rows, columns] = self.shape.map(|size| size as usize);
        let per_word = self.rows_per_element() as usize;
        let word = |first: usize, column: usize| {
            let rows = (first..rows.min(first + per_word)).map(|row| (row, column));
            rows.fold(0, |word, (row, column)| {
                word | u32::from(number(row, column)) << self.shift_of((row % per_word) as i64)
            })
        };
        let first_rows = (0..rows).step_by(per_word);
        first_rows.flat_map(|first| (0..columns).map(move |column| (first, column))).map(|(f, c)| word(f, c)).collect()
    }

    /// Returns the position of the bits of a row in its word.
    fn shift_of(&self, row: i64) -> i64 {
        row % GROUP * 8 + row / GROUP * self.bits
    }

    /// Shape of scales and zero points.
    pub fn parameter_shape(&self) -> [i64; 2] {
        [(self.shape[0] + self.group - 1) / self.group, self.shape[1]]
    }

    /// Dtype of the packed matrix.
    pub fn packed_dtype(&self) -> DType {
        match (self.bits, self.is_signed) {
            (8, true) => DType::INT8,
            (8, false) => DType::UINT8,
            _ => DType::UINT32,
        }
    }

    /// Type of the dequantized matrix.
    pub fn ty(&self) -> Type {
        TensorType::new(self.shape.map(PrimExpr::int64), self.dtype).into()
    }

    /// Returns the kernel that dequantizes a matrix. Its inputs are the packed matrix, the scales, and the zero points if
    /// they have a dtype.
    pub fn kernel(&self) -> PrimFunc {
        let buffer = |name: &str, shape: [i64; 2], dtype| Buffer::new(name, shape.map(PrimExpr::int64).to_vec(), dtype);
        let numbers = buffer("numbers", self.packed_shape(), self.packed_dtype());
        let scales = buffer("scales", self.parameter_shape(), self.scale_dtype);
        let zeros = self.zero_dtype.map(|dtype| buffer("zeros", self.parameter_shape(), dtype));
        let weights = buffer("weights", self.shape, self.dtype);
        let body = fill_block(&weights, Attrs::new(), |at| {
            let (index, group) =
                (vec![self.element_of(&at[0]), at[1].clone()], vec![self.group_of(&at[0]), at[1].clone()]);
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

    fn element_of(&self, row: &PrimExpr) -> PrimExpr {
        if self.bits == 8 { row.clone() } else { row.clone().floordiv(self.rows_per_element()) }
    }

    fn group_of(&self, row: &PrimExpr) -> PrimExpr {
        if self.parameter_shape()[0] == 1 { 0i64.into() } else { row.clone().floordiv(self.group) }
    }

    /// Extracts the integer of a row from its byte or word.
    fn number(&self, element: PrimExpr, row: &PrimExpr) -> PrimExpr {
        if self.bits == 8 {
            return element;
        }
        let bits = self.bits_of(element, row).cast(DType::INT32);
        if self.is_signed { bits - PrimExpr::int32(self.offset()) } else { bits }
    }

    /// Returns what makes signed integers unsigned.
    fn offset(&self) -> i32 {
        1 << (self.bits - 1)
    }

    /// Extracts the bits of a row from its word.
    fn bits_of(&self, element: PrimExpr, row: &PrimExpr) -> PrimExpr {
        let word = element.dtype();
        let mut position = row.clone().floormod(GROUP) * PrimExpr::int64(8);
        if self.rows_per_element() > GROUP {
            let above = row.clone().floormod(self.rows_per_element()).floordiv(GROUP);
            position = position + above * PrimExpr::int64(self.bits);
        }
        let shifted = PrimExpr::intrin("shift_right", vec![element, position.cast(word)], word);
        let mask = PrimExpr::int((1 << self.bits) - 1, word);
        PrimExpr::intrin("bitwise_and", vec![shifted, mask], word)
    }
}
