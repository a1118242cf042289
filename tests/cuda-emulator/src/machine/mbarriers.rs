//! `mbarrier`: barriers in shared memory with phases.
//!
//! Their state is here, not in shared memory: it is opaque in PTX, and other accesses of its bytes are errors.
use super::{Grid, Outcome, Stop, block::Block, copies::shared_offsets, execute::Turn, warp::Warp};
use crate::{
    fault::FaultKind,
    lanes::lanes,
    ptx::op::{Address, MbarrierOp},
    shadow::{AccessKind, Flag, Scope, ThreadId},
};

/// Bytes of a mbarrier.
const BYTES: u32 = 8;
/// Maximum number of arrivals of a phase.
const MAX_COUNT: u32 = (1 << 20) - 1;

/// A mbarrier.
#[derive(Debug, Clone, Copy)]
struct Mbarrier {
    /// Arrivals of the next phases.
    expected: u32,
    /// Arrivals that the current phase lacks.
    pending: u32,
    /// Number of the current phase.
    phase: u64,
}

impl Mbarrier {
    /// The state that `arrive` returns: phase and pending arrivals.
    fn state(&self) -> u64 {
        self.phase << 32 | u64::from(self.pending)
    }
}

/// The mbarriers of a block by their offset.
#[derive(Debug, Default)]
pub(super) struct Mbarriers {
    all: Vec<(u64, Mbarrier)>,
}

fn invalid<T>(message: impl Into<String>) -> Result<T, FaultKind> {
    Err(FaultKind::Mbarrier(message.into()))
}

impl Mbarriers {
    /// Checks that an access is of no mbarrier.
    pub fn check_no_mbarrier(&self, offset: u64, bytes: u32) -> Result<(), FaultKind> {
        let overlaps = |at: u64| at < offset + u64::from(bytes) && offset < at + u64::from(BYTES);
        match self.all.iter().find(|(at, _)| overlaps(*at)) {
            Some((at, _)) => invalid(format!("an access of the one at offset {at} other than by `mbarrier`")),
            None => Ok(()),
        }
    }

    fn find(&mut self, offset: u64) -> Result<&mut Mbarrier, FaultKind> {
        match self.all.iter_mut().find(|(at, _)| *at == offset) {
            Some((_, mbarrier)) => Ok(mbarrier),
            None => invalid(format!("none was initialised at offset {offset}")),
        }
    }
}

impl Grid<'_> {
    pub(super) fn mbarrier(
        &mut self,
        block: &mut Block,
        warp: &mut Warp,
        turn: Turn<'_>,
        op: &MbarrierOp,
        address: Address,
    ) -> Outcome<()> {
        if let MbarrierOp::PendingCount { dst, state } = *op {
            let values = self.read(block, warp, state).map(|state| state & 0xffff_ffff);
            warp.write(dst, turn.mask, &values);
            return Ok(());
        }
        let mut addresses = self.addresses(block, warp, address);
        shared_offsets(turn.mask, address.space, &mut addresses)?;
        for lane in lanes(turn.mask) {
            let thread = block.thread(warp.index, lane);
            let kind = if matches!(op, MbarrierOp::Init { .. }) { AccessKind::Write } else { AccessKind::Atomic };
            let access = (addresses[lane], BYTES);
            let checked = block.shared.check(&self.clocks, thread, kind, access, turn.instruction.line);
            let result = checked.and_then(|()| self.mbarrier_of_lane(block, warp, op, (thread, lane), addresses[lane]));
            result.map_err(|kind| Stop { kind: Box::new(kind), lane })?;
        }
        if matches!(op, MbarrierOp::ArriveAfterCopies { .. }) {
            self.arrive_after_copies(block, warp, turn, &addresses)?;
        }
        Ok(())
    }

    fn mbarrier_of_lane(
        &mut self,
        block: &mut Block,
        warp: &mut Warp,
        op: &MbarrierOp,
        (thread, lane): (ThreadId, usize),
        offset: u64,
    ) -> Result<(), FaultKind> {
        match *op {
            MbarrierOp::Init { count } => {
                let count = self.read(block, warp, count)[lane] as u32;
                if !(1..=MAX_COUNT).contains(&count) {
                    return invalid(format!("a count of {count}"));
                }
                block.mbarriers.check_no_mbarrier(offset, BYTES)?;
                block.mbarriers.all.push((offset, Mbarrier { expected: count, pending: count, phase: 0 }));
            }
            MbarrierOp::Invalidate => {
                block.mbarriers.find(offset)?;
                block.mbarriers.all.retain(|(at, _)| *at != offset);
            }
            MbarrierOp::Arrive { count, drop, state } => {
                let count = self.read(block, warp, count)[lane] as u32;
                let before = block.mbarriers.find(offset)?.state();
                self.arrive(block, thread, offset, count, drop)?;
                if let Some(state) = state {
                    warp.registers[state as usize][lane] = before;
                }
            }
            MbarrierOp::Wait { predicate, by_parity, phase } => {
                let phase = self.read(block, warp, phase)[lane];
                let is_done = self.test(block, thread, offset, by_parity, phase)?;
                if let Some(predicate) = predicate {
                    warp.write_predicate(predicate, 1 << lane, if is_done { u32::MAX } else { 0 });
                }
            }
            MbarrierOp::ArriveAfterCopies { no_increment } => {
                block.mbarriers.find(offset)?.pending += u32::from(!no_increment);
            }
            MbarrierOp::PendingCount { .. } => {}
        }
        Ok(())
    }

    /// A thread arrives `count` times; `drop` lets it arrive no more in later phases.
    pub(super) fn arrive(
        &mut self,
        block: &mut Block,
        thread: ThreadId,
        offset: u64,
        count: u32,
        drop: bool,
    ) -> Result<(), FaultKind> {
        let mbarrier = block.mbarriers.find(offset)?;
        if !(1..=mbarrier.pending).contains(&count) {
            return invalid(format!("{count} arrivals where {} are pending", mbarrier.pending));
        }
        self.clocks.release(thread, Flag::Phase(block.number, offset, mbarrier.phase), Scope::Block);
        mbarrier.pending -= count;
        mbarrier.expected -= if drop { count } else { 0 };
        if mbarrier.pending == 0 {
            mbarrier.phase += 1;
            // Nobody can wait for the phase before this one any more.
            if let Some(past) = mbarrier.phase.checked_sub(2) {
                self.clocks.forget(Flag::Phase(block.number, offset, past));
            }
            mbarrier.pending = mbarrier.expected;
        }
        Ok(())
    }

    /// True if a phase, by its parity or state, is complete; then the thread is ordered behind its arrivals.
    fn test(
        &mut self,
        block: &mut Block,
        thread: ThreadId,
        offset: u64,
        by_parity: bool,
        phase: u64,
    ) -> Result<bool, FaultKind> {
        let current = block.mbarriers.find(offset)?.phase;
        let is_done = if by_parity {
            if phase > 1 {
                return invalid(format!("a parity of {phase}"));
            }
            current & 1 != phase
        } else {
            let awaited = phase >> 32;
            if awaited > current || awaited + 1 < current {
                return invalid("a wait for a phase that is neither the current nor the one before");
            }
            awaited < current
        };
        if is_done && current > 0 {
            self.clocks.acquire(thread, Flag::Phase(block.number, offset, current - 1), Scope::Block);
        }
        Ok(is_done)
    }
}
