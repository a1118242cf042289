//! The runtime of compiled models: values, memory, threads, the virtual machine.
//!
//! It knows nothing about models' text or compilers. The compiler uses its types for constants and executables.
//!
//! - [`value`]: [`Any`] and the values that it can hold ([`Tensor`], [`Shape`], [`Tuple`], …), in tvm-ffi's layout.
//! - [`ffi`]: the C ABI of calls, and [`Error`].
//! - [`registry`]: global functions by name.
//! - [`memory`], [`device`]: where tensors' data is allocated and stored.
//! - [`executable`]: bytecode, constants, function table; loading, verifying, printing.
//! - [`image`]: an executable with its sources, kernel signatures and aligned constants, in one block of bytes.
//! - [`beside`]: files that belong to a model and lie beside it.
//! - [`library`]: linked models, loaded from files, from memory, or from the running program.
//! - [`machine`]: what processors can do.
//! - [`module`]: one interface to everything that holds functions: libraries, executables, machines, the host's own.
//! - [`parallel`]: the threads that kernels share.
//! - [`vm`]: [`Vm`], which runs images, and the builtins that programs call.
//! - [`profile`]: where a program's time goes.
//! - [`show`]: values as text; [`base64`]: bytes as text; [`printable`]: text that is safe for a terminal.
//! - [`near`]: the name that a mistyped one probably meant.
//! - [`reflect`]: what values consist of; comparing, hashing, saving and reading back any of them.
//!
//! To run a linked model: [`Library::open`], [`Vm::from_library`], [`Vm::call`].
pub mod base64;
pub mod beside;
mod bytes;
pub mod device;
pub mod executable;
pub mod ffi;
mod float_state;
#[cfg(not(any(loom, miri)))]
mod fork;
pub mod image;
mod json;
pub mod library;
pub mod machine;
pub mod memory;
pub mod module;
pub mod near;
pub mod parallel;
mod printable;
pub mod profile;
pub mod reflect;
pub mod registry;
mod regular_file;
pub mod show;
mod sync;
#[cfg(feature = "tools")]
pub mod tools;
pub mod value;
pub mod vm;

pub use executable::Executable;
pub use ffi::Error;
pub use image::Image;
pub use library::Library;
pub use printable::printable;
pub use regular_file::open_regular;
pub use value::{Adt, Any, DType, Device, Element, Function, Shape, Str, Tensor, TensorError, Tuple};
pub use vm::{Vm, builtins::all as builtins};
