//! Facts about the values in slots, known before a function runs.
//!
//! Facts hold along straight-line code; where paths meet, only those about the pool remain. The code that walks over the
//! steps adds what it learns: the loader and the machine code generator know which arguments a kernel takes.
use super::{AllocPlan, Compact, MOVED, MatchSize, Matching, Op, PlacePlan, Size, Slot, Slots};
use crate::executable::Executable;
use crate::memory::ALIGNMENT;
use crate::value::{Any, DType, Device, Tensor, index};

/// The builtin that makes storages, and which of its arguments is the device's number.
const ALLOC_STORAGE: &str = "vm.builtin.alloc_storage";
const STORAGE_DEVICE: usize = 2;
/// The most sizes of a tensor that are told apart.
const MOST_DIMS: usize = 64;

/// What a slot holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Anything.
    Unknown,
    /// Nothing: all its bytes are zero.
    Nothing,
    /// No object.
    Plain,
    /// An integer.
    Int(i64),
    /// A floating-point number.
    Float,
    /// A tensor.
    Tensor(TensorFacts),
    /// Storage of this device, as large as it may be.
    Storage(Device),
}

impl Content {
    /// What is known of a value that stays as it is.
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

/// What is known of a tensor.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TensorFacts {
    /// Type of its elements.
    pub dtype: Option<DType>,
    /// Its sizes, if their number is known.
    pub dims: Option<Vec<Option<i64>>>,
    /// Where its data is; if that is the host, the number may be another.
    pub device: Option<Device>,
    /// Do its elements follow each other?
    pub is_dense: bool,
    /// What its address is a multiple of; 0 as good as 1.
    pub alignment: usize,
    /// May it surely be written?
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

    /// A tensor made in a storage, which may be anywhere if nothing is known of it.
    fn placed(plan: &PlacePlan, storage: &Content) -> TensorFacts {
        let device = match storage {
            Content::Storage(device) => Some(*device),
            _ => None,
        };
        TensorFacts::made(plan.dtype, plan.shape.iter().copied().map(Some).collect(), device, plan.offset)
    }

    /// A tensor in memory of a device, or in memory that nothing is known of.
    fn made(dtype: DType, dims: Vec<Option<i64>>, device: Option<Device>, offset: usize) -> TensorFacts {
        let is_aligned = device.is_some() && offset.is_multiple_of(ALIGNMENT);
        let alignment = if is_aligned { ALIGNMENT } else { 1 };
        TensorFacts { dtype: Some(dtype), dims: Some(dims), device, is_dense: true, alignment, is_writable: true }
    }

    /// A tensor of which both hold.
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

    /// Is its data surely on this device?
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
    /// What is known where a function begins: its pool. The last of the program's devices is the host.
    pub fn new(executable: &'a Executable, steps: &'a Compact, pool: Vec<Content>, devices: &'a [Device]) -> Facts<'a> {
        let registers = vec![Content::Unknown; steps.registers];
        let mut facts = Facts { executable, steps, devices, registers, pool };
        for arena in &steps.arenas {
            let storage = facts.device(arena.device).map_or(Content::Unknown, Content::Storage);
            for (place, slot) in arena.places.iter().zip(arena.first as usize - steps.registers..) {
                facts.pool[slot] = Content::Tensor(TensorFacts::placed(place, &storage));
            }
        }
        facts
    }

    /// Keeps only what always holds.
    pub fn forget(&mut self) {
        self.registers.fill(Content::Unknown);
    }

    /// What a slot holds.
    pub fn get(&self, slot: Slot) -> &Content {
        let slot = slot as usize;
        self.registers.get(slot).unwrap_or_else(|| &self.pool[slot - self.registers.len()])
    }

    /// What is known of a tensor; `None` if the value may be something else.
    pub fn tensor(&self, slot: Slot) -> Option<&TensorFacts> {
        match self.get(slot) {
            Content::Tensor(facts) => Some(facts),
            _ => None,
        }
    }

    /// Adds what was found out about a tensor.
    pub fn learn(&mut self, slot: Slot, facts: &TensorFacts) {
        let known = self.tensor(slot).cloned().unwrap_or_default();
        self.set(slot, Content::Tensor(known.and(facts)));
    }

    fn set(&mut self, register: Slot, content: Content) {
        // What the pool holds is known already.
        if let Some(slot) = self.registers.get_mut(register as usize) {
            *slot = content;
        }
    }

    /// Goes on behind a step.
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
            Op::Place { dst, storage, plan } => {
                let facts = TensorFacts::placed(&steps.places[plan as usize], self.get(storage));
                self.set(dst, Content::Tensor(facts));
            }
            Op::Check { value, plan, .. } => self.checked(value, &steps.checks[plan as usize].matching),
            Op::TailInvoke { .. } | Op::Ret { .. } | Op::Goto { .. } | Op::Loop { .. } => (),
            Op::If { .. } | Op::Test { .. } | Op::Arena { .. } => (),
            Op::CheckedCall { .. } | Op::Native { .. } => unreachable!("made of steps that were looked at before"),
        }
    }

    /// A device of the program by number; the host by any that is negative.
    fn device(&self, number: i64) -> Option<Device> {
        usize::try_from(number).map_or(self.devices.last(), |number| self.devices.get(number)).copied()
    }

    /// What a call makes that asks for storage.
    fn storage(&self, args: Slots) -> Content {
        match self.steps.slots[args.range()].get(STORAGE_DEVICE).map(|slot| self.get(*slot)) {
            Some(Content::Int(number)) => self.device(*number).map_or(Content::Unknown, Content::Storage),
            _ => Content::Unknown,
        }
    }

    fn kill(&mut self, args: Slots) {
        args.kills(&self.steps.slots).iter().for_each(|register| self.set(*register, Content::Nothing));
    }

    /// A value matched.
    fn checked(&mut self, value: Slot, matching: &Matching) {
        let facts = match matching {
            Matching::Tensor { ndim, dtype } => {
                let dims = usize::try_from(*ndim).ok().filter(|ndim| *ndim <= MOST_DIMS).map(|ndim| vec![None; ndim]);
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
