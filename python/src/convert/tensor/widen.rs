//! Elements of dtypes that NumPy lacks, in the smallest of its dtypes that has all their values.
use crate::error::raise;
use hammock_runtime::{
    DType, Error, Tensor,
    value::{
        dtype_code as code,
        small_float::{Format, format},
    },
};
use pyo3::PyResult;

/// The dtype of widened elements.
pub fn dtype(dtype: DType) -> DType {
    match dtype.code {
        code::INT => DType::INT8,
        code::UINT => DType::UINT8,
        _ => DType::FLOAT32,
    }
}

/// A copy of a tensor with elements of the dtype that [`dtype`] returns.
///
/// # Errors
/// TypeError if elements are neither small integers nor small floats.
pub fn widen(tensor: &Tensor) -> PyResult<Tensor> {
    widened(tensor).map_err(raise)
}

fn widened(tensor: &Tensor) -> Result<Tensor, Error> {
    let (from, count) = (tensor.dtype(), tensor.element_count());
    let dense = tensor.to_contiguous()?;
    let (bytes, width) = (dense.as_bytes()?, from.width());
    let bits = |index: usize| bits(bytes, index * width, width);
    let decoder = match (from.code, from.lanes, from.bits) {
        (code::INT, 1, ..8) => {
            let shift = 8 - width;
            let values: Vec<i8> = (0..count).map(|index| ((bits(index) << shift) as i8) >> shift).collect();
            return Ok(Tensor::from_slice(tensor.shape(), &values)?);
        }
        (code::UINT, 1, ..8) => {
            let values: Vec<u8> = (0..count).map(|index| bits(index) as u8).collect();
            return Ok(Tensor::from_slice(tensor.shape(), &values)?);
        }
        (code::BFLOAT, 1, 16) => None,
        (_, 1, _) => Some(format(from).ok_or_else(|| unsupported(from))?),
        _ => return Err(unsupported(from)),
    };
    let value = |bits: u16| decoder.map_or(f32::from_bits(u32::from(bits) << 16), |format| decoded(format, bits));
    let values: Vec<f32> = (0..count).map(|index| value(bits(index))).collect();
    Ok(Tensor::from_slice(tensor.shape(), &values)?)
}

fn decoded(format: Format, bits: u16) -> f32 {
    format.decode(bits as u8) as f32
}

fn unsupported(dtype: DType) -> Error {
    Error::type_error(format!("elements of {dtype} have no counterpart in Python"))
}

/// The bits of an element, from bit number `first` on; `width` is 16 at most.
fn bits(bytes: &[u8], first: usize, width: usize) -> u16 {
    let byte = |offset: usize| bytes.get(first / 8 + offset).copied().map_or(0, u32::from);
    let word = byte(0) | byte(1) << 8 | byte(2) << 16;
    (word >> (first % 8) & ((1 << width) - 1)) as u16
}
