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
mod within_limit;
pub(crate) mod workspace;

pub(crate) use allocator::Cache;
pub use allocator::{Allocator, AllocatorKind, Block, MemoryStats, Reservation};
pub use buffer::{ALIGNMENT, Buffer};
pub use default_limit::default_limit;
pub use mapped::{MappedFile, ScratchFile};
pub use meter::reserve;
pub use within_limit::within_limit;
