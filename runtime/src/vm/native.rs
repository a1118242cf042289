//! Machine code of functions: its calling convention, the helpers that it may call, and how the machine runs it.
//!
//! A function's code is `__vmtir__name(context, registers, constants, functions) -> status`. It works on the frame that
//! the machine pushed for the function, laid out as [`crate::executable::compact`] says, and runs from one of the
//! function's [entries](crate::executable::compact::Compact::entries) to a step that enters or leaves a frame. The
//! machine executes that step, and then enters or interprets the code of the innermost function. So both kinds of
//! functions can call each other freely, and neither uses the native stack.
//!
//! The status is the index of the step at which the machine continues or, if it is negative, the complement of the step
//! that failed, whose error has already been raised. The code may stop before any step: it leaves rare cases, such as
//! error messages, to the interpreter.
//!
//! Generated code may assume:
//! - `result` is not an object;
//! - device 0 is a CPU, and tensors of the constant pool are contiguous and aligned: otherwise the program is not
//!   loaded.
use super::decode::{Body, Op};
use super::machine::Machine;
use super::registers::Registers;
use super::run::{self, Run};
use super::{check, condition, interrupt};
use crate::executable::compact;
use crate::ffi::{self, Error, SafeCall, kind};
use crate::value::object::{self, cell_offset};
use crate::value::{Any, DLTensor};
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicU8;

/// Prefix of the symbol of a function's machine code.
pub const PREFIX: &str = "__vmtir__";

/// The symbol of the runtime version that machine code was generated for: [`VERSION`].
pub const VERSION_SYMBOL: &str = "__hammock_vmtir_version";

/// Incremented with every change of the contract between machine code and runtime: of folding, and of this file.
pub const VERSION: u64 = (compact::VERSION as u64) << 32 | 3;

/// Offsets in values and objects, in bytes.
pub mod layout {
    use super::*;

    /// The tag of a value.
    pub const TAG: usize = 0;
    /// The payload of a value.
    pub const PAYLOAD: usize = crate::value::PAYLOAD;
    /// The `DLTensor` in a tensor object.
    pub const TENSOR: usize = cell_offset::<DLTensor>();
}

/// Entry point of a function's machine code.
pub type NativeEntry = unsafe extern "C" fn(
    context: *mut NativeContext,
    registers: *mut Any,
    constants: *const Any,
    functions: *const NativeFunction,
) -> i32;

/// A native function as machine code calls it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct NativeFunction {
    /// The function.
    pub call: SafeCall,
    /// Its handle.
    pub handle: *mut c_void,
}

/// Context that is passed to machine code, in addition to the frame.
#[repr(C)]
pub struct NativeContext {
    /// Index of the entry to begin at.
    pub entry: u32,
    /// Runtime functions that the code may call.
    pub helpers: &'static Helpers,
    /// Not zero if the call is interrupted.
    pub flag: *const AtomicU8,
    /// Destination of a result that replaces one of the arguments, or that is unused.
    pub result: Any,
    machine: *mut Machine,
    run: *const c_void,
    body: *const Body,
    base: *mut Any,
}

/// Runtime functions that machine code may call. Steps, slots and plans are those of the current function.
#[repr(C)]
pub struct Helpers {
    /// Adds a reference to an object.
    pub retain: unsafe extern "C" fn(*mut NativeContext, object: *mut c_void),
    /// Drops the value of a register and sets it to none.
    pub discard: unsafe extern "C" fn(*mut NativeContext, register: *mut Any),
    /// Allocates a tensor: register, heap, plan. Not zero on failure.
    pub allocate: unsafe extern "C" fn(*mut NativeContext, u32, u32, u32) -> i32,
    /// Allocates a tensor in a storage: register, storage, plan. Not zero on failure.
    pub suballocate: unsafe extern "C" fn(*mut NativeContext, u32, u32, u32) -> i32,
    /// Checks a value: slot, heap, plan. Zero if it does not match.
    pub holds: unsafe extern "C" fn(*mut NativeContext, u32, u32, u32) -> i32,
    /// Evaluates a condition. Negative if the value is not one.
    pub test: unsafe extern "C" fn(*mut NativeContext, condition: *const Any) -> i32,
    /// Raises the error of the interruption.
    pub stop: unsafe extern "C" fn(*mut NativeContext),
    /// Runs a call or a check like the interpreter; returns the code's status.
    pub step: unsafe extern "C" fn(*mut NativeContext, step: u32) -> i32,
    /// Continues after a call that failed or whose result needs attention; returns the code's status.
    pub after: unsafe extern "C" fn(*mut NativeContext, step: u32, status: i32) -> i32,
}

static HELPERS: Helpers = Helpers { retain, discard, allocate, suballocate, holds, test, stop, step, after };

/// Machine code and its owner.
#[derive(Clone)]
pub struct MachineCode {
    entry: NativeEntry,
    _owner: Arc<dyn std::any::Any + Send + Sync>,
}

impl MachineCode {
    /// Wraps code that is valid as long as its owner.
    ///
    /// # Safety
    /// The code was generated for the function it is used for, by this [`VERSION`] of the runtime.
    pub unsafe fn new(entry: NativeEntry, owner: Arc<dyn std::any::Any + Send + Sync>) -> MachineCode {
        MachineCode { entry, _owner: owner }
    }
}

/// The machine code of a body, and the steps that its entries replaced.
pub(super) struct NativeBody {
    code: MachineCode,
    replaced: Vec<Op>,
}

impl NativeBody {
    /// Replaces the steps at the entries with steps that enter machine code.
    pub(super) fn attach(code: MachineCode, ops: &mut [Op], entries: &[u32]) -> NativeBody {
        let enter =
            |(entry, at): (usize, &u32)| std::mem::replace(&mut ops[*at as usize], Op::Native { entry: entry as u32 });
        let replaced = entries.iter().enumerate().map(enter).collect();
        NativeBody { code, replaced }
    }
}

/// Entry of bytecode in the table of native functions, which machine code never calls.
pub(super) const NOT_NATIVE: NativeFunction = NativeFunction { call: not_native, handle: std::ptr::null_mut() };

unsafe extern "C" fn not_native(_: *mut c_void, _: *const Any, _: i32, _: *mut Any) -> i32 {
    ffi::raise(Error::new(kind::INTERNAL, "machine code calls bytecode as if it were native"))
}

impl Machine {
    /// Runs the innermost frame's machine code.
    pub(super) fn native(&mut self, run: &Run<'_>, frame: &Registers<'_>, entry: u32) -> i32 {
        let Some(native) = &frame.body.native else {
            return ffi::raise(Error::new(kind::INTERNAL, "a step enters machine code that is not there"));
        };
        let mut context = NativeContext {
            entry,
            helpers: &HELPERS,
            flag: run.flag,
            result: Any::NONE,
            machine: self,
            run: (run as *const Run<'_>).cast(),
            body: frame.body,
            base: frame.base,
        };
        let constants = frame.base.wrapping_add(frame.body.registers);
        // SAFETY: the code was generated for this body, whose frame this is, and for this version of the runtime; while
        // it runs, only its helpers use the machine.
        unsafe { (native.code.entry)(&mut context, frame.base, constants, run.program.callees.as_ptr()) }
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
        let context = &mut *context;
        let frame = Registers::new(&*context.body, context.base);
        body(&mut *context.machine, &*context.run.cast::<Run<'_>>(), &frame, &mut context.result)
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

unsafe extern "C" fn stop(context: *mut NativeContext) {
    // SAFETY: machine code passes its context.
    unsafe { with(context, |_, run, _, _| ffi::raise(interrupt::reason(run.flag))) };
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
