//! Cells by address.
use rustc_hash::FxHashMap;

use super::cells::{Cell, Lists};
use super::{Access, AccessKind, Clocks, Race, ShadowError, ThreadId};

/// Bytes of a page, a power of two.
const PAGE: u64 = 1024;
/// Bytes of a cell at first, as a power of two.
const WORD_SHIFT: u32 = 2;

/// Who accessed each byte of a memory. Addresses are any `u64`; the shadow grows with what is accessed.
#[derive(Debug)]
pub struct Shadow {
    pages: Vec<Page>,
    by_number: FxHashMap<u64, usize>,
    /// Number and index of the page used last.
    last: (u64, usize),
    lists: Lists,
    is_poisoned: bool,
}

/// Cells of 4 bytes, or of 2 or 1 once an access needs it.
#[derive(Debug)]
struct Page {
    shift: u32,
    cells: Vec<Cell>,
}

impl Shadow {
    /// A shadow of global memory, which keeps few readers of each word because weights have many, and where [`Memory`](crate::memory::Memory) knows what was written.
    pub fn of_global() -> Shadow {
        Shadow::new(false, 4)
    }

    /// A shadow of a block's shared memory, where reads of unwritten bytes are errors.
    pub fn of_shared() -> Shadow {
        Shadow::new(true, 64)
    }

    pub(super) fn new(is_poisoned: bool, max_entries: usize) -> Shadow {
        let by_number = FxHashMap::default();
        Shadow { pages: Vec::new(), by_number, last: (u64::MAX, 0), lists: Lists::new(max_entries), is_poisoned }
    }

    /// Checks and records an access of `bytes` bytes at `address`. A thread that no block of the clocks has is not
    /// recorded.
    ///
    /// # Errors
    /// A race with an earlier access; a read of bytes that nobody wrote.
    pub fn access(
        &mut self,
        clocks: &Clocks,
        thread: ThreadId,
        kind: AccessKind,
        address: u64,
        bytes: u32,
        line: u32,
    ) -> Result<(), ShadowError> {
        let Some(view) = clocks.view(thread) else { return Ok(()) };
        let is_poisoned = self.is_poisoned;
        self.try_for_cells(address, bytes, |cell, lists, address| {
            let second = Access { thread, kind, line };
            if let Some(first) = cell.find_conflict(lists, &view, kind) {
                return Err(ShadowError::Race(Box::new(Race { address, first, second })));
            }
            if is_poisoned && kind.reads() && !cell.is_written {
                return Err(ShadowError::Unwritten(address));
            }
            cell.record(lists, &view, kind, line);
            Ok(())
        })
    }

    /// `cp.async.wait_group`, or a mbarrier's phase that the copy arrived on: an asynchronous access of the range
    /// that the thread issued is done, as if the thread had made it now.
    pub fn complete_async(&mut self, clocks: &Clocks, thread: ThreadId, address: u64, bytes: u32) {
        let Some(view) = clocks.view(thread) else { return };
        let complete = |cell: &mut Cell, lists: &mut Lists, _| {
            cell.complete(lists, &view);
            Ok::<(), std::convert::Infallible>(())
        };
        let Ok(()) = self.try_for_cells(address, bytes, complete);
    }

    /// Calls a function for each cell of a range, with the first of its addresses in the range.
    fn try_for_cells<E>(
        &mut self,
        address: u64,
        bytes: u32,
        mut visit: impl FnMut(&mut Cell, &mut Lists, u64) -> Result<(), E>,
    ) -> Result<(), E> {
        let end = address.saturating_add(bytes.into());
        let mut next = address;
        while next < end {
            let number = next / PAGE;
            let page_end = (number.saturating_add(1)).saturating_mul(PAGE).min(end);
            let index = self.page(number);
            let page = &mut self.pages[index];
            page.refine(&mut self.lists, next | page_end);
            let (first, last) = ((next % PAGE) >> page.shift, ((page_end - 1) % PAGE) >> page.shift);
            for cell in first..=last {
                let address = number * PAGE + (cell << page.shift);
                visit(&mut page.cells[cell as usize], &mut self.lists, address)?;
            }
            next = page_end;
        }
        Ok(())
    }

    fn page(&mut self, number: u64) -> usize {
        if self.last.0 != number {
            let index = *self.by_number.entry(number).or_insert(self.pages.len());
            if index == self.pages.len() {
                let cells = vec![Cell::default(); (PAGE >> WORD_SHIFT) as usize];
                self.pages.push(Page { shift: WORD_SHIFT, cells });
            }
            self.last = (number, index);
        }
        self.last.1
    }
}

impl Page {
    /// Splits cells until a boundary lies between two of them.
    fn refine(&mut self, lists: &mut Lists, boundary: u64) {
        while boundary & ((1 << self.shift) - 1) != 0 {
            self.shift -= 1;
            self.cells = self.cells.iter().flat_map(|cell| [*cell, lists.duplicate(cell)]).collect();
        }
    }
}
