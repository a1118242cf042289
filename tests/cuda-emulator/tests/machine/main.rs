//! Kernels in PTX run on the machine: values, and the errors that it must report.
mod barriers;
mod control;
mod copies;
mod extremes;
mod faults;
mod instructions;
mod llvm;
mod matmul;
mod memory;
mod parsing;
mod reductions;
mod support;
mod transpose;
mod warps;
