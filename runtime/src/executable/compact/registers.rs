//! Slot allocation for registers, and last reads.
use super::Slot;
use crate::executable::flow::{self, BitSet, Flow};
use crate::sort::{sort, sort_by};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Slots of a function's registers.
pub(super) struct Registers {
    slots: Vec<Slot>,
    /// Number of slots.
    pub(super) count: usize,
    /// Sorted pairs of an instruction and a register that it reads last.
    last_reads: Vec<(usize, usize)>,
    /// Instructions whose result is never read.
    unread: BitSet,
}

impl Registers {
    /// Every register gets a slot of its own.
    pub(super) fn one_to_one(count: usize) -> Registers {
        Registers { slots: (0..count as Slot).collect(), count, last_reads: Vec::new(), unread: BitSet::default() }
    }

    /// Registers that are never live at the same time share slots: a linear scan over the intervals between the first
    /// and the last instruction at which each may hold a value. Parameters keep their slots.
    pub(super) fn share(flow: &Flow<'_>, count: usize, params: usize) -> Registers {
        let live_out = flow.live_out(count);
        let unread = BitSet::new(flow.code.len());
        let mut scan = Scan { intervals: vec![None; count], last_reads: Vec::new(), unread };
        (0..params).for_each(|param| scan.extend(param, 0));
        (0..flow.len()).for_each(|block| scan.block(flow, block, live_out[block].clone()));
        sort(&mut scan.last_reads);
        let (slots, count) = assign(&scan.intervals, params);
        Registers { slots, count, last_reads: scan.last_reads, unread: scan.unread }
    }

    /// The slot of a register.
    pub(super) fn slot(&self, register: usize) -> Slot {
        self.slots[register]
    }

    /// Returns true if instruction `at` is the last one that reads the register's value.
    pub(super) fn is_last_read(&self, at: usize, register: usize) -> bool {
        self.last_reads.binary_search(&(at, register)).is_ok()
    }

    /// Returns true if the result of instruction `at` is never read.
    pub(super) fn is_unread(&self, at: usize) -> bool {
        self.unread.contains(at)
    }
}

struct Scan {
    /// First and last point of each register's live interval; 0 is the entry, `i + 1` instruction `i`.
    intervals: Vec<Option<(usize, usize)>>,
    last_reads: Vec<(usize, usize)>,
    unread: BitSet,
}

impl Scan {
    fn extend(&mut self, register: usize, position: usize) {
        let (first, last) = self.intervals[register].unwrap_or((position, position));
        self.intervals[register] = Some((first.min(position), last.max(position)));
    }

    fn block(&mut self, flow: &Flow<'_>, block: usize, mut live: BitSet) {
        let range = flow.block(block);
        live.iter().for_each(|register| self.extend(register, range.end));
        for at in range.clone().rev() {
            let instruction = &flow.code[at];
            flow::writes(instruction).into_iter().for_each(|register| {
                self.extend(register, at + 1);
                if !live.contains(register) {
                    self.unread.insert(at);
                }
                live.remove(register);
            });
            for register in flow::reads(instruction) {
                self.extend(register, at + 1);
                if !live.contains(register) {
                    self.last_reads.push((at, register));
                }
            }
            flow::reads(instruction).for_each(|register| live.insert(register));
        }
        live.iter().for_each(|register| self.extend(register, range.start));
    }
}

/// Slots for the intervals, and the number of slots.
fn assign(intervals: &[Option<(usize, usize)>], params: usize) -> (Vec<Slot>, usize) {
    let mut order: Vec<_> = (0..intervals.len()).filter(|r| *r >= params && intervals[*r].is_some()).collect();
    sort_by(&mut order, |a, b| (intervals[*a], *a) < (intervals[*b], *b));
    let mut slots: Vec<Slot> = vec![0; intervals.len()];
    let mut busy: BinaryHeap<Reverse<(usize, Slot)>> = BinaryHeap::new();
    let mut free: BinaryHeap<Reverse<Slot>> = BinaryHeap::new();
    let mut count = params;
    for param in 0..params {
        slots[param] = param as Slot;
        busy.extend(intervals[param].map(|(_, last)| Reverse((last, param as Slot))));
    }
    for register in order {
        let Some((first, last)) = intervals[register] else { continue };
        while let Some(Reverse((end, slot))) = busy.peek().copied().filter(|Reverse((end, _))| *end < first) {
            debug_assert!(end < first);
            busy.pop();
            free.push(Reverse(slot));
        }
        let slot = free.pop().map_or_else(
            || {
                count += 1;
                (count - 1) as Slot
            },
            |Reverse(slot)| slot,
        );
        slots[register] = slot;
        busy.push(Reverse((last, slot)));
    }
    (slots, count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executable::{Arg, Instruction, Register};

    fn call(dst: i64, args: &[i64]) -> Instruction {
        let args = args.iter().map(|number| Arg::Register(Register(*number))).collect();
        Instruction::Call { dst: Register(dst), function: 0, args }
    }

    fn share(code: &[Instruction], count: usize, params: usize) -> Registers {
        Registers::share(&Flow::new(code), count, params)
    }

    #[test]
    fn a_chain_takes_two_slots() {
        let mut code: Vec<_> = (1..100).map(|i| call(i, &[i - 1])).collect();
        code.push(Instruction::Ret { value: Register(99) });
        let registers = share(&code, 100, 1);
        assert_eq!(registers.count, 2);
        assert!((0..99).all(|at| registers.is_last_read(at, at)));
    }

    #[test]
    fn values_are_live_throughout_a_loop() {
        let code = [
            call(1, &[0]),
            call(2, &[1]),
            Instruction::If { condition: Register(2), false_offset: 3 },
            call(3, &[0]),
            Instruction::Goto { offset: -3 },
            Instruction::Ret { value: Register(1) },
        ];
        let registers = share(&code, 4, 1);
        let slots: Vec<_> = (0..4).map(|register| registers.slot(register)).collect();
        assert!(slots[3] != slots[0] && slots[3] != slots[1], "{slots:?}");
        assert!(!registers.is_last_read(3, 0), "the next turn reads it again");
        assert!(!registers.is_last_read(1, 1));
    }
}
