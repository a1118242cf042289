//! Entry and exit points of machine code.
//!
//! Machine code runs a function from one call of bytecode to the next. The virtual machine makes these calls, allocates
//! arenas, and returns. So machine code is entered at the start of a function, after each such step, and at loop
//! headers; a function does not stay in the interpreter after a step that only the interpreter can do.
//!
//! Straight-line code is faster as machine code only while it fits in the instruction cache. An allocation with the
//! kernel that fills it takes about 200 bytes of code, against about 60 bytes of interpreter data, which the processor
//! prefetches. So the interpreter also runs long sequences of allocations.
use super::{Compact, Op};
use crate::sort::{sort, sort_by};
use std::ops::Range;

/// Minimum number of steps of machine code between entry and exit that pays for the switch.
const MIN_NATIVE_STEPS: usize = 3;
/// Maximum number of allocations in machine code, in a loop or outside of loops: about 20 KB with the surrounding code.
const MAX_NATIVE_ALLOCATIONS: usize = 100;
/// Minimum length of a range of steps for which machine code is interpreted.
const MIN_INTERPRETED: u32 = 16;

impl Compact {
    /// Sorted indices of the steps at which the function's machine code is entered.
    pub fn entries(&self) -> Vec<u32> {
        let after_calls = self.ops.iter().enumerate().filter_map(|(at, op)| op.resumes().then_some(at as u32 + 1));
        let loops = self.loops().map(|body| body.start);
        let interpreted = self.interpreted();
        let mut entries: Vec<u32> = std::iter::once(0).chain(after_calls).chain(loops).collect();
        entries.extend(interpreted.iter().map(|steps| steps.end));
        sort(&mut entries);
        entries.dedup();
        entries.retain(|entry| self.is_worthwhile(*entry, &interpreted));
        entries
    }

    /// Returns true if enough steps follow before the next one that the interpreter runs.
    fn is_worthwhile(&self, entry: u32, interpreted: &[Range<u32>]) -> bool {
        let mut at = entry;
        for _ in 0..MIN_NATIVE_STEPS {
            at = match self.ops.get(at as usize) {
                None => return false,
                Some(op) if op.is_interpreter_only() => return false,
                Some(_) if interpreted.binary_search_by_key(&at, |steps| steps.start).is_ok() => return false,
                Some(Op::Goto { target } | Op::Loop { target }) => *target,
                Some(_) => at + 1,
            };
        }
        true
    }

    /// Ranges of steps that are interpreted because of their number of allocations, in order. No jump enters or leaves
    /// them.
    pub fn interpreted(&self) -> Vec<Range<u32>> {
        let (targets, innermost) = (self.targets(), self.innermost_loops());
        // Indexed by the innermost loop's header + 1.
        let mut allocations = vec![0; self.ops.len() + 1];
        let (mut interpreted, mut start) = (Vec::new(), None);
        for (at, op) in (0..).zip(&self.ops) {
            let goes_on = !targets.contains(at as usize) && op.target().is_none() && !op.is_interpreter_only();
            if !goes_on && let Some(start) = start.take().filter(|start| at - start >= MIN_INTERPRETED) {
                interpreted.push(start..at);
            }
            if matches!(op, Op::Alloc { .. } | Op::Suballoc { .. }) {
                let count = &mut allocations[innermost[at as usize] as usize];
                *count += 1;
                start = start.or((*count > MAX_NATIVE_ALLOCATIONS).then_some(at));
            }
        }
        interpreted
    }

    /// The steps of each loop.
    fn loops(&self) -> impl Iterator<Item = Range<u32>> {
        (0..).zip(&self.ops).filter_map(|(at, op)| match op {
            Op::Loop { target } => Some(*target..at + 1),
            _ => None,
        })
    }

    /// For each step, the header of its innermost loop + 1; 0 outside of loops.
    fn innermost_loops(&self) -> Vec<u32> {
        let mut innermost = vec![0; self.ops.len()];
        let mut loops: Vec<_> = self.loops().collect();
        sort_by(&mut loops, |a, b| a.len() > b.len());
        loops.into_iter().for_each(|body| {
            innermost[body.start as usize..body.end as usize].fill(body.start + 1);
        });
        innermost
    }
}

impl<F> Op<F> {
    /// Returns true for steps that only the interpreter runs: those that enter or leave a frame, or allocate an arena.
    pub fn is_interpreter_only(&self) -> bool {
        self.resumes() || matches!(self, Op::TailInvoke { .. } | Op::Ret { .. })
    }

    /// Returns true if the function continues after the step, when a callee has returned or an arena was allocated.
    fn resumes(&self) -> bool {
        matches!(self, Op::Invoke { .. } | Op::InvokeValue { .. } | Op::Arena { .. })
    }
}
