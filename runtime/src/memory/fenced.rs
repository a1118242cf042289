//! Blocks between pages that nobody may touch: with `HAMMOCK_FENCE=1` in the environment, a kernel that reads or writes
//! outside of a buffer ends the program there and then, instead of taking what lies beside it.
//!
//! A block ends with the last line before a page. What is read before it is found only where its length is whole pages.
use super::buffer::lines;
use super::large::{SMALL_PAGE as PAGE, map, unmap};
use std::env;
use std::ptr::NonNull;
use std::sync::OnceLock;

/// Returns true if blocks are fenced, in this process.
pub(super) fn is_on() -> bool {
    static ON: OnceLock<bool> = OnceLock::new();
    *ON.get_or_init(|| env::var_os("HAMMOCK_FENCE").is_some_and(|value| value == "1"))
}

/// `len` zeroed bytes in whole lines, or `None` if the system has none.
pub(super) fn allocate(len: usize) -> Option<NonNull<u8>> {
    let lines = lines(len)?;
    let pages = lines.checked_next_multiple_of(PAGE)?;
    let start = map(pages.checked_add(2 * PAGE)?)?;
    let after = start.wrapping_byte_add(PAGE + pages);
    // SAFETY: the first and the last page of a mapping that nobody knows yet.
    let fenced =
        unsafe { [start, after].map(|page| libc::mprotect(page, PAGE, libc::PROT_NONE)) }.iter().all(|code| *code == 0);
    if !fenced {
        // SAFETY: all of a mapping that nobody knows yet.
        unsafe { unmap(start, pages + 2 * PAGE) };
        return None;
    }
    NonNull::new(after.wrapping_byte_sub(lines).cast())
}

/// Gives the block back.
///
/// # Safety
/// `data` came from `allocate(len)` and nobody refers to it any more.
pub(super) unsafe fn free(data: NonNull<u8>, len: usize) {
    let lines = lines(len).unwrap_or(0);
    let pages = lines.next_multiple_of(PAGE);
    let start = data.as_ptr().wrapping_add(lines).wrapping_sub(pages + PAGE);
    // SAFETY: as the caller promises, these are the pages that `allocate` mapped.
    unsafe { unmap(start.cast(), pages + 2 * PAGE) };
}

/// Bytes that end, to the byte, where memory begins that nobody may touch.
#[cfg(test)]
pub(crate) struct Exact {
    block: NonNull<u8>,
    len: usize,
}

#[cfg(test)]
// SAFETY: plain memory; who may write it is its holders' agreement.
unsafe impl Send for Exact {}
#[cfg(test)]
// SAFETY: as above.
unsafe impl Sync for Exact {}

#[cfg(test)]
impl Exact {
    pub(crate) fn new(bytes: &[u8]) -> Exact {
        let exact = Exact { block: allocate(bytes.len()).unwrap(), len: bytes.len() };
        // SAFETY: the block is new, and as long as the bytes from there on.
        unsafe { exact.as_ptr().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        exact
    }

    pub(crate) fn as_ptr(&self) -> *mut u8 {
        self.block.as_ptr().wrapping_add(lines(self.len).unwrap() - self.len)
    }
}

#[cfg(test)]
impl Drop for Exact {
    fn drop(&mut self) {
        // SAFETY: `new` allocated as many bytes, and nobody refers to them any more.
        unsafe { free(self.block, self.len) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ALIGNMENT;
    use super::*;

    #[test]
    fn blocks_end_where_a_page_does() {
        for len in [0, 1, 64, 65, PAGE - 1, PAGE, PAGE + 1, 3 * PAGE + 7] {
            let block = allocate(len).unwrap();
            let lines = lines(len).unwrap();
            assert!(block.addr().get().is_multiple_of(ALIGNMENT));
            assert!((block.addr().get() + lines).is_multiple_of(PAGE));
            // SAFETY: the block is ours, that long.
            let bytes = unsafe { std::slice::from_raw_parts_mut(block.as_ptr(), lines) };
            assert!(bytes.iter().all(|byte| *byte == 0));
            bytes.fill(1);
            // SAFETY: nobody refers to it any more.
            unsafe { free(block, len) };
        }
        assert!(allocate(usize::MAX).is_none());
    }
}
