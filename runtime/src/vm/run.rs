//! The interpreter loop.
use super::decode::{Body, Callee, Op};
use super::instrument::Instrument;
use super::interrupt;
use super::machine::Machine;
use super::program::Program;
use super::registers::Registers;
use super::{check, condition, current};
use crate::executable::compact::{Slot, Slots, SuballocPlan};
use crate::ffi::{self, Args, Error, kind};
use crate::value::{Any, Function, Storage, Tensor, index};
use std::sync::atomic::AtomicU8;

/// Context of a run, in addition to the machine.
pub(super) struct Run<'p> {
    pub(super) program: &'p Program,
    /// Bodies by index of the function table.
    pub(super) bodies: &'p [Option<Body>],
    /// Set when the call is interrupted.
    pub(super) flag: &'p AtomicU8,
    /// The instrument, if one is set.
    pub(super) instrument: Option<&'p dyn Instrument>,
}

/// The callee of a function value.
enum FunctionValue {
    Native(Function),
    /// A bytecode function with all its arguments.
    Bytecode(u32, Vec<Any>),
}

impl Machine {
    /// Runs a bytecode function; the caller has checked the number of arguments.
    pub(super) fn call(&mut self, run: &Run<'_>, function: usize, args: &[Any]) -> Result<Any, Error> {
        let entered = self.enter(run.program, function as u32, args.iter().cloned(), 0, run.bodies);
        run.entered(function as u32);
        let outcome = entered.and_then(|frame| match &run.instrument {
            Some(_) => self.run::<true, true>(run, frame),
            None if cfg!(feature = "cuda") && run.program.is_on_device => self.run::<false, true>(run, frame),
            None => self.run::<false, false>(run, frame),
        });
        outcome.map_err(|error| self.unwind(run.program, |function| run.left(function), error))
    }

    /// Runs until every frame has returned. If `LOCATED`, calls are noted for errors that show after them.
    fn run<'p, const INSTRUMENTED: bool, const LOCATED: bool>(
        &mut self,
        run: &Run<'p>,
        mut frame: Registers<'p>,
    ) -> Result<Any, Error> {
        let program = run.program;
        let mut pc = 0;
        // Evaluates a step that may fail; on failure, saves the current step for the stack trace.
        macro_rules! attempt {
            ($outcome:expr) => {
                match $outcome {
                    Ok(value) => value,
                    Err(error) => break error,
                }
            };
        }
        // Notes the call of a native function.
        macro_rules! locate {
            () => {
                if LOCATED {
                    current::set_site(program, frame.body.function, frame.body.origins[pc]);
                }
            };
        }
        let error = loop {
            match *frame.op(pc) {
                Op::CallVoid { callee, args } if !INSTRUMENTED => {
                    attempt!(run.check_interrupt());
                    locate!();
                    attempt!(self.call_void(&frame, callee, args));
                    self.kill(program, &frame, args);
                    pc += 1;
                }
                Op::Call { callee, dst, args } if !INSTRUMENTED => {
                    attempt!(run.check_interrupt());
                    locate!();
                    self.put(program, &frame, dst, Any::NONE);
                    attempt!(frame.call_into(callee, dst, args));
                    self.kill(program, &frame, args);
                    pc += 1;
                }
                Op::CheckedCall { kernel, args } if !INSTRUMENTED => {
                    attempt!(run.check_interrupt());
                    locate!();
                    attempt!(self.checked_call(program, &frame, kernel, args));
                    pc += 1;
                }
                ref op @ (Op::CallVoid { .. } | Op::Call { .. } | Op::CallOver { .. } | Op::CheckedCall { .. }) => {
                    attempt!(run.check_interrupt());
                    locate!();
                    let result = attempt!(run.call_instrumented(&frame, pc, || call(program, &frame, op)));
                    self.called(program, &frame, op, result);
                    pc += 1;
                }
                Op::Alloc { dst, heap, plan } => {
                    let tensor = attempt!(self.allocate(program, &frame, heap, plan));
                    self.put(program, &frame, dst, tensor.into());
                    pc += 1;
                }
                Op::Suballoc { dst, storage, plan } => {
                    let tensor = attempt!(suballocate(&frame, storage, plan));
                    self.put(program, &frame, dst, tensor.into());
                    pc += 1;
                }
                Op::Arena { plan } => {
                    attempt!(self.open_arena(program, &frame, plan));
                    pc += 1;
                }
                Op::Check { value, heap, plan } => {
                    if !check::holds(&frame, value, heap, plan) {
                        attempt!(check::explain(program, &frame, plan));
                    }
                    pc += 1;
                }
                Op::Copy { dst, from } => {
                    self.put(program, &frame, dst, frame.get(from).clone());
                    pc += 1;
                }
                Op::Move { dst, from } => {
                    self.put(program, &frame, dst, frame.take(from));
                    pc += 1;
                }
                Op::Clear { dst } => {
                    self.put(program, &frame, dst, Any::NONE);
                    pc += 1;
                }
                Op::Goto { target } => pc = target as usize,
                Op::Loop { target } => {
                    attempt!(run.check_interrupt());
                    pc = target as usize;
                }
                Op::If { condition, otherwise } => match frame.get(condition).get::<i64>() {
                    Some(0) => pc = otherwise as usize,
                    Some(_) => pc += 1,
                    None => break condition::not_a_condition(frame.get(condition)),
                },
                Op::Test { condition, otherwise } => {
                    pc = if attempt!(condition::holds(frame.get(condition))) { pc + 1 } else { otherwise as usize };
                }
                Op::Native { entry } => {
                    let status = self.native(run, &frame, entry);
                    if status < 0 {
                        pc = !status as usize;
                        break ffi::take_raised();
                    }
                    pc = status as usize;
                }
                Op::Ret { value } => {
                    let result = frame.take_or_clone(value);
                    run.left(self.function());
                    let dst = self.leave(program);
                    match self.caller() {
                        Some(caller) => (frame, pc) = caller,
                        None => return Ok(result),
                    }
                    attempt!(run.returned(&frame, pc, &result));
                    self.put(program, &frame, dst, result);
                    pc += 1;
                }
                Op::Invoke { function, dst, args } => {
                    attempt!(run.check_interrupt());
                    if INSTRUMENTED && attempt!(self.is_skipped(run, &frame, pc, dst)) {
                        pc += 1;
                        continue;
                    }
                    self.save(pc);
                    let entered = self.enter(program, function, frame.pass(args), dst, run.bodies);
                    (frame, pc) = (attempt!(entered), 0);
                    run.entered(function);
                }
                Op::TailInvoke { function, args } => {
                    attempt!(run.check_interrupt());
                    let mut transfer = std::mem::take(&mut self.transfer);
                    transfer.extend(frame.pass(args));
                    let dst = self.leave(program);
                    let entered = self.enter(program, function, transfer.drain(..), dst, run.bodies);
                    self.transfer = transfer;
                    // The caller's frame is gone, and the one before it is unchanged.
                    (frame, pc) = (entered?, 0);
                }
                Op::InvokeValue { dst, args, tail } => {
                    attempt!(run.check_interrupt());
                    if INSTRUMENTED && attempt!(self.is_skipped(run, &frame, pc, dst)) {
                        pc += 1;
                        continue;
                    }
                    self.save(pc);
                    match attempt!(function_value(program, run.bodies, &frame, args)) {
                        FunctionValue::Native(function) => {
                            let result = attempt!(function.call(frame.gather(args.skip(2))));
                            attempt!(run.returned(&frame, pc, &result));
                            self.put(program, &frame, dst, result);
                            pc += 1;
                        }
                        FunctionValue::Bytecode(function, args) => {
                            let dst = if tail { self.leave(program) } else { dst };
                            let entered = self.enter(program, function, args, dst, run.bodies);
                            (frame, pc) = (entered?, 0);
                            run.entered(function);
                        }
                    }
                }
            }
        };
        self.save(pc);
        Err(error)
    }

    /// Notifies the instrument before a call. If it returns a value, that value becomes the result and the call is
    /// skipped.
    fn is_skipped(&mut self, run: &Run<'_>, frame: &Registers<'_>, pc: usize, dst: Slot) -> Result<bool, Error> {
        let Some(instead) = run.before(frame, pc)? else { return Ok(false) };
        self.put(run.program, frame, dst, instead);
        Ok(true)
    }

    /// Replaces the value of a register.
    #[inline(always)]
    pub(super) fn put(&mut self, program: &Program, frame: &Registers<'_>, dst: Slot, value: Any) {
        let old = frame.take(dst);
        frame.fill(dst, value);
        self.discard(program, old);
    }

    #[inline(always)]
    pub(super) fn kill(&mut self, program: &Program, frame: &Registers<'_>, args: Slots) {
        for register in frame.kills(args) {
            let value = frame.take(*register);
            self.discard(program, value);
        }
    }

    /// Calls a native function and discards its result.
    #[inline(always)]
    fn call_void(&mut self, frame: &Registers<'_>, callee: Callee, args: Slots) -> Result<(), Error> {
        frame.gather(args);
        self.call_void_gathered(frame, callee, args)
    }

    /// Like `call_void`, with arguments that are already in the scratch space.
    #[inline(always)]
    fn call_void_gathered(&mut self, frame: &Registers<'_>, callee: Callee, args: Slots) -> Result<(), Error> {
        let status = frame.call_gathered(callee, args.count, &mut self.discarded);
        if status != 0 || self.discarded.type_index() >= index::DL_TENSOR_PTR {
            self.discarded = Any::NONE;
        }
        if status == 0 { Ok(()) } else { Err(ffi::take_raised()) }
    }

    /// Calls a kernel after checking its arguments.
    #[inline]
    fn checked_call(
        &mut self,
        program: &Program,
        frame: &Registers<'_>,
        kernel: u32,
        args: Slots,
    ) -> Result<(), Error> {
        let kernel = &frame.body.kernels[kernel as usize];
        program.check_arguments(kernel, frame.gather(args))?;
        match &kernel.call {
            Op::CallVoid { callee, .. } => {
                self.call_void_gathered(frame, *callee, args)?;
                self.kill(program, frame, args);
            }
            op => {
                let result = call(program, frame, op)?;
                self.called(program, frame, op, result);
            }
        }
        Ok(())
    }

    /// Handles the result of a native call.
    #[inline]
    pub(super) fn called(&mut self, program: &Program, frame: &Registers<'_>, op: &Op, result: Any) {
        match called_op(frame, op).native_result() {
            Some(dst) => self.put(program, frame, dst, result),
            None => self.discard(program, result),
        }
        op.native_args().into_iter().for_each(|args| self.kill(program, frame, args));
    }
}

impl Run<'_> {
    /// Fails if the call is interrupted.
    #[inline(always)]
    fn check_interrupt(&self) -> Result<(), Error> {
        interrupt::poll(self.flag)
    }
}

/// The call of a checked call, or the step itself.
pub(super) fn called_op<'p>(frame: &Registers<'p>, op: &'p Op) -> &'p Op {
    match op {
        Op::CheckedCall { kernel, .. } => &frame.body.kernels[*kernel as usize].call,
        op => op,
    }
}

/// Calls the native function of a step.
#[inline]
pub(super) fn call(program: &Program, frame: &Registers<'_>, op: &Op) -> Result<Any, Error> {
    match *op {
        Op::CallVoid { callee, args } | Op::Call { callee, args, .. } | Op::CallOver { callee, args, .. } => {
            frame.call(callee, args)
        }
        Op::CheckedCall { kernel, args } => {
            let kernel = &frame.body.kernels[kernel as usize];
            program.check_arguments(kernel, frame.gather(args))?;
            call(program, frame, &kernel.call)
        }
        _ => Err(Error::new(kind::INTERNAL, "a step that calls nothing native is called")),
    }
}

/// Allocates a tensor in the storage that a slot holds.
#[inline]
pub(super) fn suballocate(frame: &Registers<'_>, storage: Slot, plan: u32) -> Result<Tensor, Error> {
    let SuballocPlan { offset, shape, dtype, bytes } = &frame.body.suballocs[plan as usize];
    match frame.get(storage).get::<&Storage>() {
        Some(storage) => Ok(storage.tensor_of(*dtype, shape, *offset, *bytes)?),
        None => {
            Err(Args::new("vm.builtin.alloc_tensor", std::slice::from_ref(frame.get(storage)))
                .wrong_type::<&Storage>(0))
        }
    }
}

/// The function value in the second argument, with its arguments.
fn function_value(
    program: &Program,
    bodies: &[Option<Body>],
    frame: &Registers<'_>,
    args: Slots,
) -> Result<FunctionValue, Error> {
    let values = frame.gather(args);
    if let Some(function) = values[1].get::<&Function>() {
        return Ok(FunctionValue::Native(function.clone()));
    }
    let closure = program.own_closure(&values[1])?;
    let (args, bound) = (&values[2..], closure.bound());
    let number = closure.function();
    match &bodies[number as usize] {
        Some(body) => program.check_arity(number as usize, body, args.len(), bound.len())?,
        None => return Err(Error::runtime("closures are of bytecode only")),
    }
    Ok(FunctionValue::Bytecode(number, args.iter().chain(bound).cloned().collect()))
}
