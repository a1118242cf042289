//! Control and data flow of a function: basic blocks, reads and writes, liveness.
use super::{Arg, Instruction, Register};
use crate::sort::sort;

/// The control-flow graph of a function.
pub(crate) struct Flow<'a> {
    /// The instructions.
    pub(crate) code: &'a [Instruction],
    /// First instructions of blocks, sorted.
    pub(crate) leaders: Vec<usize>,
}

impl<'a> Flow<'a> {
    /// Builds the blocks of a function whose jumps stay inside of it.
    pub(crate) fn new(code: &'a [Instruction]) -> Flow<'a> {
        let mut leaders = vec![0];
        for (at, instruction) in code.iter().enumerate() {
            let jump = match instruction {
                Instruction::Goto { offset } => Some(*offset),
                Instruction::If { false_offset, .. } => Some(*false_offset),
                Instruction::Ret { .. } => None,
                Instruction::Call { .. } => continue,
            };
            leaders.extend(jump.map(|offset| target(at, offset)));
            leaders.extend((at + 1 < code.len()).then_some(at + 1));
        }
        sort(&mut leaders);
        leaders.dedup();
        Flow { code, leaders }
    }

    /// Number of blocks.
    pub(crate) fn len(&self) -> usize {
        self.leaders.len()
    }

    /// Range of a block's instructions.
    pub(crate) fn block(&self, block: usize) -> std::ops::Range<usize> {
        self.leaders[block]..self.leaders.get(block + 1).copied().unwrap_or(self.code.len())
    }

    /// Successors of `block`.
    pub(crate) fn successors(&self, block: usize) -> impl Iterator<Item = usize> + use<> {
        let last = self.block(block).end - 1;
        let block_at = |offset: i64| self.leaders.binary_search(&target(last, offset)).ok();
        let next = Some(block + 1);
        let blocks = match &self.code[last] {
            Instruction::Ret { .. } => [None, None],
            Instruction::Goto { offset } => [block_at(*offset), None],
            Instruction::If { false_offset, .. } => [next, block_at(*false_offset)],
            Instruction::Call { .. } => [next, None],
        };
        blocks.into_iter().flatten()
    }

    /// Registers that are live at the end of each block: a backward data-flow analysis with a worklist.
    pub(crate) fn live_out(&self, registers: usize) -> Vec<BitSet> {
        let mut predecessors = vec![Vec::new(); self.len()];
        for block in 0..self.len() {
            self.successors(block).for_each(|successor| predecessors[successor].push(block));
        }
        let mut live_out = vec![BitSet::new(registers); self.len()];
        let mut work: Vec<usize> = (0..self.len()).collect();
        let mut waits = vec![true; self.len()];
        while let Some(block) = work.pop() {
            waits[block] = false;
            let mut live_in = live_out[block].clone();
            self.block(block).rev().for_each(|at| step_back(&self.code[at], &mut live_in));
            for &predecessor in &predecessors[block] {
                if live_out[predecessor].union(&live_in) && !waits[predecessor] {
                    waits[predecessor] = true;
                    work.push(predecessor);
                }
            }
        }
        live_out
    }
}

/// Transfer function: turns the registers live after an instruction into those live before it.
pub(crate) fn step_back(instruction: &Instruction, live: &mut BitSet) {
    if let Some(register) = writes(instruction) {
        live.remove(register);
    }
    reads(instruction).for_each(|register| live.insert(register));
}

/// Target of a jump.
pub(crate) fn target(at: usize, offset: i64) -> usize {
    (at as i64 + offset) as usize
}

/// Registers of the frame that an instruction reads.
pub(crate) fn reads(instruction: &Instruction) -> impl Iterator<Item = usize> {
    let (args, single) = match instruction {
        Instruction::Call { args, .. } => (args.as_slice(), None),
        Instruction::Ret { value } => (&[][..], Some(*value)),
        Instruction::If { condition, .. } => (&[][..], Some(*condition)),
        Instruction::Goto { .. } => (&[][..], None),
    };
    let registers = args.iter().filter_map(|arg| match arg {
        Arg::Register(register) => Some(*register),
        _ => None,
    });
    registers.chain(single).filter_map(Register::index)
}

/// The register of the frame that an instruction writes.
pub(crate) fn writes(instruction: &Instruction) -> Option<usize> {
    match instruction {
        Instruction::Call { dst, .. } => dst.index(),
        _ => None,
    }
}

/// A set of small integers: registers or instructions.
#[derive(Clone, Default, PartialEq)]
pub(crate) struct BitSet(Vec<u64>);

impl BitSet {
    /// An empty set with room for integers below `len`.
    pub(crate) fn new(len: usize) -> BitSet {
        BitSet(vec![0; len.div_ceil(64)])
    }

    pub(crate) fn insert(&mut self, number: usize) {
        self.0[number / 64] |= 1 << (number % 64);
    }

    pub(crate) fn remove(&mut self, number: usize) {
        self.0[number / 64] &= !(1 << (number % 64));
    }

    pub(crate) fn contains(&self, number: usize) -> bool {
        self.0.get(number / 64).is_some_and(|word| word & (1 << (number % 64)) != 0)
    }

    pub(crate) fn clear(&mut self) {
        self.0.fill(0);
    }

    /// Intersects with another set; returns true if that changed anything.
    pub(crate) fn intersect(&mut self, other: &BitSet) -> bool {
        let mut changed = false;
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            changed |= *mine & !theirs != 0;
            *mine &= theirs;
        }
        changed
    }

    /// Adds another set; returns true if that changed anything.
    pub(crate) fn union(&mut self, other: &BitSet) -> bool {
        let mut changed = false;
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            changed |= theirs & !*mine != 0;
            *mine |= theirs;
        }
        changed
    }

    /// The elements in ascending order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> {
        let words = self.0.iter().enumerate().filter(|(_, word)| **word != 0);
        words.flat_map(|(i, word)| (0..64).filter(move |bit| word & (1 << bit) != 0).map(move |bit| 64 * i + bit))
    }
}
