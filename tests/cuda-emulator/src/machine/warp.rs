//! A warp: registers of its lanes, and where each of them is.
use super::{Grid, block::Block, copies::Copies};
use crate::{
    fault::Fault,
    lanes::{Lanes, lanes},
};

/// Steps of a diverged warp behind which any split may be next, so that a split that waits for another in a loop does
/// not starve it.
const FAIR_AFTER: u32 = 1024;

/// The reason why a split cannot execute its next instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// Nothing.
    None,
    /// Lanes of its warp that the instruction needs.
    Lanes,
    /// The barrier of this number.
    Barrier(u32),
}

/// Lanes of a warp at the same instruction with the same callers.
#[derive(Debug, Clone)]
pub(super) struct Split {
    pub mask: u32,
    pub pc: usize,
    /// Where the functions that it is in return to.
    pub callers: Vec<usize>,
    pub wait: Wait,
}

/// A warp.
#[derive(Debug, Default)]
pub(super) struct Warp {
    /// Its index in the block.
    pub index: u32,
    /// Lanes that are threads.
    pub threads: u32,
    /// Threads that have ended.
    pub exited: u32,
    pub registers: Vec<Lanes>,
    /// Predicates: a bit for each lane.
    pub predicates: Vec<u32>,
    /// The carry flag: a bit for each lane.
    pub carry: u32,
    pub splits: Vec<Split>,
    pub copies: Copies,
    /// Steps since it was last converged.
    pub diverged_steps: u32,
}

/// The state of a warp behind an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// It can go on at once.
    Continue,
    /// Its turn ends: it waits, or something happened that may let others go on.
    Yield,
}

impl Warp {
    /// True if some of its lanes can execute an instruction.
    pub fn is_ready(&self) -> bool {
        self.splits.iter().any(|split| split.wait == Wait::None)
    }

    /// Lanes that have not ended.
    pub fn live(&self) -> u32 {
        self.threads & !self.exited
    }

    /// Writes a register of the lanes in `mask`.
    pub fn write(&mut self, register: u32, mask: u32, values: &Lanes) {
        let target = &mut self.registers[register as usize];
        if mask == u32::MAX {
            *target = *values;
        } else {
            for lane in lanes(mask) {
                target[lane] = values[lane];
            }
        }
    }

    /// Writes a predicate of the lanes in `mask`.
    pub fn write_predicate(&mut self, predicate: u32, mask: u32, values: u32) {
        let target = &mut self.predicates[predicate as usize];
        *target = *target & !mask | values & mask;
    }

    /// Joins splits at the same instruction with the same callers. Those that waited for lanes try again.
    fn join_splits(&mut self) {
        let mut at = 0;
        while at < self.splits.len() {
            let mut other = at + 1;
            while other < self.splits.len() {
                let (a, b) = (&self.splits[at], &self.splits[other]);
                let waits_at_barrier = |split: &Split| matches!(split.wait, Wait::Barrier(_));
                if a.pc == b.pc && a.callers == b.callers && !waits_at_barrier(a) && !waits_at_barrier(b) {
                    let mask = self.splits.swap_remove(other).mask;
                    self.splits[at].mask |= mask;
                    self.splits[at].wait = Wait::None;
                } else {
                    other += 1;
                }
            }
            at += 1;
        }
    }

    /// Chooses the split that executes next: the one with the lowest address. Functions are before their callers.
    fn choose(&mut self, random: &mut fastrand::Rng) -> Option<usize> {
        if self.splits.len() <= 1 {
            self.diverged_steps = 0;
        } else {
            self.join_splits();
            self.diverged_steps += 1;
        }
        let ready = |split: &&Split| split.wait == Wait::None;
        if self.diverged_steps > FAIR_AFTER {
            let count = self.splits.iter().filter(ready).count();
            let chosen = random.usize(..count.max(1));
            return self
                .splits
                .iter()
                .enumerate()
                .filter(|(_, split)| ready(split))
                .nth(chosen)
                .map(|(index, _)| index);
        }
        let lowest = self.splits.iter().enumerate().filter(|(_, split)| ready(split)).min_by_key(|(_, split)| split.pc);
        lowest.map(|(index, _)| index)
    }

    /// Runs up to `steps` instructions.
    pub fn take_turn(&mut self, grid: &mut Grid<'_>, block: &mut Block, steps: u32) -> Result<(), Box<Fault>> {
        for _ in 0..steps {
            let Some(split) = self.choose(&mut grid.random) else { return Ok(()) };
            if grid.step(block, self, split)? == Step::Yield {
                return Ok(());
            }
        }
        Ok(())
    }
}
