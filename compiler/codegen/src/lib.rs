//! From IR to bytecode and object code.
//!
//! - [`vm`]: Relax functions to bytecode.
#![forbid(unsafe_code)]

pub mod vm;
