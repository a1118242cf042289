//! The runtime of compiled models: values, memory, threads, the virtual machine.
//!
//! It knows nothing of models' text or of compilers. The compiler uses its types for constants and executables.
//!
//! - [`value`]: [`Tensor`], [`Shape`], [`Str`], [`DType`], [`Device`], in tvm-ffi's layout.
//! - [`memory`]: where tensors' data comes from.
pub mod memory;
pub mod value;

pub use value::{DType, Device, Element, Shape, Str, Tensor, TensorError};
