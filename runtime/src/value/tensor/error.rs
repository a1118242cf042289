//! Errors of tensors.
use crate::ffi::{Error, kind};
use crate::value::{DType, Device, Shape};

/// Reason why a tensor could not be created or read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TensorError {
    /// A size is negative, or the total does not fit the address space.
    #[error("{} is not a valid tensor shape", Shape::new(.0))]
    BadShape(Vec<i64>),
    /// The system is out of memory.
    #[error("out of memory: cannot allocate {bytes} bytes on {device}")]
    OutOfMemory {
        /// Requested size.
        bytes: usize,
        /// Device.
        device: Device,
    },
    /// The running program exceeds its memory limit.
    #[error("{0}")]
    OverLimit(String),
    /// Elements are read with another dtype.
    #[error("the tensor's elements are {actual}, not {expected}")]
    WrongDType {
        /// Requested dtype.
        expected: DType,
        /// The tensor's dtype.
        actual: DType,
    },
    /// The number of bytes does not match the shape.
    #[error("a tensor of {dtype} with shape {} takes {expected} bytes, not {actual}", Shape::new(.shape))]
    WrongSize {
        /// Dtype.
        dtype: DType,
        /// Shape.
        shape: Vec<i64>,
        /// Required size in bytes.
        expected: usize,
        /// Given size in bytes.
        actual: usize,
    },
    /// The elements are not contiguous in row-major order.
    #[error("the tensor is not contiguous")]
    NotContiguous,
    /// The data is not in host memory.
    #[error("the tensor lives on {0}, where the host cannot read it")]
    NotOnHost(Device),
    /// The data cannot be copied on its device.
    #[error("{0}")]
    NotCopied(String),
    /// Shared data cannot be written.
    #[error("the tensor's data is shared")]
    Shared,
    /// A view exceeds the memory of its tensor.
    #[error("the view needs bytes {begin}..{end} of a tensor of {available} bytes")]
    OutOfBounds {
        /// First byte.
        begin: usize,
        /// End of the range (exclusive).
        end: usize,
        /// Size of the memory.
        available: usize,
    },
    /// A reshape neither preserves the number of elements nor needs fewer bytes.
    #[error("cannot reshape {} to {}: the numbers of elements differ", Shape::new(.from), Shape::new(.to))]
    Reshape {
        /// The tensor's shape.
        from: Vec<i64>,
        /// Requested shape.
        to: Vec<i64>,
    },
    /// Other code passed an inconsistent tensor.
    #[error("a tensor cannot have {0}")]
    BadDescription(String),
    /// The bytes are invalid for the dtype (a `bool` other than 0 and 1, or a misaligned address).
    #[error("the tensor's bytes are not valid values of {0}")]
    BadValues(DType),
}

impl From<TensorError> for Error {
    fn from(error: TensorError) -> Error {
        let kind = match error {
            TensorError::OutOfMemory { .. } | TensorError::OverLimit(_) => kind::MEMORY,
            TensorError::WrongDType { .. } => kind::TYPE,
            _ => kind::VALUE,
        };
        Error::new(kind, error.to_string())
    }
}
