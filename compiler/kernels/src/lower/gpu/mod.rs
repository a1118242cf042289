//! Lowering for GPUs: a host function that launches device functions.
//!
//! Steps are those of CPUs, but stages become loops over blocks and threads ([`loops`]), each part of a kernel in a
//! [device region](region) of its own; launches of a kernel run in order. At the end, [`split`] makes a device function
//! of each region, and a launch takes its place in the host function.

mod axes;
mod barriers;
pub mod compact_buffers;
mod host_code;
pub mod loops;
mod region;
mod shared_memory;
pub mod split;
pub mod thread_loops;
pub mod thread_reductions;

#[cfg(test)]
mod tests;
