//! Bytecode: Relax functions to instructions.
//!
//! [`generate`] takes a module that the passes have lowered to the VM's level (memory explicit, shapes on the heap,
//! every function with a symbol) and writes each Relax function's bindings as instructions through [`ExecBuilder`].
//! Parameters are the first registers, every other value gets the next one. TIR functions and runtime functions are
//! entries of the function table, found by name when the executable is loaded.

mod builder;
mod constants;
mod error;
mod generate;
mod placement;

pub use builder::ExecBuilder;
pub use error::CodegenError;
pub use generate::{Bytecode, generate};
