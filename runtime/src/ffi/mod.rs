//! The calling convention of the C ABI, which is tvm-ffi's: functions take a handle, arguments and the address of the
//! result, and return 0, or -1 after raising an error for the thread.
mod args;
pub mod dlpack;
mod error;
pub(crate) mod launch;
mod raised;
mod symbols;

pub use args::Args;
pub use error::{Error, Location, Payload, TraceEntry, kind};
pub use raised::{raise, take_raised};
pub use symbols::{RUNTIME, RuntimeTable, hammock_raise, hammock_workspace_alloc, hammock_workspace_free, symbols};

use crate::value::Any;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A function in the packed calling convention. The caller sets `*result` to none first.
pub type SafeCall = unsafe extern "C" fn(handle: *mut c_void, args: *const Any, count: i32, result: *mut Any) -> i32;

/// Calls a C function.
///
/// # Safety
/// `call` follows the packed convention, and `handle` is the one it expects.
pub unsafe fn invoke(call: SafeCall, handle: *mut c_void, args: &[Any]) -> Result<Any, Error> {
    let mut result = Any::NONE;
    // SAFETY: as the caller promises.
    match unsafe { call(handle, args.as_ptr(), args.len() as i32, &mut result) } {
        // A borrowed result is copied.
        0 if result.is_borrowed() => result.owned(),
        0 => Ok(result),
        _ => Err(take_raised()),
    }
}

/// Implements a function of the packed convention: runs `body` and writes the result or raises the error.
///
/// # Safety
/// `result` points to a value.
pub unsafe fn answer(result: *mut Any, body: impl FnOnce() -> Result<Any, Error>) -> i32 {
    status(|| {
        let value = body()?;
        // SAFETY: as the caller promises.
        unsafe { *result = value };
        Ok(())
    })
}

/// Runs `body` and returns 0, or -1 after raising its error.
#[inline]
fn status(body: impl FnOnce() -> Result<(), Error>) -> i32 {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => 0,
        Ok(Err(error)) => raise(error),
        Err(panic) => raise_panic(panic),
    }
}

#[cold]
#[inline(never)]
fn raise_panic(panic: Box<dyn std::any::Any + Send>) -> i32 {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("no message");
    raise(Error::new(kind::INTERNAL, format!("the function panicked: {text}")))
}

/// The arguments of a call as a slice.
///
/// # Safety
/// `args` points to `count` values that do not change for `'a`.
pub unsafe fn arguments<'a>(args: *const Any, count: i32) -> &'a [Any] {
    match usize::try_from(count) {
        // SAFETY: as the caller promises.
        Ok(count) if count > 0 && !args.is_null() => unsafe { std::slice::from_raw_parts(args, count) },
        _ => &[],
    }
}
