//! The runtime for C and C++: what `runtime/include/hammock.h` declares.
//!
//! Values are tvm-ffi's 16 bytes, `hammock_any` in C and [`hammock_runtime::Any`] here. Every function that can fail
//! returns 0, or stores an error for the thread and returns -1. Null pointers and invalid indices are errors like any
//! other. A panic never crosses the boundary: it becomes an `InternalError`.
//!
//! - [`error`]: the error of a thread's last failed call.
//! - [`pointers`]: validation of the pointers that C passes.
//! - [`value`], [`tensor`], [`function`]: values.
//! - [`reflect`]: fields, equality, hashes and JSON of values.
//! - [`library`], [`vm`], [`stateful`], [`instrument`], [`profiler`], [`module`]: models.
//! - [`text`]: values as text.
//!
//! A test compares these functions with the header, name by name and type by type.
#![allow(non_camel_case_types, reason = "C's names")]

pub mod error;
pub mod function;
pub mod instrument;
pub mod library;
#[cfg(feature = "modules")]
pub mod module;
mod pointers;
#[cfg(feature = "profiler")]
pub mod profiler;
#[cfg(feature = "reflection")]
pub mod reflect;
pub mod stateful;
pub mod tensor;
#[cfg(feature = "text")]
pub mod text;
pub mod value;
pub mod vm;
