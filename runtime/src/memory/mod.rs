//! Memory for tensor data: allocation, accounting and limits.
mod allocator;
pub(crate) mod buffer;
mod default_limit;
pub(crate) mod fenced;
mod large;
mod lock;
mod mapped;
pub(crate) mod meter;
#[cfg(loom)]
mod models;
mod pool;
pub(crate) mod workspace;

#[cfg(not(any(loom, miri)))]
pub(crate) use allocator::take_locks;
pub use allocator::{Allocator, AllocatorKind, Block, MemoryStats, Reservation};
pub use buffer::{ALIGNMENT, Buffer};
pub use default_limit::default_limit;
pub use mapped::{MappedFile, ScratchFile};
pub use meter::{reserve, within_limit};
