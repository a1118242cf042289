//! State of one call from outside: a register stack, a list of frames, and reusable tensors.
//!
//! Calls between bytecode functions push frames; the native stack does not grow. Registers own their values; the pool
//! and the scratch space of a frame hold bitwise copies that are never dropped.
use super::decode::Body;
use super::program::Program;
use super::registers::{Registers, is_tensor};
use super::sizes::{expect_sizes, storage_bytes};
use super::stack::{Mark, Stack};
use crate::executable::compact::{AllocPlan, ArenaPlan, Size, Slot, SuballocPlan};
use crate::ffi::{Error, Location, TraceEntry, kind};
use crate::memory::AllocatorKind;
use crate::memory::Block;
use crate::memory::workspace::Workspace;
use crate::value::{Any, Storage, Tensor};
use std::rc::Rc;

/// Number of frames at either end of a failed call's stack trace.
const MAX_TRACE_FRAMES: usize = 16;
/// Maximum number of cached tensors per plan.
const MAX_SPARE: usize = 64;

/// An activation of a function.
pub(super) struct Frame {
    /// Its first slot.
    base: *mut Any,
    body: *const Body,
    /// The current step: the call in progress, unless the frame is the innermost.
    pc: u32,
    /// Slot of the caller's frame that receives the result.
    dst: Slot,
    /// The stack's mark before it.
    mark: Mark,
    /// Number of open arenas before it.
    arenas: usize,
}

/// A storage with its tensors, while nobody else refers to them.
struct Arena {
    /// Index of its plan.
    number: u32,
    storage: Storage,
    tensors: Vec<Any>,
}

/// Frames and registers of one call from outside.
pub(super) struct Machine {
    stack: Stack,
    frames: Vec<Frame>,
    /// Unreferenced tensors by plan.
    spare: Vec<Vec<Tensor>>,
    /// Open arenas of all frames, the innermost frame's last.
    arenas: Vec<Arena>,
    /// Cached arenas by plan.
    spare_arenas: Vec<Vec<Arena>>,
    /// Arguments of a tail call, in transit to the new frame.
    pub(super) transfer: Vec<Any>,
    /// Destination of unused results; never an object.
    pub(super) discarded: Any,
    /// Sizes of the current allocation.
    sizes: Vec<i64>,
    /// Scratch memory of kernels.
    workspace: Rc<Workspace>,
}

// SAFETY: a machine's pointers refer to its own stack, and to bodies of its program. Its scratch memory is only shared
// with the call that uses it.
unsafe impl Send for Machine {}

impl Machine {
    /// Creates a machine for a program with these numbers of allocation and arena plans.
    pub(super) fn new(plans: usize, arenas: usize) -> Machine {
        let (stack, frames, transfer, sizes) = Default::default();
        let spare = (0..plans).map(|_| Vec::new()).collect();
        let spare_arenas = (0..arenas).map(|_| Vec::new()).collect();
        let (discarded, workspace) = (Any::NONE, Rc::new(Workspace::new()));
        Machine { stack, frames, spare, arenas: Vec::new(), spare_arenas, transfer, discarded, sizes, workspace }
    }

    /// Scratch memory of kernels.
    pub(super) fn workspace(&self) -> &Rc<Workspace> {
        &self.workspace
    }

    /// Pushes a frame.
    #[inline]
    pub(super) fn enter<'p>(
        &mut self,
        program: &'p Program,
        function: u32,
        args: impl IntoIterator<Item = Any>,
        dst: Slot,
        bodies: &'p [Option<Body>],
    ) -> Result<Registers<'p>, Error> {
        let Some(body) = &bodies[function as usize] else {
            return Err(Error::new(kind::INTERNAL, "only bytecode has frames"));
        };
        if self.frames.len() >= program.options.max_depth {
            return Err(too_deep(program, function));
        }
        let mark = self.stack.mark();
        let base = self.stack.push(body.frame_size, program.options.max_stack)?;
        // SAFETY: the frame has space for registers and pool. The none value is all zeroes. The pool's values are
        // copied without adding references: the program keeps them alive while it runs.
        unsafe {
            base.write_bytes(0, body.registers);
            for (i, arg) in args.into_iter().take(body.registers).enumerate() {
                base.add(i).write(arg);
            }
            base.add(body.registers).copy_from_nonoverlapping(body.pool.as_ptr(), body.pool.len());
        }
        self.frames.push(Frame { base, body, pc: 0, dst, mark, arenas: self.arenas.len() });
        Ok(Registers::new(body, base))
    }

    /// Pops the innermost frame; returns the destination of its result.
    #[inline]
    pub(super) fn leave(&mut self, program: &Program) -> Slot {
        let Some(frame) = self.frames.pop() else { return 0 };
        // SAFETY: the program keeps its bodies while it runs.
        let registers = unsafe { (*frame.body).registers };
        for register in 0..registers {
            // SAFETY: the frame's registers are initialized and owned by it, and are not read again.
            let value = unsafe { frame.base.add(register).read() };
            self.discard(program, value);
        }
        if self.arenas.len() > frame.arenas {
            self.close_arenas(program, frame.arenas);
        }
        self.stack.pop(frame.mark);
        frame.dst
    }

    /// The innermost frame, and its current step.
    #[inline]
    pub(super) fn caller<'p>(&self) -> Option<(Registers<'p>, usize)> {
        let frame = self.frames.last()?;
        // SAFETY: the program, borrowed for 'p by the code that runs the machine, owns its bodies.
        Some((Registers::new(unsafe { &*frame.body }, frame.base), frame.pc as usize))
    }

    /// Stores the current step of the innermost frame.
    #[inline]
    pub(super) fn save(&mut self, pc: usize) {
        if let Some(frame) = self.frames.last_mut() {
            frame.pc = pc as u32;
        }
    }

    /// Function of the innermost frame.
    pub(super) fn function(&self) -> u32 {
        self.frames.last().map_or(0, Frame::function)
    }

    /// Drops a value, or caches it if it is a tensor whose memory can be reused.
    #[inline(always)]
    pub(super) fn discard(&mut self, program: &Program, value: Any) {
        if value.is_object() {
            self.discard_object(program, value);
        }
    }

    #[inline]
    fn discard_object(&mut self, program: &Program, value: Any) {
        if is_tensor(&value)
            && let Some(plan) = value.get::<&Tensor>().and_then(Tensor::unique_plan)
            && let Some(plan) = program.own_plan(plan)
            && let Some(spare) = self.spare.get_mut(plan)
            && spare.len() < MAX_SPARE
            && let Some(tensor) = value.into_tensor()
        {
            spare.push(tensor);
        }
    }

    /// Allocates a tensor by plan.
    #[inline]
    pub(super) fn allocate(
        &mut self,
        program: &Program,
        frame: &Registers<'_>,
        heap: Slot,
        plan: u32,
    ) -> Result<Tensor, Error> {
        let number = frame.body.allocs[plan as usize];
        let plan = &program.plans[number as usize];
        if let Some(mut tensor) = self.spare[number as usize].pop() {
            let size = |axis: usize| size(frame, heap, plan.alloc.shape[axis]).unwrap_or(-1);
            if plan.is_static || tensor.refit(plan.alloc.offset, size) {
                return Ok(tensor);
            }
        }
        self.allocate_new(program, frame, heap, number)
    }

    #[cold]
    fn allocate_new(
        &mut self,
        program: &Program,
        frame: &Registers<'_>,
        heap: Slot,
        number: u32,
    ) -> Result<Tensor, Error> {
        let AllocPlan { storage, shape, .. } = &program.plans[number as usize].alloc;
        let mut known = std::mem::take(&mut self.sizes);
        known.clear();
        let sizes = storage.iter().chain(shape).map(|of| size(frame, heap, *of));
        let no_heap = || Error::value("sizes are read from outside the shape heap");
        sizes.into_iter().try_for_each(|size| size.map(|size| known.push(size))).ok_or_else(no_heap)?;
        let tensor = self.allocate_sizes(program, number, &known[..storage.len()], &known[storage.len()..]);
        self.sizes = known;
        tensor
    }

    fn allocate_sizes(
        &mut self,
        program: &Program,
        number: u32,
        storage: &[i64],
        shape: &[i64],
    ) -> Result<Tensor, Error> {
        let AllocPlan { device, storage_dtype, offset, dtype, .. } = program.plans[number as usize].alloc;
        // Before computing the size in bytes, which is meaningless for negative sizes.
        expect_sizes(shape, dtype)?;
        let storage = Storage::new(self.block(program, device, storage_bytes(storage, storage_dtype)?)?);
        Ok(match program.options.allocator {
            AllocatorKind::Naive => storage.tensor(dtype, shape, offset)?,
            AllocatorKind::Pooled => storage.planned(dtype, shape, offset, program.plan_key(number))?,
        })
    }

    /// Allocates a block on a device of the program, after releasing cached memory if necessary.
    fn block(&mut self, program: &Program, device: i64, bytes: usize) -> Result<Block, Error> {
        let allocator = program.allocator(device)?;
        match allocator.alloc(bytes) {
            Err(error) if error.kind() == kind::MEMORY && self.trim() => allocator.alloc(bytes),
            other => other,
        }
    }

    /// Opens an arena by plan, and copies its tensors to their slots without adding references: it stays open until the
    /// frame is left.
    #[inline]
    pub(super) fn open_arena(&mut self, program: &Program, frame: &Registers<'_>, plan: u32) -> Result<(), Error> {
        let number = frame.body.arenas[plan as usize];
        let arena = match self.spare_arenas[number as usize].pop() {
            Some(arena) => arena,
            None => self.make_arena(program, number)?,
        };
        let first = frame.at(program.arenas[number as usize].first);
        // SAFETY: folding reserved one slot of the pool for each tensor, and their values are never dropped.
        unsafe { first.copy_from_nonoverlapping(arena.tensors.as_ptr(), arena.tensors.len()) };
        self.arenas.push(arena);
        Ok(())
    }

    #[cold]
    fn make_arena(&mut self, program: &Program, number: u32) -> Result<Arena, Error> {
        let ArenaPlan { device, storage, storage_dtype, tensors, .. } = &program.arenas[number as usize];
        let storage = Storage::new(self.block(program, *device, storage_bytes(storage, *storage_dtype)?)?);
        let tensor = |plan: &SuballocPlan| storage.tensor_of(plan.dtype, &plan.shape, plan.offset, plan.bytes);
        let tensors = tensors.iter().map(|plan| tensor(plan).map(Any::from)).collect::<Result<_, _>>()?;
        Ok(Arena { number, storage, tensors })
    }

    /// Caches the arenas of a frame, except those that are still referenced.
    fn close_arenas(&mut self, program: &Program, before: usize) {
        let is_pooled = program.options.allocator == AllocatorKind::Pooled;
        for arena in self.arenas.drain(before..) {
            let spare = &mut self.spare_arenas[arena.number as usize];
            if is_pooled && arena.is_unused() && spare.len() < MAX_SPARE {
                spare.push(arena);
            }
        }
    }

    /// Total size of cached storage on a device, which the allocators count as used.
    pub(super) fn spare_bytes(&self, device: crate::Device) -> usize {
        let tensors = self.spare.iter().flatten().filter(|tensor| tensor.device() == device);
        let arenas = self.spare_arenas.iter().flatten().map(|arena| arena.storage.block());
        let arenas: usize = arenas.filter(|block| block.device() == device).map(Block::size).sum();
        let workspace = if device.is_host() { self.workspace.size() } else { 0 };
        workspace + arenas + tensors.map(Tensor::planned_bytes).sum::<usize>()
    }

    /// Releases cached memory; returns true if there was any.
    pub(super) fn trim(&mut self) -> bool {
        let arenas = self.spare_arenas.iter().any(|arenas| !arenas.is_empty());
        let any = arenas || self.spare.iter().any(|tensors| !tensors.is_empty());
        self.spare.iter_mut().for_each(Vec::clear);
        self.spare_arenas.iter_mut().for_each(Vec::clear);
        self.workspace.release() || any
    }

    /// Pops all frames and adds them to the error's stack trace. Calls `left` for each, with its function.
    #[cold]
    pub(super) fn unwind(&mut self, program: &Program, left: impl Fn(u32), mut error: Error) -> Error {
        let count = self.frames.len();
        for (i, frame) in self.frames.iter().rev().enumerate() {
            if i < MAX_TRACE_FRAMES || count - i <= MAX_TRACE_FRAMES {
                let location = frame.location(program);
                error.push_trace(TraceEntry { function: program.name(frame.function()).to_owned(), location });
            } else if i == MAX_TRACE_FRAMES {
                let function = format!("… {} more calls …", count - 2 * MAX_TRACE_FRAMES);
                error.push_trace(TraceEntry { function, location: None });
            }
        }
        while !self.frames.is_empty() {
            left(self.function());
            self.leave(program);
        }
        self.transfer.clear();
        error
    }
}

#[cold]
fn too_deep(program: &Program, function: u32) -> Error {
    let name = program.name(function);
    let message = format!("calls are nested more than {} deep, at `{name}`", program.options.max_depth);
    Error::new(kind::RECURSION, message)
}

#[inline(always)]
fn size(frame: &Registers<'_>, heap: Slot, size: Size) -> Option<i64> {
    match size {
        Size::Static(size) => Some(size),
        // SAFETY: `heap` returns addresses in a heap, which belongs to one call of one function and is only used by its
        // thread.
        Size::Heap(index) => frame.heap(heap, index).map(|address| unsafe { address.read() }),
    }
}

impl Arena {
    /// Returns true if only the arena refers to its memory.
    fn is_unused(&self) -> bool {
        let unique = |tensor: &Any| tensor.get::<&Tensor>().is_some_and(Tensor::is_unique);
        self.storage.ref_count() as usize == self.tensors.len() + 1 && self.tensors.iter().all(unique)
    }
}

impl Frame {
    /// Index of its function.
    fn function(&self) -> u32 {
        // SAFETY: the program keeps its bodies while it runs.
        unsafe { (*self.body).function }
    }

    fn location(&self, program: &Program) -> Option<Location> {
        // SAFETY: the program keeps its bodies while it runs.
        let origin = unsafe { &(*self.body).origins }.get(self.pc as usize)?;
        program.image.sources.locate(*origin as usize)
    }
}

/// Frames are only left after a panic.
impl Drop for Machine {
    fn drop(&mut self) {
        while let Some(frame) = self.frames.pop() {
            // SAFETY: the program outlives its machines' calls, and the registers are initialized and owned by the
            // frame.
            unsafe {
                let registers = std::ptr::slice_from_raw_parts_mut(frame.base, (*frame.body).registers);
                std::ptr::drop_in_place(registers);
            }
        }
    }
}
