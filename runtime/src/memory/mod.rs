//! Memory for tensors' data: where it comes from, how much is in use, how much may be.
mod allocator;
pub(crate) mod buffer;
mod lock;
#[cfg(loom)]
mod models;
mod pool;

pub use allocator::{Allocator, AllocatorKind, Block, MemoryStats};
pub use buffer::{ALIGNMENT, Buffer};
