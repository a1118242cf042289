//! The runtime of compiled models: values, memory, threads, the virtual machine.
//!
//! It knows nothing about source text or compilers. The compiler uses its types for constants and executables.
//!
//! - [`value`]: [`Any`] and the values that it can hold ([`Tensor`], [`Shape`], [`Tuple`], …), in tvm-ffi's layout.
//! - [`ffi`]: the C ABI of calls, and [`Error`].
//! - [`registry`]: global functions by name.
//! - [`device`]: devices: memory, streams, events, loaded code. [`memory`]: allocation of tensor data.
//! - [`executable`]: bytecode, constants, function table; loading, verifying, printing.
//! - [`image`]: an executable with its sources, kernel signatures and aligned constants, in one block of bytes.
//! - [`companion`]: companion files in a model's folder.
//! - [`library`]: linked models, loaded from files, from memory, or from the running program.
//! - [`cpu_features`]: CPU features.
//! - [`module`]: one interface to everything that holds functions: libraries, executables, virtual machines, the host
//!   program.
//! - [`parallel`]: the thread pool that kernels share.
//! - [`vm`]: [`Vm`], which runs images, and the builtins that programs call.
//! - [`profile`]: profiling and tracing.
//! - [`show`]: values as text; [`base64`]: bytes as text; [`json`]: JSON; [`printable`]: text escaped for a terminal.
//! - [`suggest`]: "did you mean" suggestions for mistyped names.
//! - [`reflect`]: fields of objects; generic comparison, hashing and serialization.
//!
//! Features leave parts out: a feature is one or several of these modules, or families of builtins.
//!
//! To run a linked model: [`Library::open`], [`Vm::from_library`], [`Vm::call`].
#![cfg_attr(
    not(all(feature = "full", feature = "cuda")),
    allow(dead_code, unused_imports, reason = "only features that are left out use them")
)]

mod arch;
#[cfg(feature = "json")]
pub mod base64;
mod bytes;
pub mod companion;
pub mod cpu_features;
pub mod device;
pub mod executable;
pub mod ffi;
mod float_state;
mod fork;
pub mod image;
#[cfg(feature = "json")]
pub mod json;
pub mod library;
pub mod memory;
#[cfg(feature = "modules")]
pub mod module;
pub mod parallel;
mod printable;
#[cfg(feature = "profiler")]
pub mod profile;
#[cfg(feature = "reflection")]
pub mod reflect;
pub mod registry;
mod regular_file;
#[cfg(feature = "text")]
pub mod show;
mod sort;
mod sorted_map;
pub mod suggest;
mod sync;
pub mod value;
pub mod vm;

pub use executable::Executable;
pub use ffi::Error;
pub use image::Image;
pub use library::Library;
pub use printable::printable;
pub use regular_file::open_regular;
pub use value::{Adt, Any, DType, Device, Element, Function, Shape, Str, Tensor, TensorError, Tuple};
pub use vm::{
    Vm,
    builtins::{all as builtins, global_names},
};
