//! Who wrote and read each byte since which barrier: races, unwritten bytes.
//!
//! [`Clocks`] knows what each thread of a launch is ordered after; a [`Shadow`] of a memory knows who accessed each
//! byte. There is one [`Clocks`] and one shadow of global memory for a launch, and one of shared memory for each block.
mod clocks;
mod pages;

pub use clocks::{Clocks, Flag, Scope, ThreadId};
pub use pages::{Access, AccessKind, Race, Shadow, ShadowError};
