//! The executed form of functions: bytecode folded once, at load, into fewer and faster steps.
//!
//! Folding does not change the executable; it reads instructions and emits [`Op`]s:
//! - registers with disjoint live ranges share a slot of the frame;
//! - constants and immediates get slots after the registers, so every argument is a slot;
//! - a `null_value` after the last call that reads the register becomes part of that call; copies and arguments whose
//!   register is dead afterwards become moves;
//! - storages of known size and all their tensors are allocated in one step;
//! - sequences of builtin calls for shapes, checks, memory and conditions become one op.
//!
//! It has two users: the virtual machine, which replaces callees with addresses ([`crate::vm`]), and the machine code
//! generator. [`VERSION`] identifies the form, so that both agree.
mod alloc;
mod arena;
mod check;
mod entries;
mod facts;
mod fold;
mod registers;

pub use alloc::{AllocPlan, Size, SuballocPlan};
pub use arena::ArenaPlan;
pub use check::{CheckPlan, MatchSize, Matching, PlanArg};
pub use facts::{Content, Facts, TensorFacts};

use super::flow::BitSet;
use super::{Arg, Executable, FunctionInfo};

/// Incremented whenever the same bytecode folds into different ops.
pub const VERSION: u32 = 7;

/// Index of a slot of the frame: a register, or an entry of the pool after the registers.
pub type Slot = u32;

/// Flag in the argument list of [`Op::Invoke`] and [`Op::TailInvoke`]: the callee takes over the register's value.
pub const MOVED: Slot = 1 << 31;

/// Arguments of a call: a range of the function's slot list. For calls of native functions, the number of registers to
/// clear after the call and those registers follow the arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slots {
    /// First index in the function's list.
    pub start: u32,
    /// Number of arguments.
    pub count: u32,
}

impl Slots {
    /// Range of the arguments in the function's list.
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..(self.start + self.count) as usize
    }

    /// All but the first `count`.
    pub fn skip(self, count: u32) -> Slots {
        Slots { start: self.start + count, count: self.count - count }
    }

    /// Registers to clear after the call.
    pub fn kills(self, list: &[Slot]) -> &[Slot] {
        let (count, first) = (list[self.range().end] as usize, self.range().end + 1);
        &list[first..first + count]
    }
}

/// A step of a function. `F` identifies a native function.
#[expect(missing_docs, reason = "fields are slots and arguments, plans by number, and steps to go on at")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op<F> {
    /// Calls a native function and discards the result.
    CallVoid { callee: F, args: Slots },
    /// Calls a native function; the result goes to a register that is not an argument.
    Call { callee: F, dst: Slot, args: Slots },
    /// Calls a native function; the result replaces one of the arguments.
    CallOver { callee: F, dst: Slot, args: Slots },
    /// Like one of those calls, for a kernel, after checking the arguments against its signature. Created when kernels
    /// are resolved.
    CheckedCall { kernel: u32, args: Slots },
    /// Calls bytecode.
    Invoke { function: u32, dst: Slot, args: Slots },
    /// Tail call of bytecode.
    TailInvoke { function: u32, args: Slots },
    /// Calls a function value; the first argument is the virtual machine, the second the function. If it is bytecode
    /// and `tail` is set, it is a tail call.
    InvokeValue { dst: Slot, args: Slots, tail: bool },
    /// Copies a value.
    Copy { dst: Slot, from: Slot },
    /// Moves a value out of a register.
    Move { dst: Slot, from: Slot },
    /// Drops a register's value.
    Clear { dst: Slot },
    /// Allocates a tensor with a storage of its own, by plan.
    Alloc { dst: Slot, heap: Slot, plan: u32 },
    /// Allocates a tensor in an existing storage, by plan.
    Suballoc { dst: Slot, storage: Slot, plan: u32 },
    /// Allocates a storage with all its tensors, by plan.
    Arena { plan: u32 },
    /// Checks a value against an annotation, by plan.
    Check { value: Slot, heap: Slot, plan: u32 },
    /// Returns.
    Ret { value: Slot },
    /// Jumps forward.
    Goto { target: u32 },
    /// Jumps backward.
    Loop { target: u32 },
    /// Falls through if an integer is not zero, otherwise jumps.
    If { condition: Slot, otherwise: u32 },
    /// Falls through if a condition, which may be a tensor, holds; otherwise jumps.
    Test { condition: Slot, otherwise: u32 },
    /// Continues in machine code, at one of its entries. Created when the function has machine code.
    Native { entry: u32 },
}

impl<F> Op<F> {
    /// Returns the step with another representation of native functions.
    pub fn map_callee<G>(self, callee: impl FnOnce(F) -> G) -> Op<G> {
        match self {
            Op::CallVoid { callee: f, args } => Op::CallVoid { callee: callee(f), args },
            Op::Call { callee: f, dst, args } => Op::Call { callee: callee(f), dst, args },
            Op::CallOver { callee: f, dst, args } => Op::CallOver { callee: callee(f), dst, args },
            Op::CheckedCall { kernel, args } => Op::CheckedCall { kernel, args },
            Op::Invoke { function, dst, args } => Op::Invoke { function, dst, args },
            Op::TailInvoke { function, args } => Op::TailInvoke { function, args },
            Op::InvokeValue { dst, args, tail } => Op::InvokeValue { dst, args, tail },
            Op::Copy { dst, from } => Op::Copy { dst, from },
            Op::Move { dst, from } => Op::Move { dst, from },
            Op::Clear { dst } => Op::Clear { dst },
            Op::Alloc { dst, heap, plan } => Op::Alloc { dst, heap, plan },
            Op::Suballoc { dst, storage, plan } => Op::Suballoc { dst, storage, plan },
            Op::Arena { plan } => Op::Arena { plan },
            Op::Check { value, heap, plan } => Op::Check { value, heap, plan },
            Op::Ret { value } => Op::Ret { value },
            Op::Goto { target } => Op::Goto { target },
            Op::Loop { target } => Op::Loop { target },
            Op::If { condition, otherwise } => Op::If { condition, otherwise },
            Op::Test { condition, otherwise } => Op::Test { condition, otherwise },
            Op::Native { entry } => Op::Native { entry },
        }
    }

    /// The callee, if it is a native function.
    pub fn native_callee(&self) -> Option<F>
    where
        F: Copy,
    {
        match *self {
            Op::CallVoid { callee, .. } | Op::Call { callee, .. } | Op::CallOver { callee, .. } => Some(callee),
            _ => None,
        }
    }

    /// The arguments, if the callee is a native function.
    pub fn native_args(&self) -> Option<Slots> {
        match *self {
            Op::CallVoid { args, .. } | Op::Call { args, .. } => Some(args),
            Op::CallOver { args, .. } | Op::CheckedCall { args, .. } => Some(args),
            _ => None,
        }
    }

    /// The register of the result, if the step calls a native function and uses its result.
    pub fn native_result(&self) -> Option<Slot> {
        match *self {
            Op::Call { dst, .. } | Op::CallOver { dst, .. } => Some(dst),
            _ => None,
        }
    }

    /// The jump target, if the step may jump.
    pub fn target(&self) -> Option<u32> {
        match *self {
            Op::Goto { target } | Op::Loop { target } => Some(target),
            Op::If { otherwise, .. } | Op::Test { otherwise, .. } => Some(otherwise),
            _ => None,
        }
    }

    /// Like [`target`](Op::target), mutable.
    pub(super) fn target_mut(&mut self) -> Option<&mut u32> {
        match self {
            Op::Goto { target } | Op::Loop { target } => Some(target),
            Op::If { otherwise, .. } | Op::Test { otherwise, .. } => Some(otherwise),
            _ => None,
        }
    }
}

/// A folded function. Its frame has registers, pool and space for the arguments of one call, in this order.
#[derive(Debug, Clone, PartialEq)]
pub struct Compact {
    /// The steps.
    pub ops: Vec<Op<u32>>,
    /// For each step, its first instruction, relative to the function's first.
    pub origins: Vec<u32>,
    /// Slots of all calls' arguments.
    pub slots: Vec<Slot>,
    /// Number of parameters, which are the first registers.
    pub num_args: usize,
    /// Number of registers. The last one is never read: it takes unused results of bytecode.
    pub registers: usize,
    /// Contents of the pool, never registers of the frame. The tensors of arenas come first and have no entry here.
    pub pool: Vec<Arg>,
    /// Maximum number of arguments of a call.
    pub max_args: usize,
    /// Plans of [`Op::Alloc`].
    pub allocs: Vec<AllocPlan>,
    /// Plans of [`Op::Suballoc`].
    pub suballocs: Vec<SuballocPlan>,
    /// Plans of [`Op::Arena`].
    pub arenas: Vec<ArenaPlan>,
    /// Plans of [`Op::Check`].
    pub checks: Vec<CheckPlan>,
}

impl Compact {
    /// Steps that are jump targets.
    pub(crate) fn targets(&self) -> BitSet {
        let mut targets = BitSet::new(self.ops.len());
        self.ops.iter().filter_map(Op::target).for_each(|target| targets.insert(target as usize));
        targets
    }
}

/// Degree of folding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Folding {
    /// Full folding.
    Full,
    /// One step per instruction; every Call stays a call. Used while an instrument is set.
    None,
}

/// Folds a function of a verified executable.
pub fn compact(executable: &Executable, info: &FunctionInfo, folding: Folding) -> Compact {
    fold::fold(executable, info, folding)
}

#[cfg(test)]
mod tests;
