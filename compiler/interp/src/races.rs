//! Races between threads of a GPU: accesses to one element by two threads, one of which stores, that no barrier orders.
//!
//! Blocks of a launch are not ordered at all. Two readers of each byte are remembered: of the last phase, or of
//! different blocks. That is enough to find a conflict with any later store.

use crate::{Fault, Pointer};
use hammock_ir::{DType, Name};
use rustc_hash::FxHashMap;
use std::fmt;

/// Accesses of the threads of a launch.
#[derive(Default)]
pub(crate) struct Races {
    /// The thread that runs now.
    pub current: Actor,
    /// Accesses to each byte of each memory.
    memories: Vec<FxHashMap<i64, Accesses>>,
}

/// A thread between two barriers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Actor {
    /// Number of the block.
    pub block: u64,
    /// Number of the thread in it.
    pub thread: u64,
    /// Number of barriers that the block has passed.
    pub phase: u64,
}

#[derive(Default)]
struct Accesses {
    writer: Option<Actor>,
    readers: [Option<Actor>; 2],
}

impl Races {
    /// Records an access, and reports a race with an earlier one.
    pub fn access(&mut self, at: Pointer, dtype: DType, stores: bool, element: i64, name: &Name) -> Result<(), Fault> {
        let (own, first) = (self.current, at.bits.div_euclid(8));
        if self.memories.len() <= at.memory {
            self.memories.resize_with(at.memory + 1, FxHashMap::default);
        }
        for byte in 0..i64::from(dtype.bits.div_ceil(8)) {
            let known = self.memories[at.memory].entry(first + byte).or_default();
            let readers = known.readers.iter().flatten().filter(|_| stores);
            if let Some(other) = known.writer.iter().chain(readers).find(|other| other.conflicts(own)) {
                return Err(Fault::Race(other.to_string(), own.to_string(), name.clone(), element));
            }
            if stores {
                known.writer = Some(own);
            } else {
                known.read(own);
            }
        }
        Ok(())
    }

    /// Forgets memory that is freed: all from this number on.
    pub fn forget(&mut self, mark: usize) {
        self.memories.truncate(mark);
    }
}

impl Accesses {
    fn read(&mut self, own: Actor) {
        let same = |reader: &Option<Actor>| reader.is_some_and(|r| (r.block, r.thread) == (own.block, own.thread));
        let older = |reader: &Option<Actor>| reader.is_none_or(|r| r.block == own.block && r.phase < own.phase);
        let slot = self.readers.iter().position(same).or_else(|| self.readers.iter().position(older));
        if let Some(slot) = slot {
            self.readers[slot] = Some(own);
        }
    }
}

impl Actor {
    /// Returns true if no barrier is between two threads.
    fn conflicts(self, other: Actor) -> bool {
        self.block != other.block || self.thread != other.thread && self.phase == other.phase
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thread {} of block {}", self.thread, self.block)
    }
}
