//! Constant quantized matrices, packed for the kernel that dequantizes them.

use super::PackedWeights;
use hammock_ir::{DType, Tensor};
use hammock_runtime::value::TensorError;

/// Integers of less than 8 bits that elements are packed in, if they all fit.
const NARROW_BITS: i64 = 4;
/// Rows of a group of words. Matmuls unroll a part of a group, which is loaded once and shifted by constants.
const GROUP_OF_WORDS: i64 = 256;

/// A constant matrix of 8-bit integers, `(numbers - zeros) * scales`.
#[derive(Clone)]
pub struct QuantizedMatrix {
    /// int8 or uint8 of shape (rows, columns).
    pub numbers: Tensor,
    /// Floats of shape (groups, columns).
    pub scales: Tensor,
    /// int8 or uint8 of shape (groups, columns); `None` if they are zero.
    pub zeros: Option<Tensor>,
    /// Rows per group.
    pub group: i64,
}

impl QuantizedMatrix {
    /// Returns the format of the packed matrix with elements of `dtype`, and the inputs of its kernel. Elements that fit
    /// into 4 bits are packed in words. `None` if the dtypes or shapes are others.
    ///
    /// # Errors
    /// If a tensor cannot be read or allocated.
    pub fn packed(&self, dtype: DType) -> Result<Option<(PackedWeights, Vec<Tensor>)>, TensorError> {
        let &[rows, columns] = self.numbers.shape() else { return Ok(None) };
        let is_signed = self.numbers.dtype() == DType::INT8;
        let bytes = self.numbers.as_bytes()?;
        let mut format = PackedWeights {
            shape: [rows, columns],
            bits: if is_narrow(bytes, is_signed) { NARROW_BITS } else { 8 },
            is_signed,
            group: self.group,
            dtype,
            scale_dtype: self.scales.dtype(),
            zero_dtype: self.zeros.as_ref().map(Tensor::dtype),
        };
        let mut parameters = [Some(&self.scales), self.zeros.as_ref()].into_iter().flatten();
        let fits = rows.min(columns).min(self.group) > 0
            && is_byte(self.numbers.dtype())
            && is_float(self.scales.dtype())
            && is_float(dtype)
            && format.zero_dtype.is_none_or(is_byte)
            && parameters.all(|tensor| tensor.shape() == format.parameter_shape());
        if !fits {
            return Ok(None);
        }
        let is_one_group = format.parameter_shape()[0] == 1;
        format.group = self.group.min(rows);
        if is_one_group && format.bits < 8 {
            format.group = format.group.min(GROUP_OF_WORDS);
        }
        let groups = format.parameter_shape()[0];
        let parameter = |tensor: &Tensor| match is_one_group && groups > 1 {
            true => Tensor::from_bytes(tensor.dtype(), &[groups, columns], &tensor.as_bytes()?.repeat(groups as usize)),
            false => Ok(tensor.clone()),
        };
        let numbers = match format.bits {
            8 => self.numbers.clone(),
            _ => {
                let offset = if is_signed { format.offset() as u8 } else { 0 };
                let words = format.pack(|row, column| bytes[row * columns as usize + column].wrapping_add(offset));
                Tensor::from_slice(&format.packed_shape(), &words)?
            }
        };
        let zeros = self.zeros.as_ref().map(parameter).transpose()?;
        let inputs = [numbers, parameter(&self.scales)?].into_iter().chain(zeros).collect();
        Ok(Some((format, inputs)))
    }
}

fn is_byte(dtype: DType) -> bool {
    matches!(dtype, DType::INT8 | DType::UINT8)
}

fn is_float(dtype: DType) -> bool {
    matches!(dtype, DType::FLOAT32 | DType::FLOAT16 | DType::BFLOAT16)
}

/// Returns true if all integers fit into [`NARROW_BITS`]. Zeros alone stand for weights that are not known yet.
fn is_narrow(bytes: &[u8], is_signed: bool) -> bool {
    let offset = if is_signed { 1 << (NARROW_BITS - 1) } else { 0 };
    bytes.iter().any(|byte| *byte != 0) && bytes.iter().all(|byte| byte.wrapping_add(offset) < 1 << NARROW_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(numbers: Tensor) -> QuantizedMatrix {
        let columns = numbers.shape()[1];
        let scales = Tensor::from_slice(&[1, columns], &vec![0.5f32; columns as usize]).unwrap();
        QuantizedMatrix { group: numbers.shape()[0], numbers, scales, zeros: None }
    }

    #[test]
    fn integers_of_4_bits_are_packed_in_words() {
        let numbers = Tensor::from_slice(&[9, 1], &[-8i8, 7, 0, 1, -1, 2, 3, 4, 5]).unwrap();
        let (format, inputs) = matrix(numbers).packed(DType::FLOAT32).unwrap().unwrap();
        assert_eq!((format.bits, format.is_signed, format.group), (4, true, 9));
        // Rows 0 to 3 are in the low bits of the bytes of a word, rows 4 to 7 in the high bits, each plus 8.
        assert_eq!(inputs[0].as_slice::<u32>().unwrap(), [0xc9_b8_af_70, 0x0d]);
        let numbers = Tensor::from_slice(&[2, 1], &[15u8, 3]).unwrap();
        let (format, inputs) = matrix(numbers).packed(DType::FLOAT32).unwrap().unwrap();
        assert_eq!((format.bits, format.is_signed), (4, false));
        assert_eq!(inputs[0].as_slice::<u32>().unwrap(), [0x03_0f]);
    }

    #[test]
    fn parameters_of_long_columns_are_repeated() {
        let numbers = Tensor::from_slice(&[600, 2], &[1i8; 1200]).unwrap();
        let zeros = Some(Tensor::from_slice(&[1, 2], &[3i8, 4]).unwrap());
        let (format, inputs) = QuantizedMatrix { zeros, ..matrix(numbers) }.packed(DType::FLOAT32).unwrap().unwrap();
        assert_eq!((format.group, format.parameter_shape()), (256, [3, 2]));
        assert_eq!(inputs[1].as_slice::<f32>().unwrap(), [0.5; 6]);
        assert_eq!(inputs[2].as_slice::<i8>().unwrap(), [3, 4, 3, 4, 3, 4]);
    }

    #[test]
    fn larger_integers_stay_bytes() {
        for numbers in [[-9i8, 0], [8, 0], [0, 0]] {
            let numbers = Tensor::from_slice(&[2, 1], &numbers).unwrap();
            let (format, inputs) = matrix(numbers).packed(DType::FLOAT32).unwrap().unwrap();
            assert_eq!((format.bits, inputs[0].dtype()), (8, DType::INT8));
        }
    }

    #[test]
    fn other_shapes_and_dtypes_are_rejected() {
        let numbers = Tensor::from_slice(&[4, 2], &[0i8; 8]).unwrap();
        let groups = QuantizedMatrix { group: 2, ..matrix(numbers.clone()) };
        assert!(groups.packed(DType::FLOAT32).unwrap().is_none());
        let wide = Tensor::from_slice(&[1, 2], &[0i32; 2]).unwrap();
        assert!(matrix(wide).packed(DType::FLOAT32).unwrap().is_none());
        assert!(matrix(numbers).packed(DType::INT32).unwrap().is_none());
    }
}
