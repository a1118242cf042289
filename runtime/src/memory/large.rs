//! Large blocks of host memory, each mapped from the system and unmapped when freed.
//!
//! The C library's allocator retains freed memory in fragments that may be too small for other requests. The mappings
//! use pages of 2 MiB where available, which avoids TLB misses when a kernel walks across the rows of a large matrix.
use std::ptr::{NonNull, null_mut};

/// Minimum size of a large block.
pub(super) const LARGE: usize = 4 << 20;

/// Size of a huge page.
const PAGE: usize = 2 << 20;

/// Size of a regular page, the granularity of mappings.
pub(super) const SMALL_PAGE: usize = 4096;

/// Allocates `len` zeroed bytes, page-aligned; `None` if the system has none.
pub(super) fn allocate(len: usize) -> Option<NonNull<u8>> {
    let len = whole(len)?;
    let reserved = len.checked_add(PAGE)?;
    let start = map(reserved)?;
    let before = start.addr().next_multiple_of(PAGE) - start.addr();
    let data = start.wrapping_byte_add(before);
    // SAFETY: the parts on both sides of the block belong to the mapping, and nothing refers to them.
    unsafe {
        unmap(start, before);
        unmap(data.wrapping_byte_add(len), PAGE - before);
        // Without huge pages, regular ones are used.
        #[cfg(target_os = "linux")]
        libc::madvise(data, len, libc::MADV_HUGEPAGE);
    }
    NonNull::new(data.cast())
}

/// Frees a block.
///
/// # Safety
/// `data` came from `allocate(len)` and nobody refers to it any more.
pub(super) unsafe fn free(data: NonNull<u8>, len: usize) {
    // SAFETY: as the caller promises; `allocate` mapped the same length.
    unsafe { unmap(data.as_ptr().cast(), whole(len).unwrap_or(0)) }
}

/// Rounds up to whole pages.
fn whole(len: usize) -> Option<usize> {
    len.checked_next_multiple_of(SMALL_PAGE)
}

/// Maps new zeroed pages.
pub(super) fn map(len: usize) -> Option<*mut libc::c_void> {
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping at an address that the system chooses.
    let start = unsafe { libc::mmap(null_mut(), len, access, kind, -1, 0) };
    (start != libc::MAP_FAILED).then_some(start)
}

/// # Safety
/// Nobody refers to these pages any more.
pub(super) unsafe fn unmap(start: *mut libc::c_void, len: usize) {
    if len > 0 {
        // SAFETY: as the caller promises. It fails only if the kernel has no memory to split a mapping; then the pages
        // stay.
        unsafe { libc::munmap(start, len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_begin_with_pages_and_are_zero() {
        for len in [LARGE, LARGE + 1, 3 * PAGE - 1, 3 * PAGE + SMALL_PAGE] {
            let block = allocate(len).unwrap();
            assert!(block.addr().get().is_multiple_of(PAGE));
            // SAFETY: the block is ours and has this length.
            let bytes = unsafe { std::slice::from_raw_parts_mut(block.as_ptr(), len) };
            assert!(bytes.iter().all(|b| *b == 0));
            bytes.fill(1);
            // SAFETY: nobody refers to it any more.
            unsafe { free(block, len) };
        }
    }

    #[test]
    fn failed_mappings_return_none() {
        assert!(allocate(usize::MAX).is_none());
        assert!(allocate(isize::MAX as usize).is_none());
    }
}
