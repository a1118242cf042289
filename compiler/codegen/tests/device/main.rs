//! Device code: what LLVM makes of each operation that device functions may have, and the texts of small kernels.
//!
//! LLVM ends the process if it cannot select an operation, so a failure here names none; the error output does.
#![cfg(feature = "native")]

#[path = "../support/build.rs"]
mod build;
mod kernel;
mod matmul;
mod operations;
mod texts;
