//! From IR to bytecode and object code.
//!
//! - [`vm`]: Relax functions to bytecode.
//! - [`llvm`]: flat TIR to LLVM's textual IR and, with the feature `llvm`, to objects for the processor.
#![forbid(unsafe_code)]

pub mod llvm;
pub mod vm;
