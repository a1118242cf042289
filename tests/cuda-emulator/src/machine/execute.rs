//! One instruction of a split.
use super::{
    Grid, Outcome, Stop,
    block::Block,
    stop,
    warp::{Split, Step, Wait, Warp},
};
use crate::{
    fault::{Fault, FaultKind},
    lanes::{Lanes, lanes},
    ptx::op::{Instruction, Op},
};

/// A split that executes an instruction.
#[derive(Clone, Copy)]
pub(super) struct Turn<'a> {
    pub instruction: &'a Instruction,
    /// Index of the split.
    pub split: usize,
    /// Lanes of the split whose guard is true.
    pub mask: u32,
}

impl Turn<'_> {
    /// The first lane that executes it.
    pub fn first_lane(&self) -> usize {
        self.mask.trailing_zeros() as usize % 32
    }
}

impl Grid<'_> {
    /// Executes the next instruction of a split.
    pub(super) fn step(&mut self, block: &mut Block, warp: &mut Warp, split: usize) -> Result<Step, Box<Fault>> {
        let code = self.code;
        let pc = warp.splits[split].pc;
        let instruction = &code.instructions[pc];
        let guard = instruction.guard.map_or(u32::MAX, |guard| guard.mask(warp));
        let mask = warp.splits[split].mask & guard;
        self.counters.instructions += 1;
        block.steps += 1;
        let result = if self.counters.instructions > self.launch.max_instructions {
            stop(0, FaultKind::TooLong(self.launch.max_instructions))
        } else if mask == 0 {
            warp.splits[split].pc += 1;
            Ok(Step::Continue)
        } else {
            self.execute(block, warp, Turn { instruction, split, mask })
        };
        result.map_err(|stop| self.fault(block, warp.index, pc, stop))
    }

    fn execute(&mut self, block: &mut Block, warp: &mut Warp, turn: Turn<'_>) -> Outcome<Step> {
        match &turn.instruction.op {
            Op::Branch { .. } | Op::BranchTable { .. } | Op::Call { .. } | Op::Return | Op::Exit => {
                return self.jump(block, warp, turn);
            }
            Op::Barrier(barrier) => return self.arrive_at_barrier(block, warp, turn, barrier),
            Op::Shuffle { .. }
            | Op::Vote { .. }
            | Op::Match { .. }
            | Op::Reduce { .. }
            | Op::Elect { .. }
            | Op::WarpBarrier { .. } => return self.collective(block, warp, turn),
            Op::LoadMatrix { .. } | Op::StoreMatrix { .. } | Op::TransposeMatrix { .. } | Op::Mma { .. } => {
                return self.matrices(block, warp, turn);
            }
            op => self.execute_by_lane(block, warp, turn, op)?,
        }
        warp.splits[turn.split].pc += 1;
        Ok(Step::Continue)
    }

    /// An instruction that each lane executes for itself, whatever others do.
    fn execute_by_lane(&mut self, block: &mut Block, warp: &mut Warp, turn: Turn<'_>, op: &Op) -> Outcome<()> {
        match op {
            Op::Load { access, dst, sign_extend } => self.execute_load(block, warp, turn, access, dst, *sign_extend),
            Op::Store { access, src } => self.execute_store(block, warp, turn, access, src),
            Op::Atomic { .. } => self.execute_atomic(block, warp, turn),
            Op::CopyFrame { from, to, bytes } => {
                for lane in lanes(turn.mask) {
                    block.local.copy(32 * warp.index + lane as u32, *from, *to, *bytes);
                }
                Ok(())
            }
            Op::Fence { scope } => {
                for lane in lanes(turn.mask) {
                    self.clocks.fence(block.thread(warp.index, lane), *scope);
                }
                Ok(())
            }
            Op::CopyAsync { .. } => self.issue_copies(block, warp, turn),
            Op::CommitGroup => {
                warp.copies.commit(turn.mask);
                Ok(())
            }
            Op::WaitGroup { pending } => self.wait_for_copies(block, warp, turn, Some(*pending)),
            Op::WaitAll => self.wait_for_copies(block, warp, turn, None),
            Op::Mbarrier { op, address } => self.mbarrier(block, warp, turn, op, *address),
            Op::Nop => Ok(()),
            Op::Trap => self.trap(turn.first_lane(), "`trap`"),
            Op::Breakpoint => self.trap(turn.first_lane(), "`brkpt`"),
            op => self.compute(block, warp, turn, op),
        }
    }

    /// True if all lanes in `needed` execute the instruction. If not, those that do wait for the others, and those
    /// whose guard is false go on.
    pub(super) fn gather(&mut self, warp: &mut Warp, turn: Turn<'_>, needed: u32) -> bool {
        let gathered = needed & !turn.mask == 0;
        self.leave_unguarded(warp, turn);
        if !gathered {
            self.wait_for_lanes(warp, turn.split);
        }
        gathered
    }

    /// Lanes wait for others; the instruction has yet to be executed.
    pub(super) fn wait_for_lanes(&mut self, warp: &mut Warp, split: usize) {
        warp.splits[split].wait = Wait::Lanes;
        self.counters.instructions -= 1;
    }

    /// Lanes whose guard is false become a split of their own behind the instruction.
    pub(super) fn leave_unguarded(&self, warp: &mut Warp, turn: Turn<'_>) {
        let split = &mut warp.splits[turn.split];
        let rest = split.mask & !turn.mask;
        if rest != 0 {
            split.mask = turn.mask;
            let behind = Split { mask: rest, pc: split.pc + 1, callers: split.callers.clone(), wait: Wait::None };
            warp.splits.push(behind);
        }
    }

    /// True if the instruction is a barrier of the block.
    pub(super) fn is_barrier(&self, pc: usize) -> bool {
        matches!(self.code.instructions[pc].op, Op::Barrier(_))
    }
}

/// The first of the lanes for which `f` fails.
pub(super) fn find_lane(mask: u32, f: impl Fn(usize) -> bool) -> Option<usize> {
    lanes(mask).find(|&lane| f(lane))
}

/// The value that all lanes of a mask have.
pub(super) fn uniform(mask: u32, values: &Lanes, what: &str) -> Result<u64, Stop> {
    let first = values[mask.trailing_zeros() as usize % 32];
    match find_lane(mask, |lane| values[lane] != first) {
        Some(lane) => stop(lane, FaultKind::DivergentWarp(format!("lanes have different {what}"))),
        None => Ok(first),
    }
}
