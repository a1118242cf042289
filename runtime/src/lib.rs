//! The runtime of compiled models: values, memory, threads, the virtual machine.
//!
//! It knows nothing of models' text or of compilers. The compiler uses its types for constants and executables.
//!
//! - [`value`]: [`Any`] and what it may hold ([`Tensor`], [`Shape`], [`Tuple`], …), in tvm-ffi's layout.
//! - [`ffi`]: the C ABI of calls, and [`Error`].
//! - [`registry`]: global functions by name.
//! - [`memory`], [`device`]: where tensors' data comes from and where it lives.
//! - [`parallel`]: the threads that kernels share.
pub mod device;
pub mod ffi;
pub mod memory;
pub mod parallel;
pub mod registry;
pub mod value;

pub use ffi::Error;
pub use value::{Any, DType, Device, Element, Function, Shape, Str, Tensor, TensorError, Tuple};
