//! Free lists of blocks for small objects.
//!
//! Programs create and drop tensor descriptors all the time, a few at once and always of the same few sizes. Each
//! thread has free lists by size, so that a program in its steady state allocates nothing from the system. A block may
//! be freed on another thread than it was allocated on; it then goes to that thread's list. Lists are bounded. When a
//! thread exits, its lists are returned to the system, and so is anything freed on it after that.
use crate::memory::meter;
use std::alloc::{Layout, alloc, dealloc};
use std::cell::Cell;
use std::ptr::null_mut;

/// Granularity of block sizes.
const GRAIN: usize = 32;
/// Maximum size of a block in a free list: a tensor with six dimensions fits.
const MAX_SIZE: usize = 256;
const CLASSES: usize = MAX_SIZE / GRAIN;
/// Alignment of blocks: the system allocator's, which costs nothing.
const ALIGN: usize = 16;
/// Maximum number of blocks in each list.
const MAX_BLOCKS: u32 = 256;

/// Header of a free block.
struct Free {
    next: *mut Free,
}

/// Free blocks of one size.
struct List {
    first: Cell<*mut Free>,
    /// Remaining capacity. Zero before the first block is freed and after the thread has exited.
    room: Cell<u32>,
}

struct Lists {
    classes: [List; CLASSES],
    /// True if the thread's exit handler is registered.
    started: Cell<bool>,
}

/// Returns a thread's lists to the system on exit.
struct AtExit;

thread_local! {
    // Without a destructor, so that accesses need no check of its state; `AT_EXIT` cleans up.
    static LISTS: Lists = const {
        Lists {
            classes: [const { List { first: Cell::new(null_mut()), room: Cell::new(0) } }; CLASSES],
            started: Cell::new(false),
        }
    };
    static AT_EXIT: AtExit = const { AtExit };
}

/// The size class of a layout.
#[inline(always)]
fn class_of(layout: Layout) -> Option<usize> {
    // The layout of an object is never empty.
    (layout.size() <= MAX_SIZE && layout.align() <= ALIGN).then(|| (layout.size() - 1) / GRAIN)
}

fn layout_of(class: usize) -> Layout {
    // SAFETY: the alignment is a power of two and the size at most `MAX_SIZE`.
    unsafe { Layout::from_size_align_unchecked((class + 1) * GRAIN, ALIGN) }
}

/// Allocates a block of at least this layout, which is not empty; null if the system has none.
#[inline]
pub(super) fn allocate(layout: Layout) -> *mut u8 {
    let Some(class) = class_of(layout) else {
        return from_system(layout);
    };
    LISTS.with(|lists| {
        let list = &lists.classes[class];
        let first = list.first.get();
        if first.is_null() {
            return from_system(layout_of(class));
        }
        // SAFETY: the list owns its free blocks, and they contain its links.
        list.first.set(unsafe { (*first).next });
        list.room.set(list.room.get() + 1);
        first.cast()
    })
}

/// Allocates a block from the system and counts it; null if it has none.
fn from_system(layout: Layout) -> *mut u8 {
    meter::count_alloc(layout.size());
    // SAFETY: no object's layout is empty.
    unsafe { alloc(layout) }
}

/// Returns a block to the system.
///
/// # Safety
/// The block came from the system with this layout, and nobody refers to it any more.
unsafe fn to_system(block: *mut u8, layout: Layout) {
    meter::count_free(layout.size());
    // SAFETY: as the caller promises.
    unsafe { dealloc(block, layout) }
}

/// Frees a block.
///
/// # Safety
/// `block` came from [`allocate`] with the same layout, on any thread, and nobody refers to it any more.
#[inline]
pub(super) unsafe fn free(block: *mut u8, layout: Layout) {
    let Some(class) = class_of(layout) else {
        // SAFETY: a block without a class was allocated with its own layout.
        return unsafe { to_system(block, layout) };
    };
    LISTS.with(|lists| match lists.classes[class].room.get() {
        // SAFETY: as the caller promises.
        0 => unsafe { lists.free_without_room(class, block) },
        // SAFETY: as the caller promises.
        _ => unsafe { lists.classes[class].push(block) },
    });
}

impl List {
    /// Adds a block to the list.
    ///
    /// # Safety
    /// The block has the list's size, nobody refers to it, and the list has capacity.
    #[inline(always)]
    unsafe fn push(&self, block: *mut u8) {
        let block = block.cast::<Free>();
        // SAFETY: the block is ours, large enough for a link and aligned for it.
        unsafe { block.write(Free { next: self.first.get() }) };
        self.first.set(block);
        self.room.set(self.room.get() - 1);
    }
}

impl Lists {
    /// Enables the thread's lists and adds the block, or returns the block to the system if they are full or the thread
    /// exits.
    ///
    /// # Safety
    /// The block has this class, and nobody refers to it.
    #[cold]
    unsafe fn free_without_room(&self, class: usize, block: *mut u8) {
        if self.started.replace(true) || AT_EXIT.try_with(|_| ()).is_err() {
            // SAFETY: blocks of a class are allocated with its layout.
            return unsafe { to_system(block, layout_of(class)) };
        }
        self.classes.iter().for_each(|list| list.room.set(MAX_BLOCKS));
        // SAFETY: there is capacity now.
        unsafe { self.classes[class].push(block) }
    }
}

impl Drop for AtExit {
    fn drop(&mut self) {
        LISTS.with(|lists| {
            for (class, list) in lists.classes.iter().enumerate() {
                list.room.set(0);
                let mut block = list.first.replace(null_mut());
                while !block.is_null() {
                    // SAFETY: free blocks contain links and were allocated with the layout of their class.
                    unsafe {
                        let next = (*block).next;
                        to_system(block.cast(), layout_of(class));
                        block = next;
                    }
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    fn layout(size: usize) -> Layout {
        Layout::from_size_align(size, 8).unwrap()
    }

    fn cached(size: usize) -> u32 {
        LISTS.with(
            |lists| if lists.started.get() { MAX_BLOCKS - lists.classes[(size - 1) / GRAIN].room.get() } else { 0 },
        )
    }

    #[test]
    fn blocks_are_reused_by_size() {
        std::thread::spawn(|| {
            let (small, big) = (allocate(layout(33)), allocate(layout(256)));
            // SAFETY: nobody refers to the blocks.
            unsafe {
                free(small, layout(33));
                free(big, layout(256));
            }
            assert_eq!((cached(33), cached(256)), (1, 1));
            assert_eq!(allocate(layout(64)), small);
            assert_eq!(allocate(layout(250)), big);
            // SAFETY: as above.
            unsafe {
                free(small, layout(64));
                free(big, layout(250));
            }
        })
        .join()
        .unwrap();
    }

    #[test]
    fn lists_are_bounded_and_large_blocks_are_not_cached() {
        let blocks: Vec<_> = (0..MAX_BLOCKS + 10).map(|_| allocate(layout(100))).collect();
        // SAFETY: nobody refers to the blocks.
        blocks.into_iter().for_each(|block| unsafe { free(block, layout(100)) });
        assert!(cached(100) <= MAX_BLOCKS);
        let large = allocate(layout(MAX_SIZE + 1));
        // SAFETY: as above.
        unsafe { free(large, layout(MAX_SIZE + 1)) };
    }

    #[test]
    fn blocks_wander_between_threads() {
        let sent = allocate(layout(200)).expose_provenance();
        std::thread::spawn(move || {
            // SAFETY: the block belongs to this thread now.
            unsafe { free(std::ptr::with_exposed_provenance_mut(sent), layout(200)) };
            assert_eq!(cached(200), 1);
            assert_eq!(allocate(layout(200)).addr(), sent);
            // SAFETY: as above.
            unsafe { free(std::ptr::with_exposed_provenance_mut(sent), layout(200)) };
        })
        .join()
        .unwrap();
    }

    #[test]
    fn blocks_freed_at_a_threads_end_go_back() {
        struct Late(*mut u8);
        impl Drop for Late {
            fn drop(&mut self) {
                // SAFETY: nobody refers to the block.
                unsafe { free(self.0, layout(40)) }
            }
        }
        thread_local!(static LATE: RefCell<Vec<Late>> = const { RefCell::new(Vec::new()) });
        std::thread::spawn(|| {
            // Registered before the lists' exit handler, so dropped after it; the second one in the opposite order.
            LATE.with_borrow_mut(|late| late.push(Late(allocate(layout(40)))));
            drop(Late(allocate(layout(40))));
            LATE.with_borrow_mut(|late| late.push(Late(allocate(layout(40)))));
        })
        .join()
        .unwrap();
    }
}
