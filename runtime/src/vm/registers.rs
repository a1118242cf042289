//! Access to the current frame.
use super::decode::{Body, Callee, Op};
use crate::executable::compact::{MOVED, Slot, Slots};
use crate::ffi::{self, Error};
use crate::value::{Any, Tensor};
use crate::{DType, value::index};

/// View of the innermost frame.
#[derive(Clone, Copy)]
pub(super) struct Registers<'p> {
    pub(super) body: &'p Body,
    pub(super) base: *mut Any,
    ops: *const Op,
    /// The scratch space after registers and pool.
    scratch: *mut Any,
}

impl<'p> Registers<'p> {
    /// The frame of a function, given its first slot.
    pub(super) fn new(body: &'p Body, base: *mut Any) -> Registers<'p> {
        let scratch = base.wrapping_add(body.registers + body.pool.len());
        Registers { body, base, ops: body.ops.as_ptr(), scratch }
    }

    /// A step of the function.
    #[inline(always)]
    pub(super) fn op(&self, pc: usize) -> &'p Op {
        // SAFETY: the verifier checked that jumps stay in the function and that the end is not reached.
        unsafe { &*self.ops.add(pc) }
    }

    /// Address of a slot.
    #[inline(always)]
    pub(super) fn at(&self, slot: Slot) -> *mut Any {
        // SAFETY: folding only assigns slots of the frame.
        unsafe { self.base.add(slot as usize) }
    }

    /// The value of a slot.
    #[inline(always)]
    pub(super) fn get(&self, slot: Slot) -> &Any {
        // SAFETY: registers and pool are initialized when the frame is entered, and nothing writes to a slot while
        // a reference from here is in use.
        unsafe { &*self.at(slot) }
    }

    /// Writes a value to a register that holds none.
    #[inline(always)]
    pub(super) fn fill(&self, slot: Slot, value: Any) {
        // SAFETY: the slot is a register of the frame; overwriting the none value leaks nothing.
        unsafe { self.at(slot).write(value) };
    }

    /// Takes a register's value and leaves none.
    #[inline(always)]
    pub(super) fn take(&self, slot: Slot) -> Any {
        // SAFETY: registers are initialized and owned by the frame.
        unsafe {
            let value = self.at(slot).read();
            self.at(slot).write(Any::NONE);
            value
        }
    }

    /// The value to return: moved out of a register, copied out of the pool.
    #[inline(always)]
    pub(super) fn take_or_clone(&self, slot: Slot) -> Any {
        if (slot as usize) < self.body.registers { self.take(slot) } else { self.get(slot).clone() }
    }

    /// A range of the function's slot list.
    #[inline(always)]
    pub(super) fn slots(&self, args: Slots) -> &'p [Slot] {
        // SAFETY: folding appended that range when it created the step.
        unsafe { self.body.slots.get_unchecked(args.range()) }
    }

    /// The registers to clear after a call.
    #[inline(always)]
    pub(super) fn kills(&self, args: Slots) -> &'p [Slot] {
        // SAFETY: folding put their number after the arguments of every call, followed by them.
        unsafe {
            let end = (args.start + args.count) as usize;
            let count = *self.body.slots.get_unchecked(end) as usize;
            self.body.slots.get_unchecked(end + 1..end + 1 + count)
        }
    }

    /// Copies arguments, none of which is moved, to the frame's scratch space without adding references.
    #[inline(always)]
    pub(super) fn gather(&self, args: Slots) -> &[Any] {
        // SAFETY: the scratch space after the pool has room for the arguments of every call of the function; its
        // contents are never dropped and do not change until the next call of this frame.
        unsafe {
            for (i, slot) in self.slots(args).iter().enumerate() {
                copy_words(self.at(*slot), self.scratch.add(i));
            }
            std::slice::from_raw_parts(self.scratch, args.count as usize)
        }
    }

    /// The arguments of a call of bytecode; those marked as moved are taken.
    #[inline(always)]
    pub(super) fn pass(&self, args: Slots) -> impl Iterator<Item = Any> {
        let frame = *self;
        self.slots(args).iter().map(move |slot| match slot & MOVED {
            0 => frame.get(*slot).clone(),
            _ => frame.take(slot & !MOVED),
        })
    }

    /// Calls a live function that follows the convention; its result goes to register `dst`, which holds none and is
    /// not an argument.
    #[inline(always)]
    pub(super) fn call_into(&self, callee: Callee, dst: Slot, args: Slots) -> Result<(), Error> {
        self.gather(args);
        if self.call_gathered(callee, args.count, self.at(dst)) != 0 {
            return Err(ffi::take_raised());
        }
        if self.get(dst).is_borrowed() {
            return self.own(dst);
        }
        Ok(())
    }

    /// Copies a borrowed result.
    #[cold]
    fn own(&self, dst: Slot) -> Result<(), Error> {
        self.fill(dst, self.get(dst).owned()?);
        Ok(())
    }

    /// Calls such a function with the arguments in the scratch space; the destination of its result must not hold an
    /// object.
    #[inline(always)]
    pub(super) fn call_gathered(&self, callee: Callee, count: u32, result: *mut Any) -> i32 {
        // SAFETY: as this function's users promise; the scratch space does not overlap the registers.
        unsafe { (callee.call)(callee.handle, self.scratch, count as i32, result) }
    }

    /// Calls a live function that follows the convention; returns its result.
    #[inline(always)]
    pub(super) fn call(&self, callee: Callee, args: Slots) -> Result<Any, Error> {
        // SAFETY: as this function's users promise.
        unsafe { ffi::invoke(callee.call, callee.handle, self.gather(args)) }
    }

    /// The address of an entry of the shape heap in a slot, if the slot holds a heap with that entry.
    #[inline(always)]
    pub(super) fn heap(&self, heap: Slot, index: u32) -> Option<*mut i64> {
        let dl = self.get(heap).get::<&Tensor>()?.as_dl();
        // SAFETY: a `DLTensor` has `ndim` sizes.
        let in_bounds = dl.ndim == 1 && i64::from(index) < unsafe { *dl.shape };
        // SAFETY: as above; strides may be null.
        let dense = dl.strides.is_null() || unsafe { *dl.strides } == 1;
        let fits = in_bounds && dense && dl.dtype == DType::INT64 && dl.device.is_host() && dl.byte_offset == 0;
        let first = dl.data.cast::<i64>();
        (fits && first.is_aligned()).then(|| first.wrapping_add(index as usize))
    }
}

/// Copies a value bitwise, as two words. Functions write results word by word, and a wider load after these stores
/// would stall on store forwarding, which dominated the time of a call.
///
/// # Safety
/// `from` is a value, and `to` has space for one. The copy does not count as a reference.
#[inline(always)]
pub(super) unsafe fn copy_words(from: *const Any, to: *mut Any) {
    // Pointers, because integers would lose their provenance.
    let (from, to) = (from.cast::<*const ()>(), to.cast::<*const ()>());
    const { assert!(size_of::<Any>() == 2 * size_of::<*const ()>()) };
    // SAFETY: as the caller promises; values are two words. Volatile reads are not merged into one.
    unsafe {
        to.write(from.read_volatile());
        to.add(1).write(from.add(1).read_volatile());
    }
}

/// Returns true for tensor objects.
#[inline(always)]
pub(super) fn is_tensor(value: &Any) -> bool {
    value.type_index() == index::TENSOR
}
