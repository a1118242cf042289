//! Errors of tensors.
use super::{DType, Device, Shape};

/// Why a tensor could not be made or read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TensorError {
    /// A size is negative or the whole does not fit the address space.
    #[error("{} is not a valid tensor shape", Shape::new(.0))]
    BadShape(Vec<i64>),
    /// The system has no memory of this size.
    #[error("out of memory: cannot allocate {bytes} bytes on {device}")]
    OutOfMemory {
        /// What was asked for.
        bytes: usize,
        /// Where.
        device: Device,
    },
    /// The program that is at work may not take this much.
    #[error("{0}")]
    OverLimit(String),
    /// Elements are read as another type.
    #[error("the tensor's elements are {actual}, not {expected}")]
    WrongDType {
        /// The type asked for.
        expected: DType,
        /// The tensor's.
        actual: DType,
    },
    /// The bytes given do not fill the shape.
    #[error("a tensor of {dtype} with shape {} takes {expected} bytes, not {actual}", Shape::new(.shape))]
    WrongSize {
        /// Element type.
        dtype: DType,
        /// Shape.
        shape: Vec<i64>,
        /// Bytes needed.
        expected: usize,
        /// Bytes given.
        actual: usize,
    },
    /// The elements do not lie densely in row-major order.
    #[error("the tensor is not contiguous")]
    NotContiguous,
    /// The data is not in host memory.
    #[error("the tensor lives on {0}, where the host cannot read it")]
    NotOnHost(Device),
    /// Data that others hold is not written.
    #[error("the tensor's data is shared")]
    Shared,
    /// A view reaches beyond the memory it looks into.
    #[error("the view needs bytes {begin}..{end} of a tensor of {available} bytes")]
    OutOfBounds {
        /// First byte.
        begin: usize,
        /// Byte after the last.
        end: usize,
        /// Bytes there are.
        available: usize,
    },
    /// A view keeps neither the number of elements nor asks for fewer bytes.
    #[error("cannot reshape {} to {}: the numbers of elements differ", Shape::new(.from), Shape::new(.to))]
    Reshape {
        /// Shape the tensor has.
        from: Vec<i64>,
        /// Shape asked for.
        to: Vec<i64>,
    },
    /// Other code describes a tensor as it cannot be.
    #[error("a tensor cannot have {0}")]
    BadDescription(String),
    /// The bytes are no values of the type (a `bool` other than 0 and 1, or a misaligned address).
    #[error("the tensor's bytes are not valid values of {0}")]
    BadValues(DType),
}
