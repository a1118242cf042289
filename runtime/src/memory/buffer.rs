//! Host memory for data: zeroed, aligned, freed on drop.
use super::fenced;
use super::large::{self, LARGE};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

/// Alignment of all data the runtime allocates: a cache line, and the widest vector register.
pub const ALIGNMENT: usize = 64;

/// Rounds up to whole cache lines, at least one: kernels may read (never write) to the end of a line.
pub(super) fn lines(len: usize) -> Option<usize> {
    len.max(1).checked_next_multiple_of(ALIGNMENT)
}

fn layout(len: usize) -> Option<Layout> {
    Layout::from_size_align(lines(len)?, ALIGNMENT).ok()
}

/// Allocates `len` zeroed bytes of host memory; `None` if the system has none.
pub(crate) fn allocate(len: usize) -> Option<NonNull<u8>> {
    if fenced::is_on() {
        return fenced::allocate(lines(len)?);
    }
    if len >= LARGE {
        return large::allocate(len);
    }
    // SAFETY: the layout is never empty.
    NonNull::new(unsafe { alloc_zeroed(layout(len)?) })
}

/// Frees what [`allocate`] returned.
///
/// # Safety
/// `data` came from `allocate(len)` and nobody refers to it any more.
pub(crate) unsafe fn free(data: NonNull<u8>, len: usize) {
    if fenced::is_on() {
        // SAFETY: as the caller promises; blocks were fenced then, too.
        unsafe { fenced::free(data, lines(len).unwrap_or(0)) }
    } else if len >= LARGE {
        // SAFETY: as the caller promises.
        unsafe { large::free(data, len) }
    } else if let Some(layout) = layout(len) {
        // SAFETY: as the caller promises.
        unsafe { dealloc(data.as_ptr(), layout) }
    }
}

/// A block of zeroed host memory, aligned to [`ALIGNMENT`], without an allocator.
pub struct Buffer {
    data: NonNull<u8>,
    len: usize,
}

// SAFETY: a buffer is plain memory; its owner synchronizes writes.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// Allocates `len` bytes; `None` if the system has none.
    pub fn new(len: usize) -> Option<Buffer> {
        allocate(len).map(|data| Buffer { data, len })
    }

    /// Address of the first byte.
    pub fn as_ptr(&self) -> *mut u8 {
        self.data.as_ptr()
    }

    /// Requested size in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if the requested size is zero.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: allocated by `new` with the same length.
        unsafe { free(self.data, self.len) }
    }
}
