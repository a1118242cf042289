//! Allocation steps, matched from `alloc_storage`, `alloc_tensor` and the shapes they take.
use super::super::{Arg, Constant, Executable, Instruction, Register};
use crate::value::{DType, byte_size};

/// A size: a constant, or an entry of the function's shape heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Size {
    /// A constant.
    Static(i64),
    /// The value at this index of the shape heap.
    Heap(u32),
}

/// Plan of a tensor with a storage of its own.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AllocPlan {
    /// The device's number in the program; -1 is the host.
    pub device: i64,
    /// Shape of the storage, in elements of its dtype.
    pub storage: Vec<Size>,
    /// Dtype of the storage.
    pub storage_dtype: DType,
    /// Offset of the tensor in the storage, in bytes.
    pub offset: usize,
    /// Shape of the tensor.
    pub shape: Vec<Size>,
    /// Dtype of the tensor.
    pub dtype: DType,
}

impl AllocPlan {
    /// The plan of a shape heap.
    pub(super) fn heap(size: i64) -> AllocPlan {
        let sizes = vec![Size::Static(size)];
        let (storage_dtype, dtype) = (DType::INT64, DType::INT64);
        AllocPlan { device: -1, storage: sizes.clone(), storage_dtype, offset: 0, shape: sizes, dtype }
    }

    /// Returns true if it reads the shape heap.
    pub fn reads_heap(&self) -> bool {
        self.storage.iter().chain(&self.shape).any(|size| matches!(size, Size::Heap(_)))
    }
}

/// Plan of a tensor at an offset in a shared storage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuballocPlan {
    /// Offset in the storage, in bytes.
    pub offset: usize,
    /// Shape of the tensor.
    pub shape: Vec<i64>,
    /// Dtype of the tensor.
    pub dtype: DType,
    /// Its size in bytes.
    pub bytes: usize,
}

impl SuballocPlan {
    /// The plan given by the arguments of `alloc_tensor` after the storage; `None` if they are not constants.
    pub(super) fn new(executable: &Executable, args: &[Arg]) -> Option<SuballocPlan> {
        let [Arg::Immediate(offset), Arg::Constant(shape), Arg::Constant(dtype), ..] = *args else { return None };
        let constant = |index: i64| &executable.constants[index as usize];
        let (Constant::Shape(shape), Constant::DType(dtype)) = (constant(shape), constant(dtype)) else { return None };
        let (offset, bytes) = (usize::try_from(offset).ok()?, byte_size(*dtype, shape).ok()?);
        Some(SuballocPlan { offset, shape: shape.to_vec(), dtype: *dtype, bytes })
    }
}

/// A sequence of instructions that allocates one tensor.
pub(super) struct Allocation {
    pub(super) plan: AllocPlan,
    pub(super) dst: usize,
    pub(super) heap: Option<Register>,
    /// The storage's register, which is not written any more.
    pub(super) storage: usize,
    /// Number of instructions in the sequence.
    pub(super) len: usize,
}

/// Matches an allocation at the start of a range of instructions.
pub(super) struct Matcher<'a> {
    pub(super) executable: &'a Executable,
    /// The instructions, up to the end of the block.
    pub(super) code: &'a [Instruction],
    /// Returns true if the instruction at this offset reads the register for the last time.
    pub(super) is_last_read: &'a dyn Fn(usize, usize) -> bool,
    pub(super) at: usize,
    pub(super) heap: Option<Register>,
    pub(super) made: Vec<ComputedShape>,
}

/// A shape that the sequence computes.
pub(super) struct ComputedShape {
    register: usize,
    sizes: Vec<Size>,
    /// True after its last read.
    is_done: bool,
}

impl<'a> Matcher<'a> {
    /// Returns the allocation at the start of the code.
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

    /// Result and arguments of the next instruction if it calls `name`.
    fn call(&mut self, name: &str) -> Option<(usize, &'a [Arg])> {
        let Instruction::Call { dst, function, args } = self.code.get(self.at)? else { return None };
        let called = self.executable.functions[*function as usize].name == name;
        let dst = dst.index().filter(|_| called)?;
        self.at += 1;
        Some((dst, args))
    }

    /// Records the shape that the next instruction makes, if it makes one; fails if that cannot be part of a plan.
    fn make_shape(&mut self) -> Option<()> {
        let Some((register, args)) = self.call("vm.builtin.make_shape") else { return Some(()) };
        let [Arg::Register(heap), Arg::Immediate(count), codes @ ..] = args else { return None };
        let sizes = codes.chunks_exact(2).map(|pair| match *pair {
            [Arg::Immediate(0), Arg::Immediate(size)] => Some(Size::Static(size)),
            [Arg::Immediate(1), Arg::Immediate(index)] => u32::try_from(index).ok().map(Size::Heap),
            _ => None,
        });
        let sizes: Vec<_> = sizes.collect::<Option<_>>()?;
        let complete = codes.len() % 2 == 0 && sizes.len() as i64 == *count;
        let same_heap = self.heap.is_none_or(|known| known == *heap) && Some(register) != heap.index();
        self.heap = Some(*heap);
        self.made.push(ComputedShape { register, sizes, is_done: false });
        (complete && same_heap).then_some(())
    }

    /// The sizes that the instruction just read takes: those of a constant, or of a shape made just before.
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
