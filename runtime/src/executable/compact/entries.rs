//! Where machine code is entered.
//!
//! Machine code runs a function from one call of bytecode to the next: those calls, and returns, are the machine's to
//! make. So it is entered where the function begins, behind each such call, and, lest a function stay with the
//! interpreter after a step that only that one does, at the heads of loops.
use super::{Compact, Op};

/// Steps that machine code must have before it, or entering it costs more than it saves.
const WORTHWHILE: usize = 3;

impl Compact {
    /// The steps at which machine code of this function is entered, in order.
    pub fn entries(&self) -> Vec<u32> {
        let behind_calls = self.ops.iter().enumerate().filter_map(|(at, op)| op.resumes().then_some(at as u32 + 1));
        let loops = self.ops.iter().filter_map(|op| match op {
            Op::Loop { target } => Some(*target),
            _ => None,
        });
        let mut entries: Vec<u32> = std::iter::once(0).chain(behind_calls).chain(loops).collect();
        entries.sort_unstable();
        entries.dedup();
        entries.retain(|entry| self.is_worthwhile(*entry));
        entries
    }

    /// Does more than a few steps lie before the next one that is the machine's?
    fn is_worthwhile(&self, entry: u32) -> bool {
        let mut at = entry;
        for _ in 0..WORTHWHILE {
            at = match self.ops.get(at as usize) {
                None => return false,
                Some(op) if op.is_of_machine() => return false,
                Some(Op::Goto { target } | Op::Loop { target }) => *target,
                Some(_) => at + 1,
            };
        }
        true
    }
}

impl<F> Op<F> {
    /// Is it a step that machine code leaves to the machine: one that enters or leaves a frame?
    pub fn is_of_machine(&self) -> bool {
        self.resumes() || matches!(self, Op::TailInvoke { .. } | Op::Ret { .. })
    }

    /// Does the function go on behind it, when another function has returned?
    fn resumes(&self) -> bool {
        matches!(self, Op::Invoke { .. } | Op::InvokeValue { .. })
    }
}
