//! Branches, calls, returns and exits.
use super::{
    Grid, Outcome,
    block::Block,
    execute::Turn,
    stop,
    warp::{Split, Step, Wait, Warp},
};
use crate::{
    fault::FaultKind,
    lanes::{self, Lanes},
    ptx::op::Op,
};

impl Grid<'_> {
    pub(super) fn jump(&mut self, block: &Block, warp: &mut Warp, turn: Turn<'_>) -> Outcome<Step> {
        match &turn.instruction.op {
            Op::Branch { target, is_uniform } => {
                if *is_uniform && turn.mask != warp.splits[turn.split].mask {
                    let message = "not all lanes take a branch with `.uni`".to_string();
                    return stop(turn.first_lane(), FaultKind::DivergentWarp(message));
                }
                self.leave_unguarded(warp, turn);
                warp.splits[turn.split].pc = *target as usize;
            }
            Op::BranchTable { index, targets } => {
                let index = self.read(block, warp, *index);
                self.leave_unguarded(warp, turn);
                self.branch_by_table(warp, turn, &index, targets)?;
            }
            Op::Call { target } => {
                self.leave_unguarded(warp, turn);
                let split = &mut warp.splits[turn.split];
                split.callers.push(split.pc + 1);
                split.pc = *target as usize;
            }
            Op::Return => {
                self.leave_unguarded(warp, turn);
                let split = &mut warp.splits[turn.split];
                match split.callers.pop() {
                    Some(caller) => split.pc = caller,
                    None => return self.trap(turn.first_lane(), "`ret` without a caller"),
                }
            }
            _ => return self.exit(warp, turn),
        }
        Ok(Step::Continue)
    }

    fn branch_by_table(&self, warp: &mut Warp, turn: Turn<'_>, index: &Lanes, targets: &[u32]) -> Outcome<()> {
        let mut rest = turn.mask;
        let callers = warp.splits[turn.split].callers.clone();
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            let Some(&target) = targets.get(index[lane] as usize) else {
                return self.trap(lane, format!("index {} of {} branch targets", index[lane], targets.len()));
            };
            let mask = lanes::filter(rest, |other| index[other] == index[lane]);
            let split = Split { mask, pc: target as usize, callers: callers.clone(), wait: Wait::None };
            if rest == turn.mask {
                warp.splits[turn.split] = split;
            } else {
                warp.splits.push(split);
            }
            rest &= !mask;
        }
        Ok(())
    }

    /// Ends threads. A barrier does not wait for warps that have ended. Where only some threads of a warp have, PTX
    /// leaves `bar` and `.aligned` undefined, though GPUs since sm_70 let the others pass: here it is an error.
    fn exit(&mut self, warp: &mut Warp, turn: Turn<'_>) -> Outcome<Step> {
        self.leave_unguarded(warp, turn);
        warp.splits.swap_remove(turn.split);
        warp.exited |= turn.mask;
        for split in &mut warp.splits {
            if split.wait == Wait::Lanes {
                if self.is_barrier(split.pc) {
                    let message = format!("threads exit while lanes {:#010x} of their warp wait at one", split.mask);
                    return stop(turn.first_lane(), FaultKind::DivergentBarrier(message));
                }
                split.wait = Wait::None;
            }
        }
        Ok(Step::Yield)
    }
}
