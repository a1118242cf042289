//! What is known of a few adjacent bytes that are accessed alike.
use super::frontier::{IN_FLIGHT, View};
use super::{Access, AccessKind, ThreadId};

/// The last plain write, and the accesses since that a later one must be ordered after.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cell {
    block: u32,
    /// 0 if there was no plain write.
    clock: u32,
    line: u32,
    thread: u16,
    /// True once anything wrote the bytes.
    pub(super) is_written: bool,
    pub(super) first: Entry,
}

/// Accesses of lanes of a warp at one clock, other than plain writes. No lanes: no accesses, or those of the list
/// at index `clock - 1` of [`Lists`].
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Entry {
    block: u32,
    clock: u32,
    lanes: u32,
    /// Line, warp and kind, the line in the low 24 bits.
    tag: u32,
}

/// Lists of entries of cells that have several.
#[derive(Debug)]
pub(super) struct Lists {
    lists: Vec<Vec<Entry>>,
    free: Vec<u32>,
    max_entries: usize,
}

const LINE_BITS: u32 = 24;
const LINE_MASK: u32 = (1 << LINE_BITS) - 1;

/// Kinds of entries.
const KINDS: [AccessKind; 4] =
    [AccessKind::Read, AccessKind::StrongRead, AccessKind::StrongWrite, AccessKind::AsyncRead];

impl Entry {
    fn new(view: &View<'_>, kind: AccessKind, line: u32) -> Entry {
        let kind = match kind {
            AccessKind::Atomic => AccessKind::StrongWrite,
            other => other,
        };
        let code = KINDS.iter().position(|known| *known == kind).unwrap_or(0) as u32;
        let ThreadId { block, thread } = view.thread;
        Entry {
            block,
            clock: if kind.is_in_flight() { IN_FLIGHT } else { view.now },
            lanes: 1 << (thread % 32),
            tag: line.min(LINE_MASK) | (thread / 32) << LINE_BITS | code << (LINE_BITS + 6),
        }
    }

    fn kind(self) -> AccessKind {
        KINDS[(self.tag >> (LINE_BITS + 6)) as usize]
    }

    fn warp(self) -> u32 {
        self.tag >> LINE_BITS & 0x3f
    }

    fn find_unordered(self, view: &View<'_>) -> Option<ThreadId> {
        view.find_unordered(self.block, self.warp(), self.lanes, self.clock)
    }

    /// Whether accesses differ in lanes and lines only.
    fn merges(self, other: Entry) -> bool {
        let alike = self.block == other.block && self.clock == other.clock;
        alike && (self.tag ^ other.tag) >> LINE_BITS == 0 && self.clock != IN_FLIGHT
    }

    /// Whether each access that conflicts with `self` conflicts with `other` as well.
    fn is_subsumed_by(self, other: Entry) -> bool {
        let (own, other) = (self.kind(), other.kind());
        own == other && own != AccessKind::AsyncRead || own == AccessKind::StrongRead
    }
}

/// Whether an access conflicts with an earlier one that is no plain write.
fn conflicts(kind: AccessKind, earlier: AccessKind) -> bool {
    match kind {
        AccessKind::Write | AccessKind::AsyncWrite => true,
        AccessKind::Read | AccessKind::AsyncRead => earlier == AccessKind::StrongWrite,
        AccessKind::StrongRead => false,
        AccessKind::StrongWrite | AccessKind::Atomic => matches!(earlier, AccessKind::Read | AccessKind::AsyncRead),
    }
}

impl Cell {
    /// Returns an earlier access that conflicts with one of the view's thread and is not ordered before it.
    pub(super) fn find_conflict(&self, lists: &Lists, view: &View<'_>, kind: AccessKind) -> Option<Access> {
        if self.clock != 0 {
            let (warp, lane) = (u32::from(self.thread) / 32, u32::from(self.thread) % 32);
            if let Some(thread) = view.find_unordered(self.block, warp, 1 << lane, self.clock) {
                let kind = if self.clock == IN_FLIGHT { AccessKind::AsyncWrite } else { AccessKind::Write };
                return Some(Access { thread, kind, line: self.line });
            }
        }
        lists.entries(self).iter().filter(|entry| conflicts(kind, entry.kind())).find_map(|entry| {
            let thread = entry.find_unordered(view)?;
            Some(Access { thread, kind: entry.kind(), line: entry.tag & LINE_MASK })
        })
    }

    /// Records an access that conflicts with none.
    pub(super) fn record(&mut self, lists: &mut Lists, view: &View<'_>, kind: AccessKind, line: u32) {
        self.is_written |= !matches!(kind, AccessKind::Read | AccessKind::StrongRead | AccessKind::AsyncRead);
        if !matches!(kind, AccessKind::Write | AccessKind::AsyncWrite) {
            lists.add(self, Entry::new(view, kind, line), view);
            return;
        }
        lists.clear(self);
        self.block = view.thread.block;
        self.thread = view.thread.thread as u16;
        self.clock = if kind == AccessKind::AsyncWrite { IN_FLIGHT } else { view.now };
        self.line = line;
    }

    /// Ends accesses in flight of the view's thread.
    pub(super) fn complete(&mut self, lists: &mut Lists, view: &View<'_>) {
        let ThreadId { block, thread } = view.thread;
        if self.clock == IN_FLIGHT && self.block == block && u32::from(self.thread) == thread {
            self.clock = view.now;
        }
        for entry in lists.entries_mut(self) {
            let same = entry.block == block && entry.warp() == thread / 32 && entry.lanes == 1 << (thread % 32);
            if same && entry.clock == IN_FLIGHT {
                *entry = Entry::new(view, AccessKind::Read, entry.tag & LINE_MASK);
            }
        }
    }
}

impl Lists {
    /// Lists of at most `max_entries` of a cell. Further accesses are not recorded, which can hide a race from a later
    /// access only if that is ordered after all recorded ones.
    pub(super) fn new(max_entries: usize) -> Lists {
        Lists { lists: Vec::new(), free: Vec::new(), max_entries }
    }

    fn entries<'a>(&'a self, cell: &'a Cell) -> &'a [Entry] {
        match cell.first {
            Entry { lanes: 0, clock: 0, .. } => &[],
            Entry { lanes: 0, clock, .. } => &self.lists[clock as usize - 1],
            _ => std::slice::from_ref(&cell.first),
        }
    }

    fn entries_mut<'a>(&'a mut self, cell: &'a mut Cell) -> &'a mut [Entry] {
        match cell.first {
            Entry { lanes: 0, clock: 0, .. } => &mut [],
            Entry { lanes: 0, clock, .. } => &mut self.lists[clock as usize - 1],
            _ => std::slice::from_mut(&mut cell.first),
        }
    }

    fn clear(&mut self, cell: &mut Cell) {
        if let Entry { lanes: 0, clock: index @ 1.., .. } = cell.first {
            self.lists[index as usize - 1].clear();
            self.free.push(index - 1);
        }
        cell.first = Entry::default();
    }

    /// Adds an entry, joined with one that is alike, in place of those that it makes unnecessary.
    fn add(&mut self, cell: &mut Cell, new: Entry, view: &View<'_>) {
        if let Some(known) = self.entries_mut(cell).iter_mut().find(|known| known.merges(new)) {
            known.lanes |= new.lanes;
            return;
        }
        let stays = |known: &Entry| !known.is_subsumed_by(new) || known.find_unordered(view).is_some();
        match cell.first {
            Entry { lanes: 0, clock: 0, .. } => cell.first = new,
            Entry { lanes: 0, clock, .. } => {
                let list = &mut self.lists[clock as usize - 1];
                list.retain(stays);
                if list.is_empty() {
                    self.clear(cell);
                    cell.first = new;
                } else if list.len() < self.max_entries {
                    list.push(new);
                }
            }
            first if stays(&first) => cell.first = self.allocate(vec![first, new]),
            _ => cell.first = new,
        }
    }

    /// A cell with the same entries, in a list of its own.
    pub(super) fn duplicate(&mut self, cell: &Cell) -> Cell {
        match cell.first {
            Entry { lanes: 0, clock: index @ 1.., .. } => {
                let entries = self.lists[index as usize - 1].clone();
                Cell { first: self.allocate(entries), ..*cell }
            }
            _ => *cell,
        }
    }

    fn allocate(&mut self, entries: Vec<Entry>) -> Entry {
        let index = match self.free.pop() {
            Some(index) => index,
            None => {
                self.lists.push(Vec::new());
                self.lists.len() as u32 - 1
            }
        };
        self.lists[index as usize] = entries;
        Entry { clock: index + 1, ..Entry::default() }
    }
}
