//! Who wrote and read each byte since which barrier: races, unwritten bytes.
//!
//! [`Clocks`] knows what each thread of a launch is ordered after; a [`Shadow`] of a memory knows who accessed each
//! byte. There is one [`Clocks`] and one shadow of global memory for a launch, and one of shared memory for each block.
//!
//! Two accesses of a byte by different threads, one of them a write, race if nothing orders them and not both are
//! strong (atomic, volatile, relaxed, acquire or release). The clocks are vector clocks as in FastTrack (Flanagan and
//! Freund, 2009): barriers, fences with strong accesses, acquire and release order; lock step of a warp does not.
//! Where PTX's memory model is stricter than what working programs do, the clocks are lenient:
//!
//! - an atomic that returns a value acquires without a fence after it (the reduction by the last block of CUDA's
//!   samples has none), if the machine calls [`Clocks::acquire`] for it;
//! - a fence before a barrier also covers strong writes of other threads after the barrier;
//! - a strong write adds to what a location has released and never takes away.
//!
//! A copy by `cp.async` is in flight from its issue to its wait: an access of its bytes in between is a race even by
//! the thread that issued it.
mod cells;
mod clocks;
mod frontier;
mod race;
mod table;

pub use clocks::{Clocks, Flag, Scope, ThreadId};
pub use race::{Access, AccessKind, Race, ShadowError};
pub use table::Shadow;

#[cfg(test)]
mod tests;
