//! Folding: walks over the instructions and emits ops.
use super::alloc::{AllocPlan, Matcher, SuballocPlan};
use super::arena::{self, Role};
use super::check::{self, CheckPlan, Matching, PlanArg};
use super::registers::Registers;
use super::{Compact, Folding, MOVED, Op, Slot, Slots};
use crate::executable::flow::{self, BitSet, Flow};
use crate::executable::{Arg, Executable, FunctionInfo, FunctionKind, Instruction, Register};
use std::collections::HashMap;

/// Maximum distance of a tail call from its Ret, in jumps and copies.
const MAX_TAIL: usize = 64;

pub(super) fn fold(executable: &Executable, info: &FunctionInfo, folding: Folding) -> Compact {
    let code: Vec<Instruction> = (info.start..info.end).filter_map(|at| executable.code.get(at)).collect();
    let flow = Flow::new(&code);
    let num_args = info.num_args as usize;
    let registers = match folding {
        Folding::Full => Registers::share(&flow, info.register_count, num_args),
        Folding::None => Registers::one_to_one(info.register_count),
    };
    let void = registers.count as Slot;
    let mut result = Compact {
        ops: Vec::with_capacity(code.len()),
        origins: Vec::with_capacity(code.len()),
        slots: Vec::new(),
        num_args,
        registers: registers.count + 1,
        pool: Vec::new(),
        max_args: 0,
        allocs: Vec::new(),
        suballocs: Vec::new(),
        arenas: Vec::new(),
        checks: Vec::new(),
    };
    let roles = match folding {
        Folding::Full => arena::find(executable, &flow, info.register_count, &mut result),
        Folding::None => HashMap::new(),
    };
    let none = BitSet::new(info.register_count);
    let mut folder = Folder {
        executable,
        flow: &flow,
        registers,
        folding,
        roles,
        void,
        result,
        pooled: HashMap::new(),
        vacant: none.clone(),
        unfilled: none,
        block_start: 0,
    };
    folder.run();
    folder.result
}

struct Folder<'a> {
    executable: &'a Executable,
    flow: &'a Flow<'a>,
    registers: Registers,
    folding: Folding,
    /// Registers of arenas, which have no slot in the frame's registers.
    roles: HashMap<usize, Role>,
    /// The register for unused results of bytecode.
    void: Slot,
    result: Compact,
    /// Slots of the pool by the argument they hold.
    pooled: HashMap<Arg, Slot>,
    /// Registers that are empty at this point of the block, although the bytecode has not cleared them.
    vacant: BitSet,
    /// Registers that would hold the storage of a tensor allocated in one step; they keep their previous value.
    unfilled: BitSet,
    /// The first op of the current block.
    block_start: usize,
}

impl Folder<'_> {
    fn run(&mut self) {
        let code = self.flow.code;
        let mut positions = vec![0u32; code.len()];
        for block in 0..self.flow.len() {
            let range = self.flow.block(block);
            self.block_start = self.result.ops.len();
            self.vacant.clear();
            self.unfilled.clear();
            let mut at = range.start;
            positions[at] = self.result.ops.len() as u32;
            while at < range.end {
                at += self.step(at, range.end);
            }
        }
        // Jump targets are instruction indices so far.
        for op in &mut self.result.ops {
            op.target_mut().into_iter().for_each(|target| *target = positions[*target as usize]);
        }
    }

    /// Emits the step that begins at instruction `at` of a block that ends at `end`; returns its number of
    /// instructions.
    fn step(&mut self, at: usize, end: usize) -> usize {
        if self.arena(at) {
            return 1;
        }
        if self.folding == Folding::Full
            && let Some(len) = self.allocation(at, end).or_else(|| self.test(at, end))
        {
            return len;
        }
        match &self.flow.code[at] {
            Instruction::Call { dst, function, args } => self.call(at, *dst, *function as usize, args),
            Instruction::Ret { value } => {
                let value = self.slot(Arg::Register(*value));
                self.emit(at, Op::Ret { value });
            }
            Instruction::Goto { offset } => {
                let target = flow::target(at, *offset) as u32;
                self.emit(at, if *offset > 0 { Op::Goto { target } } else { Op::Loop { target } });
            }
            Instruction::If { condition, false_offset } => {
                let otherwise = flow::target(at, *false_offset) as u32;
                let condition = self.slot(Arg::Register(*condition));
                self.emit(at, Op::If { condition, otherwise });
            }
        }
        1
    }

    /// Emits the step of an instruction that writes a register of an arena.
    fn arena(&mut self, at: usize) -> bool {
        let role = flow::writes(&self.flow.code[at]).and_then(|register| self.roles.get(&register).copied());
        let empties = || matches!(&self.flow.code[at], Instruction::Call { args, .. } if args.is_empty());
        if let Some(Role::Storage(plan)) = role
            && !empties()
        {
            self.emit(at, Op::Arena { plan });
        }
        role.is_some()
    }

    fn emit(&mut self, at: usize, op: Op<u32>) {
        self.result.ops.push(op);
        self.result.origins.push(at as u32);
    }

    fn name(&self, function: usize) -> &str {
        &self.executable.functions[function].name
    }

    fn call(&mut self, at: usize, dst: Register, function: usize, args: &[Arg]) {
        let full = self.folding == Folding::Full;
        if full && self.special(at, dst, function, args) {
            return;
        }
        let register = dst.index().map(|register| self.registers.slot(register));
        let result = register.unwrap_or(self.void);
        let info = &self.executable.functions[function];
        if info.kind != FunctionKind::Packed && info.start < info.end {
            let tail = full && self.is_tail_call(at, dst);
            let (function, args) = (function as u32, self.moved_args(at, args, tail));
            let op = if tail { Op::TailInvoke { function, args } } else { Op::Invoke { function, dst: result, args } };
            self.emit(at, op);
        } else if self.name(function) == "vm.builtin.invoke_closure" && args.len() >= 2 {
            let (tail, args) = (full && self.is_tail_call(at, dst), self.args(args));
            self.emit(at, Op::InvokeValue { dst: result, args, tail });
        } else {
            self.native_call(at, register, function as u32, args);
        }
        dst.index().into_iter().for_each(|register| self.assign(register));
    }

    fn native_call(&mut self, at: usize, dst: Option<Slot>, callee: u32, args: &[Arg]) {
        let args = self.args(args);
        self.result.slots.push(0);
        let op = match dst {
            None => Op::CallVoid { callee, args },
            Some(dst) if self.result.slots[args.range()].contains(&dst) => Op::CallOver { callee, dst, args },
            Some(dst) => Op::Call { callee, dst, args },
        };
        self.emit(at, op);
    }

    /// Records that the value of a register is unknown.
    fn assign(&mut self, register: usize) {
        self.vacant.remove(register);
        self.unfilled.remove(register);
    }

    /// Emits the op of a builtin that has one.
    fn special(&mut self, at: usize, dst: Register, function: usize, args: &[Arg]) -> bool {
        match (self.name(function), args, dst.index()) {
            ("vm.builtin.null_value", [], Some(register)) => self.clear(at, register),
            ("vm.builtin.copy", [from], Some(register)) => self.copy(at, register, *from),
            ("vm.builtin.alloc_shape_heap", [Arg::Register(Register::VM), Arg::Immediate(size)], Some(register))
                if (0..=1 << 24).contains(size) =>
            {
                self.alloc(at, AllocPlan::heap(*size), register, None);
            }
            ("vm.builtin.alloc_tensor", [storage @ Arg::Register(_), layout @ ..], Some(register)) => {
                let Some(plan) = SuballocPlan::new(self.executable, layout) else { return false };
                let (storage, dst) = (self.slot(*storage), self.registers.slot(register));
                self.assign(register);
                self.result.suballocs.push(plan);
                self.emit(at, Op::Suballoc { dst, storage, plan: self.result.suballocs.len() as u32 - 1 });
            }
            ("vm.builtin.check_tensor_info", _, None) => {
                let Some(matching) = check::tensor(self.executable, args) else { return false };
                self.check(at, function, args, matching, None);
            }
            ("vm.builtin.match_shape", [_, heap, ..], None) => {
                let Some(matching) = check::shape(args) else { return false };
                self.check(at, function, args, matching, Some(*heap));
            }
            _ => return false,
        }
        true
    }

    fn copy(&mut self, at: usize, register: usize, from: Arg) {
        let (dst, source) = (self.registers.slot(register), self.slot(from));
        self.assign(register);
        match from {
            Arg::Register(own)
                if own.index().is_some_and(|own| {
                    own != register && !self.roles.contains_key(&own) && self.registers.is_last_read(at, own)
                }) =>
            {
                own.index().into_iter().for_each(|own| self.vacant.insert(own));
                self.emit(at, Op::Move { dst, from: source });
            }
            _ => self.emit(at, Op::Copy { dst, from: source }),
        }
    }

    /// Clears a register, as part of the preceding call if there is one.
    fn clear(&mut self, at: usize, register: usize) {
        let slot = self.registers.slot(register);
        if self.vacant.contains(register) || self.unfilled.contains(register) && self.registers.is_unread(at) {
            return;
        }
        self.assign(register);
        self.vacant.insert(register);
        let Compact { ops, slots, .. } = &mut self.result;
        match ops[self.block_start..].last() {
            Some(op) if let Some(args) = op.native_args().filter(|_| op.native_result() != Some(slot)) => {
                slots[args.range().end] += 1;
                slots.push(slot);
            }
            _ => self.emit(at, Op::Clear { dst: slot }),
        }
    }

    fn allocation(&mut self, at: usize, end: usize) -> Option<usize> {
        let is_last_read = |offset: usize, register: usize| self.registers.is_last_read(at + offset, register);
        let code = &self.flow.code[at..end];
        let matcher = Matcher {
            executable: self.executable,
            code,
            is_last_read: &is_last_read,
            at: 0,
            heap: None,
            made: Vec::new(),
        };
        let found = matcher.allocation()?;
        self.alloc(at, found.plan, found.dst, found.heap);
        self.assign(found.storage);
        self.unfilled.insert(found.storage);
        Some(found.len)
    }

    fn alloc(&mut self, at: usize, plan: AllocPlan, register: usize, heap: Option<Register>) {
        let heap = heap.filter(|_| plan.reads_heap());
        let heap = heap.map_or(self.void, |heap| self.slot(Arg::Register(heap)));
        let known = self.result.allocs.iter().position(|other| *other == plan);
        let index = known.unwrap_or_else(|| {
            self.result.allocs.push(plan);
            self.result.allocs.len() - 1
        });
        self.assign(register);
        let dst = self.registers.slot(register);
        self.emit(at, Op::Alloc { dst, heap, plan: index as u32 });
    }

    fn check(&mut self, at: usize, function: usize, args: &[Arg], matching: Matching, heap: Option<Arg>) {
        let heap = heap.filter(|_| matching.uses_heap()).map_or(self.void, |heap| self.slot(heap));
        let value = self.slot(args[0]);
        let args = args.iter().map(|arg| match arg {
            Arg::Register(register) if register.index().is_some() => PlanArg::Slot(self.slot(*arg)),
            _ => PlanArg::Fixed(*arg),
        });
        let args = args.collect();
        self.result.checks.push(CheckPlan { function: function as u32, args, matching });
        self.emit(at, Op::Check { value, heap, plan: self.result.checks.len() as u32 - 1 });
    }

    /// A condition that is only read by one If.
    fn test(&mut self, at: usize, end: usize) -> Option<usize> {
        let [Instruction::Call { dst, function, args }, Instruction::If { condition, false_offset }] =
            self.flow.code[at..end].first_chunk()?
        else {
            return None;
        };
        let [value] = args[..] else { return None };
        let read = self.name(*function as usize) == "vm.builtin.read_if_cond" && dst == condition;
        if !read || !self.registers.is_last_read(at + 1, condition.index()?) {
            return None;
        }
        let (condition, otherwise) = (self.slot(value), flow::target(at + 1, *false_offset) as u32);
        self.emit(at, Op::Test { condition, otherwise });
        Some(2)
    }

    /// Returns true if the function only returns the result of the call at `at`. Copies of the result and clearing of
    /// other registers do not matter.
    fn is_tail_call(&self, at: usize, dst: Register) -> bool {
        let (mut at, mut result) = (at + 1, dst);
        for _ in 0..MAX_TAIL {
            match &self.flow.code[at] {
                Instruction::Ret { value } => return *value == result && result.index().is_some(),
                Instruction::Goto { offset } => at = flow::target(at, *offset),
                Instruction::Call { dst, function, args } => {
                    match (self.name(*function as usize), args.as_slice()) {
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

    fn args(&mut self, args: &[Arg]) -> Slots {
        let slots: Vec<_> = args.iter().map(|arg| self.slot(*arg)).collect();
        let start = self.result.slots.len() as u32;
        self.result.slots.extend(slots);
        self.result.max_args = self.result.max_args.max(args.len());
        Slots { start, count: args.len() as u32 }
    }

    /// Like `args`, for a call of bytecode: the last use of a register that is not read again is marked as moved,
    /// except before a tail call.
    /// a tail call, none is.
    fn moved_args(&mut self, at: usize, args: &[Arg], tail: bool) -> Slots {
        let slots = self.args(args);
        for (arg, position) in args.iter().zip(slots.range()).rev() {
            let Arg::Register(register) = arg else { continue };
            let Some(register) = register.index() else { continue };
            let over = self.folding == Folding::Full && (tail || self.registers.is_last_read(at, register));
            if over && !self.vacant.contains(register) {
                self.result.slots[position] |= MOVED;
                self.assign(register);
                self.vacant.insert(register);
            }
        }
        slots
    }

    /// The slot of an argument; arguments that are not registers get one in the pool.
    fn slot(&mut self, arg: Arg) -> Slot {
        if let Arg::Register(register) = arg
            && let Some(index) = register.index()
        {
            return match self.roles.get(&index) {
                Some(Role::Tensor(slot)) => *slot,
                _ => self.registers.slot(index),
            };
        }
        let Compact { registers, pool, .. } = &mut self.result;
        *self.pooled.entry(arg).or_insert_with(|| {
            pool.push(arg);
            (*registers + pool.len() - 1) as Slot
        })
    }
}
