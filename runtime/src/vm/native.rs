//! The interface to the machine code of functions: its calling convention, and the helpers that it may call. The machine
//! runs it (`machine_code.rs`).
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
use crate::executable::compact;
use crate::ffi::{self, Error, SafeCall, kind};
use crate::value::object::cell_offset;
use crate::value::{Any, DLTensor};
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::AtomicU8;

/// Prefix of the symbol of a function's machine code.
pub const PREFIX: &str = "__vmtir__";

/// The symbol of the runtime version that machine code was generated for: [`VERSION`].
pub const VERSION_SYMBOL: &str = "__hammock_vmtir_version";

/// Incremented with every change of the contract between machine code and runtime: of folding, and of this file.
pub const VERSION: u64 = (compact::VERSION as u64) << 32 | 4;

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
    /// Not zero if the call is interrupted, or the host's check is requested.
    pub flag: *const AtomicU8,
    /// Destination of a result that replaces one of the arguments, or that is unused.
    pub result: Any,
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
    /// Called before a step if the flag is not zero: raises the error of an interruption, or makes the host's check;
    /// returns the code's status.
    pub poll: unsafe extern "C" fn(*mut NativeContext, step: u32) -> i32,
    /// Runs a call or a check like the interpreter; returns the code's status.
    pub step: unsafe extern "C" fn(*mut NativeContext, step: u32) -> i32,
    /// Continues after a call that failed or whose result needs attention; returns the code's status.
    pub after: unsafe extern "C" fn(*mut NativeContext, step: u32, status: i32) -> i32,
}

/// Machine code and its owner.
#[derive(Clone)]
pub struct MachineCode {
    pub(super) entry: NativeEntry,
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

/// Entry of bytecode in the table of native functions, which machine code never calls.
pub(super) const NOT_NATIVE: NativeFunction = NativeFunction { call: not_native, handle: std::ptr::null_mut() };

unsafe extern "C" fn not_native(_: *mut c_void, _: *const Any, _: i32, _: *mut Any) -> i32 {
    ffi::raise(Error::new(kind::INTERNAL, "machine code calls bytecode as if it were native"))
}
