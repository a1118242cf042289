//! Runs the machine code of functions: the helpers of the interface in [`super::native`].
use super::decode::{Body, Op};
use super::machine::Machine;
use super::native::{Helpers, NativeContext};
use super::registers::Registers;
use super::run::{self, Run};
use super::{check, condition, interrupt};
use crate::ffi::{self, Error, kind};
use crate::value::{Any, object};
use std::ffi::c_void;
use std::ptr::NonNull;

static HELPERS: Helpers = Helpers { retain, discard, allocate, suballocate, holds, test, poll, step, after };

/// The context of machine code, and what the helpers need in addition.
#[repr(C)]
struct Context {
    native: NativeContext,
    machine: *mut Machine,
    run: *const c_void,
    body: *const Body,
    base: *mut Any,
}

impl Machine {
    /// Runs the innermost frame's machine code.
    pub(super) fn native(&mut self, run: &Run<'_>, frame: &Registers<'_>, entry: u32) -> i32 {
        let Some(native) = &frame.body.native else {
            return ffi::raise(Error::new(kind::INTERNAL, "a step enters machine code that is not there"));
        };
        let mut context = Context {
            native: NativeContext { entry, helpers: &HELPERS, flag: run.flag, result: Any::NONE },
            machine: self,
            run: (run as *const Run<'_>).cast(),
            body: frame.body,
            base: frame.base,
        };
        let constants = frame.base.wrapping_add(frame.body.registers);
        // SAFETY: the code was generated for this body, whose frame this is, and for this version of the runtime; while
        // it runs, only its helpers use the machine.
        unsafe { (native.code.entry)((&raw mut context).cast(), frame.base, constants, run.program.callees.as_ptr()) }
    }

    /// Runs a call or a check.
    #[cold]
    fn step(&mut self, run: &Run<'_>, frame: &Registers<'_>, at: u32) -> Result<(), Error> {
        let program = run.program;
        match original(frame, at) {
            op if op.native_args().is_some() => {
                let result = run::call(program, frame, op)?;
                self.called(program, frame, op, result);
            }
            Op::Check { value, heap, plan } if check::holds(frame, *value, *heap, *plan) => {}
            Op::Check { plan, .. } => check::explain(program, frame, *plan)?,
            Op::If { condition, .. } => return Err(condition::not_a_condition(frame.get(*condition))),
            _ => return Err(Error::new(kind::INTERNAL, "machine code leaves a step to the machine that is its own")),
        }
        Ok(())
    }

    /// Handles the result of a call.
    #[cold]
    fn finish_call(&mut self, run: &Run<'_>, frame: &Registers<'_>, at: u32, result: Any) -> Result<(), Error> {
        let op = original(frame, at);
        let result = match run::called_op(frame, op) {
            Op::Call { dst, .. } => frame.take(*dst),
            _ => result,
        };
        // A borrowed result is copied.
        let result = if result.is_borrowed() { result.owned()? } else { result };
        self.called(run.program, frame, op, result);
        Ok(())
    }
}

/// The step that an entry of machine code replaced.
fn original<'p>(frame: &Registers<'p>, at: u32) -> &'p Op {
    match (frame.op(at as usize), &frame.body.native) {
        (Op::Native { entry }, Some(native)) => &native.replaced[*entry as usize],
        (op, _) => op,
    }
}

/// Passes the references behind a context to `body`.
///
/// # Safety
/// The context comes from [`Machine::native`], whose code is running.
#[inline(always)]
unsafe fn with<R>(
    context: *mut NativeContext,
    body: impl FnOnce(&mut Machine, &Run<'_>, &Registers<'_>, &mut Any) -> R,
) -> R {
    // SAFETY: `Machine::native` created the context from references that it still holds, and uses none of them before
    // the code returns.
    unsafe {
        let context = &mut *context.cast::<Context>();
        let frame = Registers::new(&*context.body, context.base);
        body(&mut *context.machine, &*context.run.cast::<Run<'_>>(), &frame, &mut context.native.result)
    }
}

unsafe extern "C" fn retain(_: *mut NativeContext, object: *mut c_void) {
    if let Some(object) = NonNull::new(object) {
        // SAFETY: machine code passes the payload of a slot that holds an object.
        unsafe { object::retain(object.cast()) };
    }
}

unsafe extern "C" fn discard(context: *mut NativeContext, register: *mut Any) {
    // SAFETY: machine code passes its context and a register of its frame.
    unsafe {
        let value = register.replace(Any::NONE);
        with(context, |machine, run, _, _| machine.discard(run.program, value));
    }
}

unsafe extern "C" fn allocate(context: *mut NativeContext, dst: u32, heap: u32, plan: u32) -> i32 {
    // SAFETY: machine code passes its context, and slots and plans of its function.
    unsafe {
        with(context, |machine, run, frame, _| match machine.allocate(run.program, frame, heap, plan) {
            Ok(tensor) => {
                machine.put(run.program, frame, dst, tensor.into());
                0
            }
            Err(error) => ffi::raise(error),
        })
    }
}

unsafe extern "C" fn suballocate(context: *mut NativeContext, dst: u32, storage: u32, plan: u32) -> i32 {
    // SAFETY: as above.
    unsafe {
        with(context, |machine, run, frame, _| match run::suballocate(frame, storage, plan) {
            Ok(tensor) => {
                machine.put(run.program, frame, dst, tensor.into());
                0
            }
            Err(error) => ffi::raise(error),
        })
    }
}

unsafe extern "C" fn holds(context: *mut NativeContext, value: u32, heap: u32, plan: u32) -> i32 {
    // SAFETY: as above.
    unsafe { with(context, |_, _, frame, _| i32::from(check::holds(frame, value, heap, plan))) }
}

unsafe extern "C" fn test(_: *mut NativeContext, condition: *const Any) -> i32 {
    // SAFETY: machine code passes the address of a slot.
    match condition::holds(unsafe { &*condition }) {
        Ok(holds) => i32::from(holds),
        Err(error) => ffi::raise(error),
    }
}

unsafe extern "C" fn poll(context: *mut NativeContext, at: u32) -> i32 {
    // SAFETY: machine code passes its context.
    unsafe {
        with(context, |_, run, _, _| match interrupt::poll(run.flag) {
            // The machine continues with the step.
            Ok(()) => at as i32,
            Err(error) => {
                ffi::raise(error);
                !(at as i32)
            }
        })
    }
}

unsafe extern "C" fn step(context: *mut NativeContext, at: u32) -> i32 {
    // SAFETY: as above.
    unsafe {
        with(context, |machine, run, frame, _| match machine.step(run, frame, at) {
            Ok(()) => at as i32 + 1,
            Err(error) => {
                ffi::raise(error);
                !(at as i32)
            }
        })
    }
}

unsafe extern "C" fn after(context: *mut NativeContext, at: u32, status: i32) -> i32 {
    if status != 0 {
        return !(at as i32);
    }
    // SAFETY: as above.
    unsafe {
        with(context, |machine, run, frame, result| {
            let result = std::mem::take(result);
            match machine.finish_call(run, frame, at, result) {
                Ok(()) => at as i32 + 1,
                Err(error) => {
                    ffi::raise(error);
                    !(at as i32)
                }
            }
        })
    }
}
