//! What a thread is ordered after: for each thread, the clock up to which.
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::lanes;

use super::ThreadId;

/// Clocks of a block's threads by index.
pub(super) type BlockClocks = Arc<Vec<u32>>;

/// The clock of an access that may happen at any time until its wait: nothing is ordered after it.
pub(super) const IN_FLIGHT: u32 = u32::MAX;

/// Clocks of threads of any blocks. Equal parts are shared, so that a barrier of many threads makes one copy.
#[derive(Debug, Clone, Default)]
pub(super) struct Frontier(FxHashMap<u32, BlockClocks>);

impl Frontier {
    pub(super) fn get(&self, block: u32) -> Option<&BlockClocks> {
        self.0.get(&block)
    }

    pub(super) fn insert(&mut self, block: u32, clocks: BlockClocks) {
        self.0.insert(block, clocks);
    }

    /// Takes the later clock of each thread.
    pub(super) fn join(&mut self, other: &Frontier) {
        for (&block, clocks) in &other.0 {
            match self.0.get_mut(&block) {
                Some(own) => join_clocks(own, clocks),
                None => self.insert(block, Arc::clone(clocks)),
            }
        }
    }
}

/// Takes the later clock of each thread.
pub(super) fn join_clocks(own: &mut BlockClocks, other: &BlockClocks) {
    let covered = || own.iter().zip(other.iter()).all(|(own, other)| own >= other);
    if Arc::ptr_eq(own, other) || covered() {
        return;
    }
    for (own, other) in Arc::make_mut(own).iter_mut().zip(other.iter()) {
        *own = (*own).max(*other);
    }
}

/// Joins what may be absent; shares instead of copying where one side is absent or both are the same.
pub(super) fn join_shared(own: &mut Option<Arc<Frontier>>, other: Option<&Arc<Frontier>>) {
    match (own.as_mut(), other) {
        (_, None) => {}
        (None, Some(other)) => *own = Some(Arc::clone(other)),
        (Some(own), Some(other)) if Arc::ptr_eq(own, other) => {}
        (Some(own), Some(other)) => Arc::make_mut(own).join(other),
    }
}

/// A thread, its clock and what it is ordered after.
pub(super) struct View<'a> {
    pub(super) thread: ThreadId,
    pub(super) now: u32,
    /// Clocks of the thread's own block.
    pub(super) block_clocks: &'a [u32],
    /// Clocks of other blocks.
    pub(super) others: Option<&'a Frontier>,
}

impl View<'_> {
    /// Returns a thread among lanes of a warp whose access at a clock is not ordered before now. Accesses of the
    /// thread itself are, unless in flight.
    pub(super) fn find_unordered(&self, block: u32, warp: u32, lanes: u32, clock: u32) -> Option<ThreadId> {
        let clocks = if block == self.thread.block {
            self.block_clocks
        } else {
            self.others.and_then(|others| others.get(block)).map_or(&[][..], |clocks| clocks)
        };
        let is_unordered = |thread: u32| {
            let own = block == self.thread.block && thread == self.thread.thread;
            let known = clocks.get(thread as usize).is_some_and(|&known| known >= clock);
            clock == IN_FLIGHT || !own && !known
        };
        let thread = lanes::lanes(lanes).map(|lane| warp * 32 + lane as u32).find(|&thread| is_unordered(thread))?;
        Some(ThreadId { block, thread })
    }
}
