//! Sizes of tensors and storages that programs request.
use crate::ffi::Error;
use crate::value::{DType, Shape, byte_size};

/// Rejects a tensor with a negative size.
pub(super) fn expect_sizes(shape: &[i64], dtype: DType) -> Result<(), Error> {
    match shape.iter().find(|size| **size < 0) {
        Some(size) => {
            let shape = Shape::new(shape);
            Err(Error::value(format!("a {dtype} Tensor cannot have the shape {shape}: {size} is not a size")))
        }
        None => Ok(()),
    }
}

/// Size of a tensor in bytes.
pub(super) fn storage_bytes(sizes: &[i64], dtype: DType) -> Result<usize, Error> {
    expect_sizes(sizes, dtype)?;
    byte_size(dtype, sizes)
        .map_err(|_| Error::value(format!("there is no memory for {} elements of {dtype}", Shape::new(sizes))))
}
