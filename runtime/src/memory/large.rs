//! Large blocks of host memory, which come from the system one by one and return there when they are freed.
//!
//! An allocator of the C library keeps what is freed for later, in pieces that others may be too large for. Pages of 2 MiB
//! where the system has them: walking across lines of a large matrix then finds its pages in the processor's tables.
use std::ptr::{NonNull, null_mut};

/// Blocks of so many bytes and more are large.
pub(super) const LARGE: usize = 4 << 20;

/// A large page.
const PAGE: usize = 2 << 20;

/// A small one, which mappings are counted in.
pub(super) const SMALL_PAGE: usize = 4096;

/// `len` zeroed bytes that begin with a page, or `None` if the system has none.
pub(super) fn allocate(len: usize) -> Option<NonNull<u8>> {
    let len = whole(len)?;
    let reserved = len.checked_add(PAGE)?;
    let start = map(reserved)?;
    let before = start.addr().next_multiple_of(PAGE) - start.addr();
    let data = start.wrapping_byte_add(before);
    // SAFETY: what lies on both sides of the block is part of the mapping, and nobody knows it.
    unsafe {
        unmap(start, before);
        unmap(data.wrapping_byte_add(len), PAGE - before);
        // Without large pages, there are small ones.
        #[cfg(target_os = "linux")]
        libc::madvise(data, len, libc::MADV_HUGEPAGE);
    }
    NonNull::new(data.cast())
}

/// Gives the block back.
///
/// # Safety
/// `data` came from `allocate(len)` and nobody refers to it any more.
pub(super) unsafe fn free(data: NonNull<u8>, len: usize) {
    // SAFETY: as the caller promises; `allocate` had a length for it, too.
    unsafe { unmap(data.as_ptr().cast(), whole(len).unwrap_or(0)) }
}

/// Small pages for so many bytes.
fn whole(len: usize) -> Option<usize> {
    len.checked_next_multiple_of(SMALL_PAGE)
}

/// New pages of zeros, for so many bytes.
pub(super) fn map(len: usize) -> Option<*mut libc::c_void> {
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping, wherever the system likes.
    let start = unsafe { libc::mmap(null_mut(), len, access, kind, -1, 0) };
    (start != libc::MAP_FAILED).then_some(start)
}

/// # Safety
/// Nobody refers to these pages any more.
pub(super) unsafe fn unmap(start: *mut libc::c_void, len: usize) {
    if len > 0 {
        // SAFETY: as the caller promises. It fails only where the system has no room to note it: the pages stay, then.
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
            // SAFETY: the block is ours, that long.
            let bytes = unsafe { std::slice::from_raw_parts_mut(block.as_ptr(), len) };
            assert!(bytes.iter().all(|b| *b == 0));
            bytes.fill(1);
            // SAFETY: nobody refers to it any more.
            unsafe { free(block, len) };
        }
    }

    #[test]
    fn there_is_an_end_to_memory() {
        assert!(allocate(usize::MAX).is_none());
        assert!(allocate(isize::MAX as usize).is_none());
    }
}
