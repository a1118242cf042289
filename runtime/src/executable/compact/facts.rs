//! Data-flow facts about the values in slots, known before a function runs.
//!
//! Facts hold along straight-line code; at joins, only those about the pool survive. The user that walks over the steps
//! adds what it learns: the loader and the machine code generator know which arguments a kernel takes.
use super::{AllocPlan, Compact, MOVED, MatchSize, Matching, Op, Size, Slot, Slots, SuballocPlan};
use crate::executable::Executable;
use crate::memory::ALIGNMENT;
use crate::value::{Any, DType, Device, Tensor, index};

/// The builtin that allocates storage, and the index of its device argument.
const ALLOC_STORAGE: &str = "vm.builtin.alloc_storage";
const STORAGE_DEVICE: usize = 2;
/// Maximum rank of a tensor whose sizes are tracked.
const MAX_DIMS: usize = 64;

/// Abstract value of a slot.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Anything.
    Unknown,
    /// Empty: all bytes are zero.
    Nothing,
    /// No object.
    Plain,
    /// An integer.
    Int(i64),
    /// A floating-point number.
    Float,
    /// A tensor.
    Tensor(TensorFacts),
    /// Storage on this device, of unknown size.
    Storage(Device),
}

impl Content {
    /// The facts about a value that does not change.
    pub fn of(value: &Any) -> Content {
        if let Some(tensor) = value.get::<&Tensor>() {
            return Content::Tensor(TensorFacts {
                dtype: Some(tensor.dtype()),
                dims: Some(tensor.shape().iter().copied().map(Some).collect()),
                device: Some(tensor.device()),
                is_dense: tensor.is_contiguous(),
                alignment: if tensor.is_aligned() { ALIGNMENT } else { 1 },
                is_writable: !tensor.is_read_only(),
            });
        }
        match value.type_index() {
            index::INT => value.get().map_or(Content::Plain, Content::Int),
            index::FLOAT => Content::Float,
            _ if value.is_object() => Content::Unknown,
            _ => Content::Plain,
        }
    }
}

/// Facts about a tensor.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TensorFacts {
    /// Dtype.
    pub dtype: Option<DType>,
    /// Sizes, if the rank is known.
    pub dims: Option<Vec<Option<i64>>>,
    /// Device of the data. The number of a host device is not significant.
    pub device: Option<Device>,
    /// True if it is known to be contiguous.
    pub is_dense: bool,
    /// Known alignment of its address; 0 is the same as 1.
    pub alignment: usize,
    /// True if it is known to be writable.
    pub is_writable: bool,
}

impl TensorFacts {
    fn planned(plan: &AllocPlan, device: Option<Device>) -> TensorFacts {
        let size = |size: &Size| match size {
            Size::Static(size) => Some(*size),
            Size::Heap(_) => None,
        };
        TensorFacts::made(plan.dtype, plan.shape.iter().map(size).collect(), device, plan.offset)
    }

    /// A tensor in a storage; its device is unknown if nothing is known about the storage.
    fn in_storage(plan: &SuballocPlan, storage: &Content) -> TensorFacts {
        let device = match storage {
            Content::Storage(device) => Some(*device),
            _ => None,
        };
        TensorFacts::made(plan.dtype, plan.shape.iter().copied().map(Some).collect(), device, plan.offset)
    }

    /// A tensor on a device, or in unknown memory.
    fn made(dtype: DType, dims: Vec<Option<i64>>, device: Option<Device>, offset: usize) -> TensorFacts {
        let is_aligned = device.is_some() && offset.is_multiple_of(ALIGNMENT);
        let alignment = if is_aligned { ALIGNMENT } else { 1 };
        TensorFacts { dtype: Some(dtype), dims: Some(dims), device, is_dense: true, alignment, is_writable: true }
    }

    /// Combines two sets of facts that both hold.
    #[must_use]
    pub fn and(self, other: &TensorFacts) -> TensorFacts {
        let dims = match (self.dims, &other.dims) {
            (Some(mut dims), Some(others)) => {
                dims.iter_mut().zip(others).for_each(|(dim, other)| *dim = dim.or(*other));
                Some(dims)
            }
            (dims, others) => dims.or_else(|| others.clone()),
        };
        TensorFacts {
            dtype: self.dtype.or(other.dtype),
            dims,
            device: self.device.or(other.device),
            is_dense: self.is_dense || other.is_dense,
            alignment: self.alignment.max(other.alignment),
            is_writable: self.is_writable || other.is_writable,
        }
    }

    /// Returns true if its data is known to be on this device.
    pub fn is_on(&self, device: Device) -> bool {
        self.device.is_some_and(|known| known == device || known.is_host() && device.is_host())
    }
}

/// Facts about all slots of a function.
pub struct Facts<'a> {
    executable: &'a Executable,
    steps: &'a Compact,
    /// The program's devices, the last being the host.
    devices: &'a [Device],
    registers: Vec<Content>,
    pool: Vec<Content>,
}

impl<'a> Facts<'a> {
    /// The facts at a function's entry, which are those about its pool. The last of the program's devices is the host.
    pub fn new(executable: &'a Executable, steps: &'a Compact, pool: Vec<Content>, devices: &'a [Device]) -> Facts<'a> {
        let registers = vec![Content::Unknown; steps.registers];
        let mut facts = Facts { executable, steps, devices, registers, pool };
        for arena in &steps.arenas {
            let storage = facts.device(arena.device).map_or(Content::Unknown, Content::Storage);
            for (plan, slot) in arena.tensors.iter().zip(arena.first as usize - steps.registers..) {
                facts.pool[slot] = Content::Tensor(TensorFacts::in_storage(plan, &storage));
            }
        }
        facts
    }

    /// Forgets everything except the facts about the pool.
    pub fn forget(&mut self) {
        self.registers.fill(Content::Unknown);
    }

    /// The abstract value of a slot.
    pub fn get(&self, slot: Slot) -> &Content {
        let slot = slot as usize;
        self.registers.get(slot).unwrap_or_else(|| &self.pool[slot - self.registers.len()])
    }

    /// Facts about a tensor; `None` if the value may be something else.
    pub fn tensor(&self, slot: Slot) -> Option<&TensorFacts> {
        match self.get(slot) {
            Content::Tensor(facts) => Some(facts),
            _ => None,
        }
    }

    /// Adds facts about a tensor.
    pub fn learn(&mut self, slot: Slot, facts: &TensorFacts) {
        let known = self.tensor(slot).cloned().unwrap_or_default();
        self.set(slot, Content::Tensor(known.and(facts)));
    }

    fn set(&mut self, register: Slot, content: Content) {
        // The pool's facts are complete already.
        if let Some(slot) = self.registers.get_mut(register as usize) {
            *slot = content;
        }
    }

    /// Applies the effect of a step.
    pub fn step(&mut self, op: &Op<u32>) {
        let steps = self.steps;
        match *op {
            Op::CallVoid { args, .. } => self.kill(args),
            Op::Call { callee, dst, args } | Op::CallOver { callee, dst, args } => {
                let makes_storage = self.executable.functions[callee as usize].name == ALLOC_STORAGE;
                self.set(dst, if makes_storage { self.storage(args) } else { Content::Unknown });
                self.kill(args);
            }
            Op::Invoke { dst, args, .. } => {
                let moved = steps.slots[args.range()].iter().filter(|slot| *slot & MOVED != 0);
                moved.for_each(|slot| self.set(slot & !MOVED, Content::Nothing));
                self.set(dst, Content::Unknown);
            }
            Op::InvokeValue { dst, .. } => self.set(dst, Content::Unknown),
            Op::Copy { dst, from } => self.set(dst, self.get(from).clone()),
            Op::Move { dst, from } => {
                self.set(dst, self.get(from).clone());
                self.set(from, Content::Nothing);
            }
            Op::Clear { dst } => self.set(dst, Content::Nothing),
            Op::Alloc { dst, plan, .. } => {
                let plan = &steps.allocs[plan as usize];
                self.set(dst, Content::Tensor(TensorFacts::planned(plan, self.device(plan.device))));
            }
            Op::Suballoc { dst, storage, plan } => {
                let facts = TensorFacts::in_storage(&steps.suballocs[plan as usize], self.get(storage));
                self.set(dst, Content::Tensor(facts));
            }
            Op::Check { value, plan, .. } => self.checked(value, &steps.checks[plan as usize].matching),
            Op::TailInvoke { .. } | Op::Ret { .. } | Op::Goto { .. } | Op::Loop { .. } => (),
            Op::If { .. } | Op::Test { .. } | Op::Arena { .. } => (),
            Op::CheckedCall { .. } | Op::Native { .. } => unreachable!("made of steps that were looked at before"),
        }
    }

    /// Device of the program by number; negative numbers are the host.
    fn device(&self, number: i64) -> Option<Device> {
        usize::try_from(number).map_or(self.devices.last(), |number| self.devices.get(number)).copied()
    }

    /// Abstract result of a call that allocates storage.
    fn storage(&self, args: Slots) -> Content {
        match self.steps.slots[args.range()].get(STORAGE_DEVICE).map(|slot| self.get(*slot)) {
            Some(Content::Int(number)) => self.device(*number).map_or(Content::Unknown, Content::Storage),
            _ => Content::Unknown,
        }
    }

    fn kill(&mut self, args: Slots) {
        args.kills(&self.steps.slots).iter().for_each(|register| self.set(*register, Content::Nothing));
    }

    /// Applies the effect of a successful check.
    fn checked(&mut self, value: Slot, matching: &Matching) {
        let facts = match matching {
            Matching::Tensor { ndim, dtype } => {
                let dims = usize::try_from(*ndim).ok().filter(|ndim| *ndim <= MAX_DIMS).map(|ndim| vec![None; ndim]);
                TensorFacts { dtype: *dtype, dims, ..TensorFacts::default() }
            }
            // It may be a shape.
            Matching::Shape(_) if self.tensor(value).is_none() => return,
            Matching::Shape(sizes) => {
                let size = |size: &MatchSize| match size {
                    MatchSize::Equal(Size::Static(size)) => Some(*size),
                    _ => None,
                };
                TensorFacts { dims: Some(sizes.iter().map(size).collect()), ..TensorFacts::default() }
            }
        };
        self.learn(value, &facts);
    }
}
