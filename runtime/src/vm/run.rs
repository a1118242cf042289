//! The loop that runs decoded instructions.
//!
//! A [`Machine`] is what one call from outside needs: a stack of registers and a list of frames. Calls between
//! functions of bytecode push frames; the native stack does not grow. Registers own their values; the pool and the
//! scratch space of a frame hold plain copies that are never dropped.
use super::decode::{Body, NOWHERE, Op, Slot, Slots};
use super::program::{Callable, Program};
use super::stack::{Mark, Stack};
use crate::ffi::{self, Error, Location, SafeCall, TraceEntry, kind};
use crate::value::{Any, Function};
use std::ffi::c_void;
use std::mem::ManuallyDrop;

/// Frames of a failed call that its trace names at either end.
const TRACED: usize = 16;

/// A function under way.
struct Frame {
    /// Its first slot.
    base: *mut Any,
    /// How many of its slots are registers.
    registers: usize,
    function: u32,
    /// The instruction it stands at: the call under way, unless the frame is the innermost.
    pc: usize,
    /// Where in the caller's frame the result goes.
    dst: Slot,
    /// The stack before it.
    mark: Mark,
}

/// Frames and registers of one call from outside.
#[derive(Default)]
pub(super) struct Machine {
    stack: Stack,
    frames: Vec<Frame>,
}

// SAFETY: a machine's pointers lead into its own stack.
unsafe impl Send for Machine {}

/// What the loop needs of the innermost frame.
#[derive(Clone, Copy)]
struct Registers<'p> {
    body: &'p Body,
    base: *mut Any,
    /// The scratch space behind registers and pool.
    scratch: *mut Any,
}

/// What a function value stands for.
enum Callee {
    Native(SafeCall, *mut c_void),
    /// With all its arguments.
    Bytecode(u32, Vec<Any>),
}

impl<'p> Registers<'p> {
    fn new(body: &'p Body, base: *mut Any) -> Registers<'p> {
        Registers { body, base, scratch: base.wrapping_add(body.registers + body.pool.len()) }
    }

    #[inline(always)]
    fn op(&self, pc: usize) -> &'p Op {
        // SAFETY: the verifier saw to it that jumps stay within the function and that nothing runs off its end.
        unsafe { self.body.ops.get_unchecked(pc) }
    }

    #[inline(always)]
    fn at(&self, slot: Slot) -> *mut Any {
        // SAFETY: the decoder gives out only slots of the frame.
        unsafe { self.base.add(slot as usize) }
    }

    #[inline(always)]
    fn get(&self, slot: Slot) -> &Any {
        // SAFETY: registers and pool are initialized when the frame is entered, and nothing writes to a slot while
        // a reference from here is in use.
        unsafe { &*self.at(slot) }
    }

    #[inline(always)]
    fn set(&self, slot: Slot, value: Any) {
        if slot != NOWHERE {
            // SAFETY: results go to registers, which are initialized and owned by the frame.
            unsafe { *self.at(slot) = value };
        }
    }

    /// The value to return: moved out of a register, copied out of the pool.
    fn take(&self, slot: Slot) -> Any {
        match (slot as usize) < self.body.registers {
            // SAFETY: registers are initialized and owned by the frame.
            true => std::mem::take(unsafe { &mut *self.at(slot) }),
            false => self.get(slot).clone(),
        }
    }

    #[inline(always)]
    fn slots(&self, args: Slots) -> &'p [Slot] {
        // SAFETY: the decoder appended as many slots there when it made the instruction.
        unsafe { self.body.slots.get_unchecked(args.range()) }
    }

    /// Copies arguments, without a claim, into the frame's scratch space.
    #[inline(always)]
    fn gather(&self, args: Slots) -> &[Any] {
        // SAFETY: the scratch space behind the pool has room for the arguments of every call of the function; its
        // contents are never dropped and stay as they are until the next call of this frame.
        unsafe {
            for (i, slot) in self.slots(args).iter().enumerate() {
                copy_words(self.at(*slot), self.scratch.add(i));
            }
            std::slice::from_raw_parts(self.scratch, args.count as usize)
        }
    }

    fn clone_args(&self, args: Slots) -> impl Iterator<Item = Any> {
        self.slots(args).iter().map(|slot| self.get(*slot).clone())
    }

    /// Calls a function that keeps to the convention and is alive; its result goes to register `dst`, which is none
    /// of the arguments.
    #[inline(always)]
    fn call_native(&self, call: SafeCall, handle: *mut c_void, dst: Slot, args: Slots) -> Result<(), Error> {
        let args = self.gather(args);
        self.set(dst, Any::NONE);
        // SAFETY: as this function's users promise; `dst` is a register, and the scratch space is no part of the registers.
        let status = unsafe { call(handle, args.as_ptr(), args.len() as i32, self.at(dst)) };
        if status != 0 {
            return Err(ffi::take_raised());
        }
        if self.get(dst).is_borrowed() {
            self.set(dst, self.get(dst).clone());
        }
        Ok(())
    }

    /// The same when `dst` may be nowhere, or among the arguments so that it must keep its value until the call is over.
    #[inline(always)]
    fn call_native_over(&self, call: SafeCall, handle: *mut c_void, dst: Slot, args: Slots) -> Result<(), Error> {
        let args = self.gather(args);
        let mut result = Any::NONE;
        // SAFETY: as this function's users promise.
        let status = unsafe { call(handle, args.as_ptr(), args.len() as i32, &mut result) };
        if status != 0 {
            return Err(ffi::take_raised());
        }
        if result.is_borrowed() {
            result = result.clone();
        }
        if dst != NOWHERE {
            self.set(dst, Any::NONE);
            let result = ManuallyDrop::new(result);
            // SAFETY: `dst` is a register; the claim on what the result refers to passes to it.
            unsafe { copy_words(&raw const *result, self.at(dst)) };
        }
        Ok(())
    }

    /// The function value that is the second of the arguments.
    fn callee(&self, program: &Program, args: Slots) -> Result<Callee, Error> {
        let callee = self.get(self.slots(args)[1]);
        if let Some(function) = callee.get::<&Function>() {
            return Ok(Callee::Native(function.safe_call(), function.handle()));
        }
        let closure = program.own_closure(callee)?;
        let values: Vec<_> = self.clone_args(args.skip(2)).chain(closure.bound().iter().cloned()).collect();
        match &program.functions[closure.function() as usize] {
            Callable::Bytecode(body) => program.check_arity(closure.function() as usize, body, values.len())?,
            Callable::Native(_) => return Err(Error::new(kind::INTERNAL, "closures are of bytecode only")),
        }
        Ok(Callee::Bytecode(closure.function(), values))
    }
}

/// Copies a value bit by bit, as two words: functions write results word by word, and a load wider than the store
/// before it waits until that has reached the cache, which took most of a call's time.
///
/// # Safety
/// `from` is a value, and `to` has room for one. The copy has no claim on what the value refers to.
#[inline(always)]
unsafe fn copy_words(from: *const Any, to: *mut Any) {
    let (from, to) = (from.cast::<u64>(), to.cast::<u64>());
    // SAFETY: as the caller promises; values are two words. Volatile reads are not merged into one.
    unsafe {
        to.write(from.read_volatile());
        to.add(1).write(from.add(1).read_volatile());
    }
}

impl Machine {
    /// Runs a function of bytecode whose arity was checked.
    pub(super) fn call(&mut self, program: &Program, function: usize, args: Vec<Any>) -> Result<Any, Error> {
        let outcome = self.enter(program, function as u32, args, NOWHERE).and_then(|frame| self.run(program, frame));
        outcome.map_err(|error| self.unwind(program, error))
    }

    /// Runs until every frame has returned.
    fn run<'p>(&mut self, program: &'p Program, mut frame: Registers<'p>) -> Result<Any, Error> {
        let mut pc = 0;
        let error = loop {
            match *frame.op(pc) {
                Op::Call { call, handle, dst, args } => match frame.call_native(call, handle, dst, args) {
                    Ok(()) => pc += 1,
                    Err(error) => break error,
                },
                Op::CallOver { call, handle, dst, args } => match frame.call_native_over(call, handle, dst, args) {
                    Ok(()) => pc += 1,
                    Err(error) => break error,
                },
                Op::CheckedCall { call, handle, dst, args, signature } => {
                    let signature = &program.image.kernels[signature as usize];
                    let checked = signature.check(frame.gather(args));
                    match checked.and_then(|()| frame.call_native_over(call, handle, dst, args)) {
                        Ok(()) => pc += 1,
                        Err(error) => break error,
                    }
                }
                Op::Copy { dst, from } => {
                    frame.set(dst, frame.get(from).clone());
                    pc += 1;
                }
                Op::Clear { dst } => {
                    frame.set(dst, Any::NONE);
                    pc += 1;
                }
                Op::Goto { target } => pc = target as usize,
                Op::If { condition, otherwise } => match frame.get(condition).get::<i64>() {
                    Some(0) => pc = otherwise as usize,
                    Some(_) => pc += 1,
                    None => break Error::type_error(format!("{} is no condition", frame.get(condition))),
                },
                Op::Ret { value } => {
                    let result = frame.take(value);
                    let dst = self.leave();
                    match self.caller(program) {
                        Some(caller) => (frame, pc) = caller,
                        None => return Ok(result),
                    }
                    frame.set(dst, result);
                    pc += 1;
                }
                Op::Invoke { function, dst, args } => {
                    self.save(pc);
                    match self.enter(program, function, frame.clone_args(args), dst) {
                        Ok(entered) => (frame, pc) = (entered, 0),
                        Err(error) => break error,
                    }
                }
                Op::TailInvoke { function, args } => {
                    let args: Vec<_> = frame.clone_args(args).collect();
                    let dst = self.leave();
                    (frame, pc) = (self.enter(program, function, args, dst)?, 0);
                }
                Op::InvokeValue { dst, args, tail } => {
                    self.save(pc);
                    match frame.callee(program, args) {
                        Ok(Callee::Native(call, handle)) => {
                            match frame.call_native_over(call, handle, dst, args.skip(2)) {
                                Ok(()) => pc += 1,
                                Err(error) => break error,
                            }
                        }
                        Ok(Callee::Bytecode(function, args)) => {
                            let dst = if tail { self.leave() } else { dst };
                            (frame, pc) = (self.enter(program, function, args, dst)?, 0);
                        }
                        Err(error) => break error,
                    }
                }
            }
        };
        self.save(pc);
        Err(error)
    }

    /// Pushes a frame.
    fn enter<'p>(
        &mut self,
        program: &'p Program,
        function: u32,
        args: impl IntoIterator<Item = Any>,
        dst: Slot,
    ) -> Result<Registers<'p>, Error> {
        let Callable::Bytecode(body) = &program.functions[function as usize] else {
            return Err(Error::new(kind::INTERNAL, "only bytecode has frames"));
        };
        if self.frames.len() >= program.options.max_depth {
            let name = program.name(function);
            let message = format!("calls are nested more than {} deep, at `{name}`", program.options.max_depth);
            return Err(Error::new(kind::RECURSION, message));
        }
        let mark = self.stack.mark();
        let base = self.stack.push(body.frame_size, program.options.max_stack)?;
        // SAFETY: the frame has room for registers and pool. A none is all zeroes. The pool's values are copied
        // without a claim: the program keeps them alive while it runs.
        unsafe {
            base.write_bytes(0, body.registers);
            for (i, arg) in args.into_iter().take(body.registers).enumerate() {
                base.add(i).write(arg);
            }
            base.add(body.registers).copy_from_nonoverlapping(body.pool.as_ptr(), body.pool.len());
        }
        self.frames.push(Frame { base, registers: body.registers, function, pc: 0, dst, mark });
        Ok(Registers::new(body, base))
    }

    /// Pops the innermost frame; returns where its result goes.
    fn leave(&mut self) -> Slot {
        let Some(frame) = self.frames.pop() else { return NOWHERE };
        // SAFETY: the frame's registers are initialized and owned by it.
        unsafe { std::ptr::drop_in_place(std::ptr::slice_from_raw_parts_mut(frame.base, frame.registers)) };
        self.stack.pop(frame.mark);
        frame.dst
    }

    /// The innermost frame, and the instruction it was left at.
    fn caller<'p>(&self, program: &'p Program) -> Option<(Registers<'p>, usize)> {
        let frame = self.frames.last()?;
        match &program.functions[frame.function as usize] {
            Callable::Bytecode(body) => Some((Registers::new(body, frame.base), frame.pc)),
            Callable::Native(_) => None,
        }
    }

    fn save(&mut self, pc: usize) {
        if let Some(frame) = self.frames.last_mut() {
            frame.pc = pc;
        }
    }

    /// Pops every frame and notes in the error where they stood.
    fn unwind(&mut self, program: &Program, mut error: Error) -> Error {
        let count = self.frames.len();
        for (i, frame) in self.frames.iter().rev().enumerate() {
            if i < TRACED || count - i <= TRACED {
                let location = frame.location(program);
                error.push_trace(TraceEntry { function: program.name(frame.function).to_owned(), location });
            } else if i == TRACED {
                let function = format!("… {} more calls …", count - 2 * TRACED);
                error.push_trace(TraceEntry { function, location: None });
            }
        }
        while !self.frames.is_empty() {
            self.leave();
        }
        error
    }
}

impl Frame {
    fn location(&self, program: &Program) -> Option<Location> {
        match &program.functions[self.function as usize] {
            Callable::Bytecode(body) => program.image.sources.locate(body.start + self.pc),
            Callable::Native(_) => None,
        }
    }
}

/// After a panic; calls leave no frames behind otherwise.
impl Drop for Machine {
    fn drop(&mut self) {
        while !self.frames.is_empty() {
            self.leave();
        }
    }
}
