//! Code generation: IR to bytecode and object code.
//!
//! - [`vm`]: Relax functions to bytecode.
//! - `native` (with the feature `cranelift`): bytecode to machine code.
//! - [`llvm`]: flat TIR to LLVM's textual IR and, with the feature `llvm`, to objects for the processor.
#![forbid(unsafe_code)]

pub mod llvm;
#[cfg(feature = "cranelift")]
pub mod native;
pub mod vm;
