//! A block: its warps, memories and barriers, and whose turn it is.
use super::{
    Grid, Stop,
    barriers::Barriers,
    mbarriers::Mbarriers,
    position,
    spaces::{LocalMemory, SharedMemory},
    warp::{Split, Wait, Warp},
};
use crate::{
    fault::{Fault, FaultKind},
    lanes::lanes,
    shadow::ThreadId,
};

/// Lengths of turns. A block has one of them at random: turns of one instruction interleave warps most finely, endless
/// ones let a warp run as far ahead of the others as it can.
const TURNS: [u32; 4] = [1, 7, 61, u32::MAX];

/// A block while it runs.
pub(super) struct Block {
    pub number: u32,
    pub position: [u32; 3],
    /// The warps. The one whose turn it is has been taken out.
    pub warps: Vec<Warp>,
    pub shared: SharedMemory,
    pub local: LocalMemory,
    pub barriers: Barriers,
    pub mbarriers: Mbarriers,
    /// Instructions that its warps executed.
    pub steps: u64,
}

impl Block {
    /// A thread of a warp.
    pub fn thread(&self, warp: u32, lane: usize) -> ThreadId {
        ThreadId { block: self.number, thread: 32 * warp + lane as u32 }
    }
}

impl Grid<'_> {
    fn new_block(&mut self, number: u32, threads: u32) -> Block {
        let warps = (0..threads.div_ceil(32)).map(|index| self.new_warp(index, threads)).collect();
        let shared_bytes = match self.launch.shared_bytes {
            0 => self.code.shared_bytes,
            dynamic => self.code.dynamic_offset.saturating_add(dynamic),
        };
        Block {
            number,
            position: position(number, self.launch.grid),
            warps,
            shared: SharedMemory::new(shared_bytes),
            local: LocalMemory::new(threads, self.code.local_bytes),
            barriers: Barriers::default(),
            mbarriers: Mbarriers::default(),
            steps: 0,
        }
    }

    fn new_warp(&mut self, index: u32, threads: u32) -> Warp {
        let count = (threads - 32 * index).min(32);
        let mask = if count == 32 { u32::MAX } else { (1 << count) - 1 };
        // Registers begin with anything, as on a GPU.
        let garbage = self.random.u64(..);
        Warp {
            index,
            threads: mask,
            registers: vec![[garbage; 32]; self.code.registers],
            predicates: vec![garbage as u32; self.code.predicates],
            splits: vec![Split { mask, pc: self.code.entry, callers: Vec::new(), wait: Wait::None }],
            ..Warp::default()
        }
    }

    /// Runs a block to its end.
    pub(super) fn run_block(&mut self, number: u32, threads: u32) -> Result<(), Box<Fault>> {
        self.clocks.start_block(number, threads);
        let mut block = self.new_block(number, threads);
        let longest = TURNS[self.random.usize(..TURNS.len())];
        loop {
            self.advance_copies(&mut block)?;
            let ready = block.warps.iter().filter(|warp| warp.is_ready()).count();
            if ready == 0 {
                if block.warps.iter().all(|warp| warp.splits.is_empty()) {
                    break;
                }
                if !self.end_delays(&mut block) {
                    return Err(self.deadlock(&block));
                }
                continue;
            }
            let chosen = self.random.usize(..ready);
            let ready = block.warps.iter().enumerate().filter(|(_, warp)| warp.is_ready());
            let index = ready.map(|(index, _)| index).nth(chosen).unwrap_or(0);
            // Copies that are to end while a warp waits for them need its turn to end.
            let steps = if longest == u32::MAX { 4096 } else { self.random.u32(1..=longest) };
            let mut warp = std::mem::take(&mut block.warps[index]);
            let result = warp.take_turn(self, &mut block, steps);
            block.warps[index] = warp;
            result?;
            self.release_barriers(&mut block);
        }
        self.clocks.end_block(number);
        let fetched = self.l1.end_block();
        self.counters.l2_transactions += fetched.transactions;
        self.counters.l2_bytes += fetched.bytes;
        Ok(())
    }

    /// The fault of a lane.
    pub(super) fn fault(&self, block: &Block, warp: u32, pc: usize, stop: Stop) -> Box<Fault> {
        let instruction = &self.code.instructions[pc];
        let span = instruction.span.start as usize..instruction.span.end as usize;
        Box::new(Fault {
            kind: *stop.kind,
            kernel: self.kernel.name.clone(),
            line: instruction.line,
            instruction: self.launch.module.text.get(span).unwrap_or_default().to_string(),
            block: block.position,
            thread: position(32 * warp + stop.lane as u32, self.launch.block),
        })
    }

    /// The fault of a block none of whose threads can go on.
    fn deadlock(&self, block: &Block) -> Box<Fault> {
        let splits = block.warps.iter().flat_map(|warp| warp.splits.iter().map(move |split| (warp, split)));
        let counted = |wait: fn(&Wait) -> bool| -> u32 {
            splits.clone().filter(|(_, split)| wait(&split.wait)).map(|(_, split)| split.mask.count_ones()).sum()
        };
        let (at_barriers, for_lanes) = (counted(|w| matches!(w, Wait::Barrier(_))), counted(|w| *w == Wait::Lanes));
        let message = format!("{at_barriers} threads wait at barriers, {for_lanes} for lanes of their warp");
        // A split that waits for lanes of its warp is the cause, if there is one.
        let (warp, split) = splits
            .clone()
            .find(|(_, split)| split.wait == Wait::Lanes)
            .unwrap_or_else(|| splits.clone().next().expect("a block that is stuck has a split"));
        let kind = if for_lanes > 0 && self.is_barrier(split.pc) {
            FaultKind::DivergentBarrier(format!("only lanes {:#010x} of a warp reach it; {message}", split.mask))
        } else if for_lanes > 0 {
            FaultKind::Deadlock(format!("lanes {:#010x} wait for others of their warp; {message}", split.mask))
        } else {
            FaultKind::Deadlock(message)
        };
        let lane = lanes(split.mask).next().unwrap_or(0);
        self.fault(block, warp.index, split.pc, Stop { kind: Box::new(kind), lane })
    }
}
