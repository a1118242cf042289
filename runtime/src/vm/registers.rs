//! The frame that the loop works on.
use super::decode::{Body, Callee, Op};
use crate::executable::compact::{MOVED, Slot, Slots};
use crate::ffi::{self, Error};
use crate::value::{Any, Tensor};
use crate::{DType, value::index};

/// What the loop needs of the innermost frame.
#[derive(Clone, Copy)]
pub(super) struct Registers<'p> {
    pub(super) body: &'p Body,
    pub(super) base: *mut Any,
    ops: *const Op,
    /// The scratch space behind registers and pool.
    scratch: *mut Any,
}

impl<'p> Registers<'p> {
    /// The frame of a function at its first slot.
    pub(super) fn new(body: &'p Body, base: *mut Any) -> Registers<'p> {
        let scratch = base.wrapping_add(body.registers + body.pool.len());
        Registers { body, base, ops: body.ops.as_ptr(), scratch }
    }

    /// A step of the function.
    #[inline(always)]
    pub(super) fn op(&self, pc: usize) -> &'p Op {
        // SAFETY: the verifier saw to it that jumps stay within the function and that nothing runs off its end.
        unsafe { &*self.ops.add(pc) }
    }

    /// Where a slot is.
    #[inline(always)]
    pub(super) fn at(&self, slot: Slot) -> *mut Any {
        // SAFETY: folding gives out only slots of the frame.
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
        // SAFETY: the slot is a register of the frame; overwriting none loses nothing.
        unsafe { self.at(slot).write(value) };
    }

    /// Takes a register's value, leaving none.
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

    /// A part of the function's list of slots.
    #[inline(always)]
    pub(super) fn slots(&self, args: Slots) -> &'p [Slot] {
        // SAFETY: folding appended as many slots there when it made the step.
        unsafe { self.body.slots.get_unchecked(args.range()) }
    }

    /// The registers to clear after a call.
    #[inline(always)]
    pub(super) fn kills(&self, args: Slots) -> &'p [Slot] {
        // SAFETY: folding put their number behind the arguments of every call, and them behind it.
        unsafe {
            let end = (args.start + args.count) as usize;
            let count = *self.body.slots.get_unchecked(end) as usize;
            self.body.slots.get_unchecked(end + 1..end + 1 + count)
        }
    }

    /// Copies arguments of which none is moved, without a claim, into the frame's scratch space.
    #[inline(always)]
    pub(super) fn gather(&self, args: Slots) -> &[Any] {
        // SAFETY: the scratch space behind the pool has room for the arguments of every call of the function; its
        // contents are never dropped and stay as they are until the next call of this frame.
        unsafe {
            for (i, slot) in self.slots(args).iter().enumerate() {
                copy_words(self.at(*slot), self.scratch.add(i));
            }
            std::slice::from_raw_parts(self.scratch, args.count as usize)
        }
    }

    /// The arguments of a call of bytecode, moved where the callee may have them.
    #[inline(always)]
    pub(super) fn pass(&self, args: Slots) -> impl Iterator<Item = Any> {
        let frame = *self;
        self.slots(args).iter().map(move |slot| match slot & MOVED {
            0 => frame.get(*slot).clone(),
            _ => frame.take(slot & !MOVED),
        })
    }

    /// Calls a function that keeps to the convention and is alive; its result goes to register `dst`, which holds none
    /// and is none of the arguments.
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

    /// Makes a result that other code left borrowed the register's own.
    #[cold]
    fn own(&self, dst: Slot) -> Result<(), Error> {
        self.fill(dst, self.get(dst).owned()?);
        Ok(())
    }

    /// Calls such a function with the arguments in the scratch space; its result goes to a place that holds no object.
    #[inline(always)]
    pub(super) fn call_gathered(&self, callee: Callee, count: u32, result: *mut Any) -> i32 {
        // SAFETY: as this function's users promise; the scratch space is no part of the registers.
        unsafe { (callee.call)(callee.handle, self.scratch, count as i32, result) }
    }

    /// Calls a function that keeps to the convention and is alive; returns its result.
    #[inline(always)]
    pub(super) fn call(&self, callee: Callee, args: Slots) -> Result<Any, Error> {
        // SAFETY: as this function's users promise.
        unsafe { ffi::invoke(callee.call, callee.handle, self.gather(args)) }
    }

    /// A number in the heap of sizes that a slot holds, if it does hold a heap with such a place.
    #[inline(always)]
    pub(super) fn heap(&self, heap: Slot, place: u32) -> Option<*mut i64> {
        let dl = self.get(heap).get::<&Tensor>()?.as_dl();
        // SAFETY: a tensor's description holds as many sizes as it has dimensions.
        let in_bounds = dl.ndim == 1 && i64::from(place) < unsafe { *dl.shape };
        // SAFETY: as above; strides may be missing.
        let dense = dl.strides.is_null() || unsafe { *dl.strides } == 1;
        let fits = in_bounds && dense && dl.dtype == DType::INT64 && dl.device.is_host() && dl.byte_offset == 0;
        let first = dl.data.cast::<i64>();
        (fits && first.is_aligned()).then(|| first.wrapping_add(place as usize))
    }
}

/// Copies a value bit by bit, as two words: functions write results word by word, and a load wider than the store
/// before it waits until that has reached the cache, which took most of a call's time.
///
/// # Safety
/// `from` is a value, and `to` has room for one. The copy has no claim on what the value refers to.
#[inline(always)]
pub(super) unsafe fn copy_words(from: *const Any, to: *mut Any) {
    // Pointers, since an integer would not be one to what the value refers to.
    let (from, to) = (from.cast::<*const ()>(), to.cast::<*const ()>());
    const { assert!(size_of::<Any>() == 2 * size_of::<*const ()>()) };
    // SAFETY: as the caller promises; values are two words. Volatile reads are not merged into one.
    unsafe {
        to.write(from.read_volatile());
        to.add(1).write(from.add(1).read_volatile());
    }
}

/// Is it a tensor object?
#[inline(always)]
pub(super) fn is_tensor(value: &Any) -> bool {
    value.type_index() == index::TENSOR
}
