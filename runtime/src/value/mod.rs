//! Values of programs, in tvm-ffi's layout, so that they cross the C ABI without translation.
//!
//! [`Any`] can hold any of the others. Objects ([`Tensor`], [`Shape`], [`Str`], [`Tuple`],
//! [`Function`], …) are reference-counted handles: cheap to clone, shared between threads.
mod adt;
mod any;
mod appended;
mod bits;
mod closure;
mod convert;
mod device;
mod dtype;
mod dtype_text;
mod element;
mod error_object;
mod free_list;
mod function;
pub mod index;
mod nested;
mod number;
pub mod object;
mod opaque;
mod shape;
pub mod small_float;
mod storage;
mod string;
mod tensor;
mod tuple;

pub use adt::Adt;
pub use any::Any;
pub(crate) use any::PAYLOAD;
pub(crate) use bits::{copy_bits, copy_bits_between};
pub use closure::Closure;
pub use convert::FromAny;
pub use device::{Device, ParseDeviceError, kind as device_kind};
pub use dtype::{DType, code as dtype_code};
pub use dtype_text::ParseDTypeError;
pub use element::{Element, bytes_of};
pub use error_object::ErrorObject;
pub(crate) use function::Callable;
pub use function::{Function, HandleDeleter};
pub(crate) use nested::{Nested, drop_nested};
pub(crate) use number::Number;
pub use opaque::Opaque;
pub use shape::Shape;
pub use storage::Storage;
pub use string::{ByteArray, Bytes, Str};
pub(crate) use tensor::is_dense;
pub use tensor::{DLTensor, Lender, MAX_NDIM, SharedBytes, Tensor, TensorError, byte_size};
pub(crate) use tuple::MAX_PARTS;
pub use tuple::Tuple;
