//! Instructions as the machine runs them: decoded once, every argument a slot of the frame, callees resolved.
//!
//! There is one [`Op`] for each instruction, so that positions keep their meaning.
use super::program::Target;
use crate::executable::{Arg, Executable, FunctionInfo, FunctionKind, Instruction, Register};
use crate::ffi::{Error, SafeCall, kind};
use crate::value::Any;
use std::collections::HashMap;
use std::ffi::c_void;

/// A slot of the frame: a register, or a constant of the pool behind the registers.
pub(super) type Slot = u32;

/// Where a result goes that nobody wants.
pub(super) const NOWHERE: Slot = Slot::MAX;

/// Arguments of a call: a part of the function's list of slots.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slots {
    pub(super) start: u32,
    pub(super) count: u32,
}

impl Slots {
    /// Where they are in the function's list.
    pub(super) fn range(self) -> std::ops::Range<usize> {
        self.start as usize..(self.start + self.count) as usize
    }

    /// All but the first `count`.
    pub(super) fn skip(self, count: u32) -> Slots {
        Slots { start: self.start + count, count: self.count - count }
    }
}

/// A decoded instruction.
#[derive(Debug, Clone, Copy)]
pub(super) enum Op {
    /// Calls a native function; the result goes to a register that is none of the arguments.
    Call { call: SafeCall, handle: *mut c_void, dst: Slot, args: Slots },
    /// The same when the result replaces one of the arguments, or goes nowhere.
    CallOver { call: SafeCall, handle: *mut c_void, dst: Slot, args: Slots },
    /// The same, or a call as above, after checking the arguments against a kernel's signature.
    CheckedCall { call: SafeCall, handle: *mut c_void, dst: Slot, args: Slots, signature: u32 },
    /// Calls bytecode.
    Invoke { function: u32, dst: Slot, args: Slots },
    /// Calls bytecode in place of the current function.
    TailInvoke { function: u32, args: Slots },
    /// Calls a function value; the first argument is the machine, the second the function. If it is bytecode, and
    /// `tail` is set, in place of the current function.
    InvokeValue { dst: Slot, args: Slots, tail: bool },
    /// `vm.builtin.copy`.
    Copy { dst: Slot, from: Slot },
    /// `vm.builtin.null_value`.
    Clear { dst: Slot },
    /// Returns.
    Ret { value: Slot },
    /// Jumps to an instruction.
    Goto { target: u32 },
    /// Goes on, or jumps to an instruction.
    If { condition: Slot, otherwise: u32 },
}

/// A function of bytecode.
pub(super) struct Body {
    pub(super) ops: Vec<Op>,
    /// Slots of all calls' arguments.
    pub(super) slots: Vec<Slot>,
    pub(super) num_args: usize,
    pub(super) registers: usize,
    /// What the frame's pool is filled with.
    pub(super) pool: Vec<Any>,
    /// Slots of the whole frame.
    pub(super) frame_size: usize,
    /// The first instruction's number in the executable.
    pub(super) start: usize,
    /// Callee of each `Call` until `link` has resolved it.
    callees: Vec<(usize, usize)>,
}

/// How far a tail call may be from its Ret, in jumps and copies.
const MAX_TAIL: usize = 64;

/// Decodes a verified function. `values` are the functions of the table as values.
pub(super) fn decode(
    executable: &Executable,
    info: &FunctionInfo,
    values: &[Any],
    constants: &[Any],
) -> Result<Body, Error> {
    let instructions: Option<Vec<_>> = (info.start..info.end).map(|at| executable.code.get(at)).collect();
    let instructions = instructions.ok_or_else(|| Error::new(kind::INTERNAL, "the executable was not verified"))?;
    let mut decoder = Decoder {
        executable,
        values,
        constants,
        body: Body {
            ops: Vec::with_capacity(instructions.len()),
            slots: Vec::new(),
            num_args: info.num_args as usize,
            registers: info.register_count,
            pool: Vec::new(),
            frame_size: 0,
            start: info.start,
            callees: Vec::new(),
        },
        known: HashMap::new(),
        most_args: 0,
    };
    for (at, instruction) in instructions.iter().enumerate() {
        let op = decoder.op(&instructions, at, instruction);
        decoder.body.ops.push(op);
    }
    let mut body = decoder.body;
    body.frame_size = body.registers + body.pool.len() + decoder.most_args;
    Ok(body)
}

impl Body {
    /// Writes the callees into the calls.
    pub(super) fn link(&mut self, targets: &[Target]) {
        for (at, function) in std::mem::take(&mut self.callees) {
            let Op::Call { dst, args, .. } = self.ops[at] else { continue };
            if let Target::Native { call, handle, signature } = targets[function] {
                self.ops[at] = match signature {
                    Some(signature) => Op::CheckedCall { call, handle, dst, args, signature },
                    None if dst == NOWHERE || self.slots[args.range()].contains(&dst) => {
                        Op::CallOver { call, handle, dst, args }
                    }
                    None => Op::Call { call, handle, dst, args },
                };
            }
        }
    }
}

struct Decoder<'a> {
    executable: &'a Executable,
    values: &'a [Any],
    constants: &'a [Any],
    body: Body,
    /// Slots of the pool by the argument they hold.
    known: HashMap<Arg, Slot>,
    most_args: usize,
}

impl Decoder<'_> {
    fn op(&mut self, code: &[Instruction], at: usize, instruction: &Instruction) -> Op {
        match instruction {
            Instruction::Call { dst, function, args } => self.call(code, at, *dst, *function as usize, args),
            Instruction::Ret { value } => Op::Ret { value: self.slot(Arg::Register(*value)) },
            Instruction::Goto { offset } => Op::Goto { target: target(at, *offset) },
            Instruction::If { condition, false_offset } => {
                Op::If { condition: self.slot(Arg::Register(*condition)), otherwise: target(at, *false_offset) }
            }
        }
    }

    fn call(&mut self, code: &[Instruction], at: usize, dst: Register, function: usize, args: &[Arg]) -> Op {
        let tail = self.is_tail_call(code, at, dst);
        let callee = &self.executable.functions[function];
        let result = dst.index().map_or(NOWHERE, |index| index as Slot);
        match (callee.kind, callee.name.as_str(), args) {
            (FunctionKind::Bytecode, ..) => {
                let (function, args) = (function as u32, self.slots(args));
                if tail { Op::TailInvoke { function, args } } else { Op::Invoke { function, dst: result, args } }
            }
            (_, "vm.builtin.invoke_closure", [_, _, ..]) => {
                let args = self.slots(args);
                Op::InvokeValue { dst: result, args, tail }
            }
            (_, "vm.builtin.copy", [from]) if result != NOWHERE => Op::Copy { dst: result, from: self.slot(*from) },
            (_, "vm.builtin.null_value", []) if result != NOWHERE => Op::Clear { dst: result },
            _ => {
                self.body.callees.push((at, function));
                Op::Call { call: unlinked, handle: std::ptr::null_mut(), dst: result, args: self.slots(args) }
            }
        }
    }

    /// Is the result of the call at `at` all that the function still has to return? Copies of the result and clearing
    /// of other registers on the way change nothing.
    fn is_tail_call(&self, code: &[Instruction], at: usize, dst: Register) -> bool {
        let (mut at, mut result) = (at + 1, dst);
        for _ in 0..MAX_TAIL {
            match &code[at] {
                Instruction::Ret { value } => return *value == result && result.index().is_some(),
                Instruction::Goto { offset } => at = target(at, *offset) as usize,
                Instruction::Call { dst, function, args } => {
                    let name = self.executable.functions[*function as usize].name.as_str();
                    match (name, args.as_slice()) {
                        ("vm.builtin.copy", [Arg::Register(from)]) if *from == result => result = *dst,
                        ("vm.builtin.null_value", []) if *dst != result => (),
                        _ => return false,
                    }
                    at += 1;
                }
                Instruction::If { .. } => return false,
            }
        }
        false
    }

    fn slots(&mut self, args: &[Arg]) -> Slots {
        let slots: Vec<_> = args.iter().map(|arg| self.slot(*arg)).collect();
        let start = self.body.slots.len() as u32;
        self.body.slots.extend(slots);
        self.most_args = self.most_args.max(args.len());
        Slots { start, count: args.len() as u32 }
    }

    /// The slot of an argument; those that are no registers get one in the pool.
    fn slot(&mut self, arg: Arg) -> Slot {
        if let Arg::Register(register) = arg
            && let Some(index) = register.index()
        {
            return index as Slot;
        }
        if let Some(slot) = self.known.get(&arg) {
            return *slot;
        }
        let slot = (self.body.registers + self.body.pool.len()) as Slot;
        self.body.pool.push(match arg {
            Arg::Immediate(value) => value.into(),
            Arg::Constant(index) => self.constants[index as usize].clone(),
            Arg::Function(index) => self.values[index as usize].clone(),
            // Builtins find the machine by the thread they run on; the argument only says that they want it.
            Arg::Register(Register::VM) => Any::opaque(std::ptr::null_mut()),
            Arg::Register(_) => Any::NONE,
        });
        self.known.insert(arg, slot);
        slot
    }
}

fn target(at: usize, offset: i64) -> u32 {
    (at as i64 + offset) as u32
}

/// Stands in for callees until `link` writes them.
unsafe extern "C" fn unlinked(_: *mut c_void, _: *const Any, _: i32, _: *mut Any) -> i32 {
    crate::ffi::raise(Error::new(kind::INTERNAL, "the instruction was not linked"))
}
