//! The 16 barriers of a block.
use super::{
    Grid, Outcome,
    block::Block,
    execute::{Turn, uniform},
    stop,
    warp::{Step, Wait, Warp},
};
use crate::{
    fault::FaultKind,
    lanes::lanes,
    ptx::op::{Barrier, BarrierReduction, Op},
};

/// A barrier at which threads have arrived.
#[derive(Debug, Default)]
struct Arrivals {
    /// Number of threads that complete it; none for all of the block.
    expected: Option<u32>,
    /// Lanes that arrived, by warp.
    lanes: Vec<u32>,
    /// Threads that wait, and those that do not.
    waited: Vec<u32>,
    arrived: Vec<u32>,
    /// For how many threads the predicate of a reduction was true, of how many.
    truths: u32,
    reduced: u32,
}

/// The barriers of a block.
#[derive(Debug, Default)]
pub(super) struct Barriers {
    /// Those at which threads have arrived.
    open: Vec<(u32, Arrivals)>,
}

impl Barriers {
    fn arrivals(&mut self, id: u32, expected: Option<u32>, warps: usize) -> &mut Arrivals {
        let index = self.open.iter().position(|barrier| barrier.0 == id).unwrap_or_else(|| {
            self.open.push((id, Arrivals { expected, lanes: vec![0; warps], ..Arrivals::default() }));
            self.open.len() - 1
        });
        &mut self.open[index].1
    }
}

impl Arrivals {
    fn is_complete(&self, block: &Block) -> bool {
        let mut warps = block.warps.iter().zip(&self.lanes);
        match self.expected {
            // Threads that have ended do not count.
            None => warps.all(|(warp, lanes)| warp.live() & !lanes == 0),
            // A warp that arrived with all its lanes counts as 32 threads.
            Some(expected) => {
                let count = |(warp, &lanes): (&Warp, &u32)| match lanes {
                    0 => 0,
                    lanes if warp.live() & !lanes == 0 => 32,
                    lanes => lanes.count_ones(),
                };
                warps.map(count).sum::<u32>() >= expected
            }
        }
    }
}

impl Grid<'_> {
    pub(super) fn arrive_at_barrier(
        &mut self,
        block: &mut Block,
        warp: &mut Warp,
        turn: Turn<'_>,
        barrier: &Barrier,
    ) -> Outcome<Step> {
        let needed = if barrier.is_aligned { warp.live() } else { turn.mask };
        if barrier.is_aligned && warp.exited != 0 {
            let message = format!("threads {:#010x} of its warp have ended", warp.exited);
            return stop(turn.first_lane(), FaultKind::DivergentBarrier(message));
        }
        if !self.gather(warp, turn, needed) {
            return Ok(Step::Yield);
        }
        let first = turn.first_lane();
        let id = uniform(turn.mask, &self.read(block, warp, barrier.id), "barriers")? as u32;
        if id >= 16 {
            return self.trap(first, format!("barrier {id} of 16"));
        }
        let expected = match barrier.threads {
            Some(source) => Some(uniform(turn.mask, &self.read(block, warp, source), "numbers of threads")? as u32),
            None => None,
        };
        if expected.is_some_and(|count| count == 0 || count % 32 != 0) {
            return self.trap(first, "a barrier's number of threads that is no multiple of 32");
        }
        let arrivals = block.barriers.arrivals(id, expected, block.warps.len());
        if arrivals.expected != expected {
            let message =
                format!("barrier {id} of {expected:?} threads, where others wait for {:?}", arrivals.expected);
            return stop(first, FaultKind::DivergentBarrier(message));
        }
        let seen = &mut arrivals.lanes[warp.index as usize];
        if *seen & turn.mask != 0 {
            let message = format!("a thread arrives twice at barrier {id}");
            return stop((*seen & turn.mask).trailing_zeros() as usize, FaultKind::DivergentBarrier(message));
        }
        *seen |= turn.mask;
        let threads = lanes(turn.mask).map(|lane| 32 * warp.index + lane as u32);
        if barrier.is_arrive {
            arrivals.arrived.extend(threads);
            warp.splits[turn.split].pc += 1;
            return Ok(Step::Yield);
        }
        arrivals.waited.extend(threads);
        if let Some((_, predicate)) = barrier.reduction {
            arrivals.truths += (predicate.mask(warp) & turn.mask).count_ones();
            arrivals.reduced += turn.mask.count_ones();
        }
        warp.splits[turn.split].wait = Wait::Barrier(id);
        Ok(Step::Yield)
    }

    /// Lets threads go on at whose barrier all have arrived.
    pub(super) fn release_barriers(&mut self, block: &mut Block) {
        while let Some(index) = block.barriers.open.iter().position(|(_, arrivals)| arrivals.is_complete(block)) {
            let (id, arrivals) = block.barriers.open.swap_remove(index);
            self.clocks.barrier(block.number, &arrivals.waited, &arrivals.arrived);
            self.counters.barriers += 1;
            for warp in &mut block.warps {
                self.release_warp(warp, id, &arrivals);
            }
        }
    }

    fn release_warp(&self, warp: &mut Warp, id: u32, arrivals: &Arrivals) {
        for index in 0..warp.splits.len() {
            let split = &mut warp.splits[index];
            if split.wait != Wait::Barrier(id) {
                continue;
            }
            split.wait = Wait::None;
            let (pc, mask) = (split.pc, split.mask);
            split.pc += 1;
            let Op::Barrier(Barrier { reduction: Some((reduction, _)), .. }) = self.code.instructions[pc].op else {
                continue;
            };
            let all = |truth: bool| if truth { u32::MAX } else { 0 };
            match reduction {
                BarrierReduction::Popc(dst) => warp.write(dst, mask, &[arrivals.truths.into(); 32]),
                BarrierReduction::And(dst) => warp.write_predicate(dst, mask, all(arrivals.truths == arrivals.reduced)),
                BarrierReduction::Or(dst) => warp.write_predicate(dst, mask, all(arrivals.truths > 0)),
            }
        }
    }
}
