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
}

/// What a function value stands for.
enum Callee {
    Native(SafeCall, *mut c_void),
    /// With all its arguments.
    Bytecode(u32, Vec<Any>),
}

impl Registers<'_> {
    fn at(&self, slot: Slot) -> *mut Any {
        // SAFETY: the decoder gives out only slots of the frame.
        unsafe { self.base.add(slot as usize) }
    }

    fn get(&self, slot: Slot) -> &Any {
        // SAFETY: registers and pool are initialized when the frame is entered, and nothing writes to a slot while
        // a reference from here is in use.
        unsafe { &*self.at(slot) }
    }

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

    fn slots(&self, args: Slots) -> &[Slot] {
        &self.body.slots[args.start as usize..][..args.count as usize]
    }

    /// Copies arguments, without a claim, into the frame's scratch space.
    fn gather(&self, args: Slots) -> &[Any] {
        // SAFETY: the scratch space behind the pool has room for the arguments of every call of the function; its
        // contents are never dropped and stay as they are until the next call of this frame.
        unsafe {
            let scratch = self.base.add(self.body.registers + self.body.pool.len());
            for (i, slot) in self.slots(args).iter().enumerate() {
                scratch.add(i).cast::<ManuallyDrop<Any>>().write(self.get(*slot).alias());
            }
            std::slice::from_raw_parts(scratch, args.count as usize)
        }
    }

    fn clone_args(&self, args: Slots) -> Vec<Any> {
        self.slots(args).iter().map(|slot| self.get(*slot).clone()).collect()
    }

    fn call_native(&self, call: SafeCall, handle: *mut c_void, dst: Slot, args: Slots) -> Result<(), Error> {
        let args = self.gather(args);
        // SAFETY: whoever resolved the function vouched for its convention; the program keeps it alive.
        let result = unsafe { ffi::invoke(call, handle, args) }?;
        self.set(dst, result);
        Ok(())
    }

    /// The function value that is the second of the arguments.
    fn callee(&self, program: &Program, args: Slots) -> Result<Callee, Error> {
        let callee = self.get(self.slots(args)[1]);
        if let Some(function) = callee.get::<&Function>() {
            return Ok(Callee::Native(function.safe_call(), function.handle()));
        }
        let closure = program.own_closure(callee)?;
        let mut values = self.clone_args(args.skip(2));
        values.extend_from_slice(closure.bound());
        match &program.functions[closure.function() as usize] {
            Callable::Bytecode(body) => program.check_arity(closure.function() as usize, body, values.len())?,
            Callable::Native(_) => return Err(Error::new(kind::INTERNAL, "closures are of bytecode only")),
        }
        Ok(Callee::Bytecode(closure.function(), values))
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
            match frame.body.ops[pc] {
                Op::Call { call, handle, dst, args } => match frame.call_native(call, handle, dst, args) {
                    Ok(()) => pc += 1,
                    Err(error) => break error,
                },
                Op::CheckedCall { call, handle, dst, args, signature } => {
                    let signature = &program.image.kernels[signature as usize];
                    let checked = signature.check(frame.gather(args));
                    match checked.and_then(|()| frame.call_native(call, handle, dst, args)) {
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
                    let args = frame.clone_args(args);
                    let dst = self.leave();
                    (frame, pc) = (self.enter(program, function, args, dst)?, 0);
                }
                Op::InvokeValue { dst, args, tail } => {
                    self.save(pc);
                    match frame.callee(program, args) {
                        Ok(Callee::Native(call, handle)) => match frame.call_native(call, handle, dst, args.skip(2)) {
                            Ok(()) => pc += 1,
                            Err(error) => break error,
                        },
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
        args: Vec<Any>,
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
        let count = args.len().min(body.registers);
        // SAFETY: the frame has room for registers and pool. A none is all zeroes. The pool's values are copied
        // without a claim: the program keeps them alive while it runs.
        unsafe {
            for (i, arg) in args.into_iter().take(count).enumerate() {
                base.add(i).write(arg);
            }
            base.add(count).write_bytes(0, body.registers - count);
            base.add(body.registers).copy_from_nonoverlapping(body.pool.as_ptr(), body.pool.len());
        }
        self.frames.push(Frame { base, registers: body.registers, function, pc: 0, dst, mark });
        Ok(Registers { body, base })
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
            Callable::Bytecode(body) => Some((Registers { body, base: frame.base }, frame.pc)),
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
