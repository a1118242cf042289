//! Shuffles, votes, matches and reductions of the lanes of a warp that an instruction names.
use super::{
    Grid, Outcome,
    block::Block,
    execute::Turn,
    stop,
    warp::{Split, Step, Wait, Warp},
};
use crate::{
    arith::{Type, binary},
    fault::FaultKind,
    lanes::{self, Lanes, lanes},
    ptx::op::{Op, ShuffleMode, Source, VoteMode},
};

/// The lane that `shfl.sync` reads, and true if it is in range.
fn source_lane(mode: ShuffleMode, lane: u32, b: u32, clamp: u32) -> (u32, bool) {
    let (b, limit, segment) = (b & 31, clamp & 31, clamp >> 8 & 31);
    let (lowest, highest) = (lane & segment, lane & segment | limit & !segment);
    let (source, in_range) = match mode {
        ShuffleMode::Up => (lane.wrapping_sub(b), lane as i32 - b as i32 >= highest as i32),
        ShuffleMode::Down => (lane + b, lane + b <= highest),
        ShuffleMode::Bfly => (lane ^ b, lane ^ b <= highest),
        ShuffleMode::Idx => (lowest | b & !segment, lowest | b & !segment <= highest),
    };
    if in_range { (source, true) } else { (lane, false) }
}

impl Grid<'_> {
    /// Executes an instruction for each set of lanes that names itself in the member mask and is complete. Others wait.
    pub(super) fn collective(&mut self, block: &mut Block, warp: &mut Warp, turn: Turn<'_>) -> Outcome<Step> {
        let (Op::Shuffle { mask, .. }
        | Op::Vote { mask, .. }
        | Op::Match { mask, .. }
        | Op::Reduce { mask, .. }
        | Op::Elect { mask, .. }
        | Op::WarpBarrier { mask }) = turn.instruction.op
        else {
            return self.trap(turn.first_lane(), "no instruction with a member mask");
        };
        let members = self.read(block, warp, mask);
        self.leave_unguarded(warp, turn);
        let (mut rest, mut complete) = (turn.mask, Vec::new());
        while rest != 0 {
            let first = rest.trailing_zeros() as usize;
            let member = members[first] as u32;
            let group = lanes::filter(rest, |lane| members[lane] as u32 == member);
            rest &= !group;
            if group & !member != 0 {
                let lane = (group & !member).trailing_zeros() as usize;
                return stop(lane, FaultKind::DivergentWarp(format!("a lane that its member mask {member:#x} lacks")));
            }
            if member & warp.live() & !group == 0 {
                complete.push(group);
            }
        }
        let executing = complete.iter().fold(0, |mask, group| mask | group);
        if executing == 0 {
            self.wait_for_lanes(warp, turn.split);
            return Ok(Step::Continue);
        }
        let split = &mut warp.splits[turn.split];
        if executing != turn.mask {
            split.mask = executing;
            let waiting =
                Split { mask: turn.mask & !executing, pc: split.pc, callers: split.callers.clone(), wait: Wait::Lanes };
            split.pc += 1;
            warp.splits.push(waiting);
        } else {
            split.pc += 1;
        }
        for group in complete {
            self.execute_group(block, warp, turn, group);
        }
        Ok(Step::Continue)
    }

    fn execute_group(&mut self, block: &Block, warp: &mut Warp, turn: Turn<'_>, group: u32) {
        match &turn.instruction.op {
            Op::Shuffle { mode, dst, in_range, a, b, clamp, .. } => {
                let [a, b, clamp] = [a, b, clamp].map(|&source| self.read(block, warp, source));
                let (values, found) = self.shuffle(*mode, group, &a, &b, &clamp);
                warp.write(*dst, group, &values);
                if let Some(in_range) = in_range {
                    warp.write_predicate(*in_range, group, found);
                }
            }
            Op::Vote { mode, dst, predicate, .. } => {
                let ballot = predicate.mask(warp) & group;
                let truth = match mode {
                    VoteMode::All => ballot == group,
                    VoteMode::Any => ballot != 0,
                    VoteMode::Uni => ballot == group || ballot == 0,
                    VoteMode::Ballot => return warp.write(*dst, group, &[ballot.into(); 32]),
                };
                warp.write_predicate(*dst, group, if truth { u32::MAX } else { 0 });
            }
            Op::Match { all, dst, predicate, ty, a, .. } => {
                let (values, equal) = self.matching(block, warp, *ty, *a, group, *all);
                if let Some(dst) = dst {
                    warp.write(*dst, group, &values);
                }
                if let Some(predicate) = predicate {
                    warp.write_predicate(*predicate, group, equal);
                }
            }
            Op::Reduce { op, ty, dst, a, .. } => {
                let a = self.read(block, warp, *a);
                let value = lanes(group).map(|lane| a[lane]).reduce(|x, y| binary(*op, *ty, Default::default(), x, y));
                warp.write(*dst, group, &[value.unwrap_or(0); 32]);
            }
            Op::Elect { dst, predicate, .. } => {
                let leader = group.trailing_zeros();
                if let Some(dst) = dst {
                    warp.write(*dst, group, &[leader.into(); 32]);
                }
                warp.write_predicate(*predicate, group, 1 << leader);
            }
            _ => self.clocks.sync_warp(block.number, warp.index, group),
        }
    }

    /// Values that lanes read from others. What a lane reads that takes no part is undefined: anything.
    fn shuffle(&mut self, mode: ShuffleMode, group: u32, a: &Lanes, b: &Lanes, clamp: &Lanes) -> (Lanes, u32) {
        let (mut values, mut found) = ([0; 32], 0);
        for lane in lanes(group) {
            let (source, in_range) = source_lane(mode, lane as u32, b[lane] as u32, clamp[lane] as u32);
            found |= u32::from(in_range) << lane;
            let takes_part = group >> source & 1 != 0;
            values[lane] = if takes_part { a[source as usize] } else { self.random.u32(..).into() };
        }
        (values, found)
    }

    /// `match.any`: the lanes with the same value. `match.all`: all of them if all have the same.
    fn matching(&self, block: &Block, warp: &Warp, ty: Type, a: Source, group: u32, all: bool) -> (Lanes, u32) {
        let a = self.read(block, warp, a).map(|value| value & ty.mask());
        let same = |lane: usize| lanes::filter(group, |other| a[other] == a[lane]);
        if !all {
            return (std::array::from_fn(|lane| u64::from(same(lane))), 0);
        }
        let equal = same(group.trailing_zeros() as usize % 32) == group;
        if equal { ([group.into(); 32], u32::MAX) } else { ([0; 32], 0) }
    }
}
