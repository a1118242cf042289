//! The CUDA driver API over an interpreter of PTX: a program that loads `libcuda.so.1` runs on it as on a GPU.
//!
//! It is stricter than a GPU. Accesses outside live allocations, misaligned accesses, reads of bytes that nobody wrote,
//! data races, divergent barriers and leaks are errors, and queued work runs in as adversarial an order as the API allows.
//!
//! | module | what it does |
//! |---|---|
//! | [`ptx`] | PTX text → kernels as instructions; an unknown instruction is an error by name |
//! | [`arith`] | arithmetic on bit patterns: rounding, saturation, flush-to-zero, conversions |
//! | [`matrix`] | `mma.sync` and `ldmatrix` on the fragments of a warp |
//! | [`memory`] | global memory: allocations, checked accesses |
//! | [`shadow`] | who wrote and read each byte since which barrier: races, unwritten bytes |
//! | [`counters`] | instructions, memory transactions, bank conflicts of a launch |
//! | [`machine`] | runs a grid: warps in lock step, masks, reconvergence, barriers |
//! | [`lanes`] | values and masks of a warp's lanes |
//! | [`library`] | where a program finds the emulator as `libcuda.so.1` |
//! | [`driver`] | the driver's functions: contexts, modules, streams, events, graphs, faults on request |
pub mod arith;
pub mod counters;
pub mod driver;
pub mod fault;
pub mod l1;
pub mod lanes;
pub mod library;
pub mod machine;
pub mod matrix;
pub mod memory;
pub mod ptx;
pub mod shadow;
