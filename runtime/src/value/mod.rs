//! Values a program computes with, in tvm-ffi's layout so that they cross the C ABI without translation.
mod device;
mod dtype;
mod dtype_text;
mod element;
pub mod index;
pub mod object;
mod shape;
mod string;
mod tensor;
mod tensor_error;
mod tensor_view;

pub use device::{Device, kind as device_kind};
pub use dtype::{DType, code as dtype_code};
pub use dtype_text::ParseDTypeError;
pub use element::{Element, bytes_of};
pub use shape::Shape;
pub use string::{ByteArray, Str};
pub use tensor::{DLTensor, SharedBytes, Tensor};
pub use tensor_error::TensorError;
