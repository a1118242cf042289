//! Blocks between guard pages: with `HAMMOCK_FENCE=1` in the environment, a kernel that reads or writes outside of a
//! buffer crashes at once instead of accessing adjacent memory.
//!
//! A block ends with the last cache line before a guard page. Accesses before its start are only detected if its length
//! is a multiple of the page size.
use super::large::{SMALL_PAGE as PAGE, map, unmap};
use crate::fork::LazyNumber;
use std::env;
use std::ptr::NonNull;

/// Returns true if this process fences blocks.
pub(super) fn is_on() -> bool {
    static STATE: LazyNumber = LazyNumber::new();
    let is_set = || env::var_os("HAMMOCK_FENCE").is_some_and(|value| value == "1");
    STATE.get(|| 1 + usize::from(is_set())) == 2
}

/// Allocates `len` zeroed bytes, which are whole cache lines; `None` if the system has none.
pub(super) fn allocate(len: usize) -> Option<NonNull<u8>> {
    let pages = len.checked_next_multiple_of(PAGE)?;
    let start = map(pages.checked_add(2 * PAGE)?)?;
    let after = start.wrapping_byte_add(PAGE + pages);
    // SAFETY: the first and the last page of a new mapping that nothing refers to yet.
    let fenced =
        unsafe { [start, after].map(|page| libc::mprotect(page, PAGE, libc::PROT_NONE)) }.iter().all(|code| *code == 0);
    if !fenced {
        // SAFETY: a whole mapping that nothing refers to yet.
        unsafe { unmap(start, pages + 2 * PAGE) };
        return None;
    }
    NonNull::new(after.wrapping_byte_sub(len).cast())
}

/// Frees a block.
///
/// # Safety
/// `data` came from `allocate(len)` and nobody refers to it any more.
pub(super) unsafe fn free(data: NonNull<u8>, len: usize) {
    let pages = len.next_multiple_of(PAGE);
    let start = data.as_ptr().wrapping_add(len).wrapping_sub(pages + PAGE);
    // SAFETY: as the caller promises, these are the pages that `allocate` mapped.
    unsafe { unmap(start.cast(), pages + 2 * PAGE) };
}

/// A copy of bytes that ends exactly at a guard page.
#[cfg(test)]
pub(crate) struct Exact {
    block: NonNull<u8>,
    len: usize,
}

#[cfg(test)]
// SAFETY: plain memory; its holders synchronize writes.
unsafe impl Send for Exact {}
#[cfg(test)]
// SAFETY: as above.
unsafe impl Sync for Exact {}

/// Rounds up to whole cache lines, at least one.
#[cfg(test)]
fn lines(len: usize) -> usize {
    super::buffer::lines(len).unwrap()
}

#[cfg(test)]
impl Exact {
    pub(crate) fn new(bytes: &[u8]) -> Exact {
        let exact = Exact { block: allocate(lines(bytes.len())).unwrap(), len: bytes.len() };
        // SAFETY: the block is new, and large enough from there on.
        unsafe { exact.as_ptr().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        exact
    }

    pub(crate) fn as_ptr(&self) -> *mut u8 {
        self.block.as_ptr().wrapping_add(lines(self.len) - self.len)
    }
}

#[cfg(test)]
impl Drop for Exact {
    fn drop(&mut self) {
        // SAFETY: `new` allocated as many bytes, and nobody refers to them any more.
        unsafe { free(self.block, lines(self.len)) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ALIGNMENT;
    use super::*;

    #[test]
    fn blocks_end_where_a_page_does() {
        for len in [0, 1, 64, 65, PAGE - 1, PAGE, PAGE + 1, 3 * PAGE + 7] {
            let lines = lines(len);
            let block = allocate(lines).unwrap();
            assert!(block.addr().get().is_multiple_of(ALIGNMENT));
            assert!((block.addr().get() + lines).is_multiple_of(PAGE));
            // SAFETY: the block is ours and has this length.
            let bytes = unsafe { std::slice::from_raw_parts_mut(block.as_ptr(), lines) };
            assert!(bytes.iter().all(|byte| *byte == 0));
            bytes.fill(1);
            // SAFETY: nobody refers to it any more.
            unsafe { free(block, lines) };
        }
        assert!(allocate(usize::MAX).is_none());
    }
}
