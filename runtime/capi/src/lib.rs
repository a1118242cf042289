//! The runtime for C and C++: what `runtime/include/hammock.h` declares.
//!
//! Values are tvm-ffi's 16 bytes, `hammock_any` in C and [`hammock_runtime::Any`] here. Every function that can fail
//! returns 0, or -1 after leaving an error with the thread. Null pointers and wrong positions are errors like any other;
//! a panic never crosses: it becomes an `InternalError`.
//!
//! - [`error`]: the error of a thread's last failed call.
//! - [`pointers`]: what C passes, checked.
//! - [`value`], [`tensor`], [`function`]: values.
//! - [`reflect`]: what values consist of.
//! - [`library`], [`vm`], [`stateful`], [`instrument`], [`module`]: models.
//!
//! A test compares these functions with the header's, name by name and type by type.
#![allow(non_camel_case_types, reason = "C's names")]

pub mod error;
pub mod function;
pub mod instrument;
pub mod library;
#[cfg(feature = "objects")]
pub mod module;
mod pointers;
#[cfg(feature = "objects")]
pub mod reflect;
pub mod stateful;
pub mod tensor;
pub mod value;
pub mod vm;
