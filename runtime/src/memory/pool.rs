//! Cached blocks by size class.
use super::ALIGNMENT;
use std::ptr::NonNull;

/// Sizes up to here are whole cache lines; above, eight classes divide each power of two.
const LINES_UP_TO: usize = 4096;
const LINES: usize = LINES_UP_TO / ALIGNMENT;
const FIRST_LOG: usize = LINES_UP_TO.ilog2() as usize;
/// Number of size classes for the whole address space.
const CLASSES: usize = LINES + (usize::BITS as usize - 1 - FIRST_LOG) * 8;

/// A size class: requests of similar size share blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SizeClass {
    /// Size of its blocks in bytes.
    pub(super) bytes: usize,
    index: usize,
}

impl SizeClass {
    /// The smallest class for a request, at most an eighth larger (and a line); `None` if the request is too large.
    pub(super) fn of(request: usize) -> Option<SizeClass> {
        if request <= LINES_UP_TO {
            let lines = request.div_ceil(ALIGNMENT).max(1);
            return Some(SizeClass { bytes: lines * ALIGNMENT, index: lines - 1 });
        }
        let bytes = request.checked_next_multiple_of(1 << (request.ilog2() - 3))?;
        isize::try_from(bytes).ok()?;
        let log = bytes.ilog2() as usize;
        let eighth = (bytes >> (log - 3)) & 7;
        Some(SizeClass { bytes, index: LINES + (log - FIRST_LOG) * 8 + eighth })
    }
}

/// Cached blocks of one size class.
#[derive(Default)]
struct FreeList {
    bytes: usize,
    blocks: Vec<NonNull<u8>>,
}

/// Cached blocks of all size classes. The default cannot hold any.
#[derive(Default)]
pub(super) struct Pool(Box<[FreeList]>);

// SAFETY: a cached block is plain memory that nobody else refers to.
unsafe impl Send for Pool {}

impl Pool {
    pub(super) fn new() -> Pool {
        Pool((0..CLASSES).map(|_| FreeList::default()).collect())
    }

    /// Takes a block.
    #[inline]
    pub(super) fn take(&mut self, class: SizeClass) -> Option<NonNull<u8>> {
        self.0.get_mut(class.index)?.blocks.pop()
    }

    /// Adds a block.
    #[inline]
    pub(super) fn put(&mut self, class: SizeClass, block: NonNull<u8>) {
        let waiting = &mut self.0[class.index];
        waiting.bytes = class.bytes;
        waiting.blocks.push(block);
    }

    /// Removes all blocks and returns them with their sizes.
    pub(super) fn drain(&mut self) -> Vec<(NonNull<u8>, usize)> {
        let all = self.0.iter_mut().flat_map(|waiting| waiting.blocks.drain(..).map(|block| (block, waiting.bytes)));
        all.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_waste_at_most_an_eighth() {
        for request in [0, 1, 64, 65, 4096, 4097, 8191, 8192, 100_000, 1 << 30, (1 << 62) - 1] {
            let class = SizeClass::of(request).unwrap();
            assert!(class.bytes >= request.max(1) && class.bytes <= request + request / 8 + 64);
            assert!(class.bytes.is_multiple_of(ALIGNMENT) && class.index < CLASSES);
            assert_eq!(SizeClass::of(class.bytes), Some(class));
        }
        assert_eq!(SizeClass::of(usize::MAX), None);
        assert_eq!(SizeClass::of(isize::MAX as usize), None);
    }

    #[test]
    fn classes_do_not_mix() {
        let sizes: Vec<_> =
            (0..if cfg!(miri) { 9000 } else { 200_000 }).step_by(64).filter_map(SizeClass::of).collect();
        for pair in sizes.windows(2) {
            assert_eq!(pair[0].bytes == pair[1].bytes, pair[0].index == pair[1].index);
        }
    }
}
