//! Functions as machine code against the same functions as bytecode: results, errors and their traces, what is left
//! alive, who is told.
#![cfg(all(feature = "cranelift", target_arch = "x86_64"))]

mod program;
mod programs;
mod refusals;
mod tensors;
mod text;
