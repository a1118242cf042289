//! Arenas: storages whose tensors are all usage statically.
//!
//! The memory planner puts tensors with disjoint lifetimes into one storage. If all sizes are constants, the storage
//! and its tensors are created in one step and reused by the next call. The function reads the tensors like constants,
//! so creating and dropping them costs nothing. This applies to a storage that is allocated once, before any branch, by
//! a function that calls no bytecode, and whose tensors are only copied and passed to native functions. (If a tensor
//! escapes, the virtual machine notices when the function returns.)
use super::alloc::SuballocPlan;
use super::{Compact, Slot};
use crate::executable::flow::{self, Flow};
use crate::executable::{Arg, Constant, Executable, FunctionKind, Instruction, Register};
use crate::value::DType;
use std::collections::HashMap;

/// Plan of a storage with its tensors.
#[derive(Debug, Clone, PartialEq)]
pub struct ArenaPlan {
    /// The device's number in the program; -1 is the host.
    pub device: i64,
    /// Shape of the storage, in elements of its dtype.
    pub storage: Vec<i64>,
    /// Dtype of the storage.
    pub storage_dtype: DType,
    /// Plans of the tensors.
    pub tensors: Vec<SuballocPlan>,
    /// The slot of the first tensor; the others follow.
    pub first: Slot,
}

/// Role of a register that belongs to an arena.
#[derive(Clone, Copy)]
pub(super) enum Role {
    /// The storage of the arena with this index.
    Storage(u32),
    /// A tensor, in this slot.
    Tensor(Slot),
}

/// Usage of a register.
#[derive(Clone, Default)]
struct Usage {
    /// Number of writes, not counting `null_value`.
    writes: usize,
    /// Index of the instruction that clears it first, and of its last read.
    cleared: Option<usize>,
    read: usize,
    /// Indices of the instructions that allocate tensors in it, if it is a storage.
    allocs: Vec<usize>,
    /// True if only allocations of tensors read it.
    is_storage: bool,
    /// True if only calls of native functions that may receive an arena's tensor read it, also through copies.
    is_passed: bool,
}

/// Finds the arenas of a function and adds their plans to the result, whose pool must be empty.
pub(super) fn find(
    executable: &Executable,
    flow: &Flow<'_>,
    registers: usize,
    result: &mut Compact,
) -> HashMap<usize, Role> {
    let mut roles = HashMap::new();
    let finder = Finder { executable, flow };
    let Some(usage) = finder.usage(registers) else { return roles };
    let storages = (0..flow.block(0).end).filter_map(|at| finder.arena(at, &usage, result.num_args));
    for (storage, mut plan, tensors) in storages {
        let number = result.arenas.len() as u32;
        plan.first = (result.registers + result.pool.len()) as Slot;
        roles.insert(storage, Role::Storage(number));
        for tensor in tensors {
            roles.insert(tensor, Role::Tensor((result.registers + result.pool.len()) as Slot));
            result.pool.push(Arg::Register(Register::VOID));
        }
        result.arenas.push(plan);
    }
    roles
}

struct Finder<'a> {
    executable: &'a Executable,
    flow: &'a Flow<'a>,
}

impl<'a> Finder<'a> {
    /// Usage of each register; `None` if the function calls bytecode or has loops.
    fn usage(&self, registers: usize) -> Option<Vec<Usage>> {
        let mut usage = vec![Usage { is_storage: true, is_passed: true, ..Usage::default() }; registers];
        for (at, instruction) in self.flow.code.iter().enumerate() {
            let callee = match instruction {
                Instruction::Call { dst, function, args } => {
                    let info = &self.executable.functions[*function as usize];
                    let is_bytecode = info.kind != FunctionKind::Packed && info.start < info.end;
                    if is_bytecode || info.name == "vm.builtin.invoke_closure" {
                        return None;
                    }
                    if let Some(dst) = dst.index() {
                        match (info.name.as_str(), args.as_slice()) {
                            ("vm.builtin.null_value", []) => drop(usage[dst].cleared.get_or_insert(at)),
                            _ => usage[dst].writes += 1,
                        }
                    }
                    Some(info.name.as_str())
                }
                Instruction::Goto { offset } if *offset <= 0 => return None,
                Instruction::If { false_offset, .. } if *false_offset <= 0 => return None,
                _ => None,
            };
            let makes_tensor = callee == Some("vm.builtin.alloc_tensor");
            let is_passed = callee.is_some() && !makes_tensor;
            for register in flow::reads(instruction) {
                let usage = &mut usage[register];
                usage.read = at;
                usage.is_passed &= is_passed;
                usage.is_storage &= makes_tensor;
                usage.allocs.extend(makes_tensor.then_some(at));
            }
        }
        Some(usage)
    }

    fn call(&self, at: usize, name: &str) -> Option<(usize, &'a [Arg])> {
        let Instruction::Call { dst, function, args } = &self.flow.code[at] else { return None };
        dst.index()
            .filter(|_| self.executable.functions[*function as usize].name == name)
            .map(|dst| (dst, args.as_slice()))
    }

    /// The arena whose storage an instruction allocates: the storage's register, the plan, and the tensors' registers.
    fn arena(&self, at: usize, usage: &[Usage], params: usize) -> Option<(usize, ArenaPlan, Vec<usize>)> {
        let (register, args) = self.call(at, "vm.builtin.alloc_storage")?;
        let [Arg::Register(Register::VM), Arg::Constant(shape), Arg::Immediate(device), Arg::Constant(dtype), ..] =
            *args
        else {
            return None;
        };
        let constant = |index: i64| &self.executable.constants[index as usize];
        let (Constant::Shape(shape), Constant::DType(storage_dtype)) = (constant(shape), constant(dtype)) else {
            return None;
        };
        let bytes = crate::value::byte_size(*storage_dtype, shape).ok()?;
        let storage = &usage[register];
        if !storage.is_storage || !storage.is_written_once(register, params) {
            return None;
        }
        let (mut tensors, mut registers) = (Vec::new(), Vec::new());
        for reader in &storage.allocs {
            let (tensor, args) = self.call(*reader, "vm.builtin.alloc_tensor")?;
            let plan = SuballocPlan::new(self.executable, &args[1..])?;
            let fits = plan.offset.checked_add(plan.bytes).is_some_and(|end| end <= bytes);
            let is_passed = usage[tensor].is_passed && usage[tensor].is_written_once(tensor, params);
            if !fits || !is_passed || args[0] != Arg::Register(Register(register as i64)) {
                return None;
            }
            tensors.push(plan);
            registers.push(tensor);
        }
        let (storage, storage_dtype) = (shape.to_vec(), *storage_dtype);
        let plan = ArenaPlan { device, storage, storage_dtype, tensors, first: 0 };
        (registers.len() > 1).then_some((register, plan, registers))
    }
}

impl Usage {
    /// Returns true if the register has the same value at every read. The code has no loops, so it does not matter on
    /// which path it is cleared.
    fn is_written_once(&self, register: usize, params: usize) -> bool {
        self.writes == 1 && register >= params && self.cleared.is_none_or(|cleared| cleared > self.read)
    }
}
