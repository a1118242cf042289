//! Native functions compared with their bytecode: results, errors and traces, live objects, instruments.
#![cfg(all(feature = "cranelift", target_arch = "x86_64"))]

mod program;
mod programs;
mod refusals;
mod tensors;
mod text;
