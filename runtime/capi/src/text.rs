//! Values as text.
use crate::error::status;
use crate::pointers::{value, write};
use hammock_runtime::{Any, Str, show};
use std::ffi::c_int;

/// Formats a value for people.
///
/// # Safety
/// `from` is null or a value; `shown` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_any_show(from: *const Any, shown: *mut Any) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe { write(shown, "shown", Str::new(&show::show(value(from, "from")?)).into()) })
}
