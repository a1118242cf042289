//! Allocations: the steps for `alloc_storage`, `alloc_tensor` and the shapes they take.
use super::super::{Arg, Constant, Executable, Instruction, Register};
use crate::value::{DType, byte_size};

/// A size, known or found in the function's heap of sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Size {
    /// This.
    Static(i64),
    /// What this place of the heap holds.
    Heap(u32),
}

/// A tensor in a storage of its own.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AllocPlan {
    /// The device's number in the program; -1 is the host.
    pub device: i64,
    /// Sizes of the storage, in elements of its type.
    pub storage: Vec<Size>,
    /// Type of the storage's elements.
    pub storage_dtype: DType,
    /// Where in the storage the tensor begins, in bytes.
    pub offset: usize,
    /// Sizes of the tensor.
    pub shape: Vec<Size>,
    /// Type of its elements.
    pub dtype: DType,
}

impl AllocPlan {
    /// A heap of sizes.
    pub(super) fn heap(size: i64) -> AllocPlan {
        let sizes = vec![Size::Static(size)];
        let (storage_dtype, dtype) = (DType::INT64, DType::INT64);
        AllocPlan { device: -1, storage: sizes.clone(), storage_dtype, offset: 0, shape: sizes, dtype }
    }

    /// Does it need the heap?
    pub fn reads_heap(&self) -> bool {
        self.storage.iter().chain(&self.shape).any(|size| matches!(size, Size::Heap(_)))
    }
}

/// A tensor in a storage that others share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacePlan {
    /// Where in the storage it begins, in bytes.
    pub offset: usize,
    /// Its sizes.
    pub shape: Vec<i64>,
    /// Type of its elements.
    pub dtype: DType,
    /// Its size in bytes.
    pub bytes: usize,
}

impl PlacePlan {
    /// What the arguments of `alloc_tensor` behind the storage say, if they are known.
    pub(super) fn new(executable: &Executable, args: &[Arg]) -> Option<PlacePlan> {
        let [Arg::Immediate(offset), Arg::Constant(shape), Arg::Constant(dtype), ..] = *args else { return None };
        let constant = |index: i64| &executable.constants[index as usize];
        let (Constant::Shape(shape), Constant::DType(dtype)) = (constant(shape), constant(dtype)) else { return None };
        let (offset, bytes) = (usize::try_from(offset).ok()?, byte_size(*dtype, shape).ok()?);
        Some(PlacePlan { offset, shape: shape.to_vec(), dtype: *dtype, bytes })
    }
}

/// A run of instructions that allocates one tensor.
pub(super) struct Allocation {
    pub(super) plan: AllocPlan,
    pub(super) dst: usize,
    pub(super) heap: Option<Register>,
    /// The storage's register, which nobody fills now.
    pub(super) storage: usize,
    /// How many instructions it takes.
    pub(super) len: usize,
}

/// Reads instructions from a position on, as long as they make one allocation.
pub(super) struct Matcher<'a> {
    pub(super) executable: &'a Executable,
    /// From the position on, up to the next block.
    pub(super) code: &'a [Instruction],
    /// Is the value of a register read for the last time by the instruction this far in?
    pub(super) is_last_read: &'a dyn Fn(usize, usize) -> bool,
    pub(super) at: usize,
    pub(super) heap: Option<Register>,
    pub(super) made: Vec<MadeShape>,
}

/// A shape made on the way.
pub(super) struct MadeShape {
    register: usize,
    sizes: Vec<Size>,
    /// Was it read for the last time?
    is_done: bool,
}

impl<'a> Matcher<'a> {
    /// The allocation that begins here.
    pub(super) fn allocation(mut self) -> Option<Allocation> {
        self.make_shape()?;
        let (storage, args) = self.call("vm.builtin.alloc_storage")?;
        let [Arg::Register(Register::VM), shape, Arg::Immediate(device), dtype, ..] = *args else { return None };
        let (sizes, storage_dtype) = (self.sizes(shape)?, self.dtype(dtype)?);
        self.make_shape()?;
        let (dst, args) = self.call("vm.builtin.alloc_tensor")?;
        let [Arg::Register(from), Arg::Immediate(offset), shape, dtype, ..] = *args else { return None };
        let is_own = from.index() == Some(storage) && (self.is_last_read)(self.at - 1, storage) && dst != storage;
        let (shape, offset) = (self.sizes(shape)?, usize::try_from(offset).ok()?);
        let shapes_are_own = self.made.iter().all(|made| made.is_done && made.register != storage);
        let plan = AllocPlan { device, storage: sizes, storage_dtype, offset, shape, dtype: self.dtype(dtype)? };
        (is_own && shapes_are_own).then_some(Allocation { plan, dst, heap: self.heap, storage, len: self.at })
    }

    /// The next instruction's result and arguments, if it calls this function.
    fn call(&mut self, name: &str) -> Option<(usize, &'a [Arg])> {
        let Instruction::Call { dst, function, args } = self.code.get(self.at)? else { return None };
        let called = self.executable.functions[*function as usize].name == name;
        let dst = dst.index().filter(|_| called)?;
        self.at += 1;
        Some((dst, args))
    }

    /// Takes note of the shape that the next instruction makes, if it makes one; fails if that cannot be part of a plan.
    fn make_shape(&mut self) -> Option<()> {
        let Some((register, args)) = self.call("vm.builtin.make_shape") else { return Some(()) };
        let [Arg::Register(heap), Arg::Immediate(count), codes @ ..] = args else { return None };
        let sizes = codes.chunks_exact(2).map(|pair| match *pair {
            [Arg::Immediate(0), Arg::Immediate(size)] => Some(Size::Static(size)),
            [Arg::Immediate(1), Arg::Immediate(place)] => u32::try_from(place).ok().map(Size::Heap),
            _ => None,
        });
        let sizes: Vec<_> = sizes.collect::<Option<_>>()?;
        let complete = codes.len() % 2 == 0 && sizes.len() as i64 == *count;
        let same_heap = self.heap.is_none_or(|known| known == *heap) && Some(register) != heap.index();
        self.heap = Some(*heap);
        self.made.push(MadeShape { register, sizes, is_done: false });
        (complete && same_heap).then_some(())
    }

    /// The sizes of the shape that the instruction just read takes: a constant, or one made just before.
    fn sizes(&mut self, shape: Arg) -> Option<Vec<Size>> {
        match shape {
            Arg::Register(register) => {
                let register = register.index()?;
                let made = self.made.iter_mut().rfind(|made| made.register == register)?;
                made.is_done |= (self.is_last_read)(self.at - 1, register);
                Some(made.sizes.clone())
            }
            Arg::Constant(index) => match &self.executable.constants[index as usize] {
                Constant::Shape(shape) => Some(shape.iter().map(|size| Size::Static(*size)).collect()),
                _ => None,
            },
            _ => None,
        }
    }

    fn dtype(&self, arg: Arg) -> Option<DType> {
        match arg {
            Arg::Constant(index) => match self.executable.constants[index as usize] {
                Constant::DType(dtype) => Some(dtype),
                _ => None,
            },
            _ => None,
        }
    }
}
