//! The form in which functions run: bytecode folded once, at load, into fewer and faster steps.
//!
//! Folding does not change the executable itself; it reads instructions and writes [`Op`]s:
//! - registers that are never in use at the same time share a slot of the frame;
//! - constants and immediates get slots after the registers, so that every argument is a slot;
//! - a `null_value` after the last call that needed the register becomes part of that call; a copy or an argument
//!   whose register is not read again is moved;
//! - storages of known size and all their tensors are made in one step;
//! - several calls of builtins for shapes, checks, memory and conditions become one op.
//!
//! It has two users: the machine, which replaces callees with addresses ([`crate::vm`]), and the machine code generator.
//! [`VERSION`] tells whether both use the same form.
mod alloc;
mod arena;
mod check;
mod entries;
mod facts;
mod fold;
mod registers;

pub use alloc::{AllocPlan, PlacePlan, Size};
pub use arena::ArenaPlan;
pub use check::{CheckPlan, MatchSize, Matching, PlanArg};
pub use facts::{Content, Facts, TensorFacts};

use super::flow::BitSet;
use super::{Arg, Executable, FunctionInfo};

/// Changes whenever the same bytecode folds into other ops.
pub const VERSION: u32 = 7;

/// A slot of the frame: a register, or an entry of the pool behind the registers.
pub type Slot = u32;

/// In a list of arguments of [`Op::Invoke`] and [`Op::TailInvoke`]: the callee may have the register's value.
pub const MOVED: Slot = 1 << 31;

/// Arguments of a call: a part of the function's list of slots. Behind the arguments of calls of native functions
/// stands the number of registers to clear after the call, and then those.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slots {
    /// Where they begin in the function's list.
    pub start: u32,
    /// How many arguments there are.
    pub count: u32,
}

impl Slots {
    /// Where the arguments are in the function's list.
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

/// A step of a function. `F` says which native function is called.
#[expect(missing_docs, reason = "fields are slots and arguments, plans by number, and steps to go on at")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op<F> {
    /// Calls a native function, whose result nobody wants.
    CallVoid { callee: F, args: Slots },
    /// The same; the result goes to a register that is none of the arguments.
    Call { callee: F, dst: Slot, args: Slots },
    /// The same; the result replaces one of the arguments.
    CallOver { callee: F, dst: Slot, args: Slots },
    /// One of those calls, of a kernel, after checking the arguments against its signature. Made when the kernels are
    /// known.
    CheckedCall { kernel: u32, args: Slots },
    /// Calls bytecode.
    Invoke { function: u32, dst: Slot, args: Slots },
    /// Calls bytecode in place of the current function.
    TailInvoke { function: u32, args: Slots },
    /// Calls a function value; the first argument is the machine, the second the function. If it is bytecode, and
    /// `tail` is set, in place of the current function.
    InvokeValue { dst: Slot, args: Slots, tail: bool },
    /// Copies a value.
    Copy { dst: Slot, from: Slot },
    /// Moves a value out of a register.
    Move { dst: Slot, from: Slot },
    /// Drops a register's value.
    Clear { dst: Slot },
    /// Makes a tensor in memory of its own, by plan.
    Alloc { dst: Slot, heap: Slot, plan: u32 },
    /// Makes a tensor in a storage, by plan.
    Place { dst: Slot, storage: Slot, plan: u32 },
    /// Makes a storage with all its tensors, by plan.
    Arena { plan: u32 },
    /// Checks a value against an annotation, by plan.
    Check { value: Slot, heap: Slot, plan: u32 },
    /// Returns.
    Ret { value: Slot },
    /// Jumps forwards.
    Goto { target: u32 },
    /// Jumps backwards.
    Loop { target: u32 },
    /// Goes on if an integer is not zero, else jumps.
    If { condition: Slot, otherwise: u32 },
    /// Goes on if a condition holds, which may be a tensor; else jumps.
    Test { condition: Slot, otherwise: u32 },
    /// Goes on in machine code, at one of its entries. Made when the function has some.
    Native { entry: u32 },
}

impl<F> Op<F> {
    /// The same step with another idea of what native functions are.
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
            Op::Place { dst, storage, plan } => Op::Place { dst, storage, plan },
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

    /// The native function that is called, if one is.
    pub fn native_callee(&self) -> Option<F>
    where
        F: Copy,
    {
        match *self {
            Op::CallVoid { callee, .. } | Op::Call { callee, .. } | Op::CallOver { callee, .. } => Some(callee),
            _ => None,
        }
    }

    /// The arguments, if it calls a native function.
    pub fn native_args(&self) -> Option<Slots> {
        match *self {
            Op::CallVoid { args, .. } | Op::Call { args, .. } => Some(args),
            Op::CallOver { args, .. } | Op::CheckedCall { args, .. } => Some(args),
            _ => None,
        }
    }

    /// Where the result goes, if it calls a native function whose result is wanted.
    pub fn native_result(&self) -> Option<Slot> {
        match *self {
            Op::Call { dst, .. } | Op::CallOver { dst, .. } => Some(dst),
            _ => None,
        }
    }

    /// Where the step may go on other than at the next one.
    pub fn target(&self) -> Option<u32> {
        match *self {
            Op::Goto { target } | Op::Loop { target } => Some(target),
            Op::If { otherwise, .. } | Op::Test { otherwise, .. } => Some(otherwise),
            _ => None,
        }
    }

    /// The same, to change it.
    pub(super) fn target_mut(&mut self) -> Option<&mut u32> {
        match self {
            Op::Goto { target } | Op::Loop { target } => Some(target),
            Op::If { otherwise, .. } | Op::Test { otherwise, .. } => Some(otherwise),
            _ => None,
        }
    }
}

/// A folded function. Its frame holds registers, pool and room for the arguments of one call, in this order.
#[derive(Debug, Clone, PartialEq)]
pub struct Compact {
    /// The steps.
    pub ops: Vec<Op<u32>>,
    /// For each step, the instruction (counted from the function's first) it begins with.
    pub origins: Vec<u32>,
    /// Slots of all calls' arguments.
    pub slots: Vec<Slot>,
    /// Number of parameters, which are the first registers.
    pub num_args: usize,
    /// Number of registers. Nobody reads the last one: it takes results of bytecode that nobody wants.
    pub registers: usize,
    /// What the pool holds; no registers of the frame. It begins with the tensors of arenas, for which nothing stands here.
    pub pool: Vec<Arg>,
    /// The most arguments that a call has.
    pub most_args: usize,
    /// Plans of [`Op::Alloc`].
    pub allocs: Vec<AllocPlan>,
    /// Plans of [`Op::Place`].
    pub places: Vec<PlacePlan>,
    /// Plans of [`Op::Arena`].
    pub arenas: Vec<ArenaPlan>,
    /// Plans of [`Op::Check`].
    pub checks: Vec<CheckPlan>,
}

impl Compact {
    /// Steps that others jump to.
    pub(crate) fn targets(&self) -> BitSet {
        let mut targets = BitSet::new(self.ops.len());
        self.ops.iter().filter_map(Op::target).for_each(|target| targets.insert(target as usize));
        targets
    }
}

/// How far a function is folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Folding {
    /// As far as it goes.
    Full,
    /// One step for each instruction, every Call a call: what instruments look at.
    None,
}

/// Folds a function of a verified executable.
pub fn compact(executable: &Executable, info: &FunctionInfo, folding: Folding) -> Compact {
    fold::fold(executable, info, folding)
}

#[cfg(test)]
mod tests;
