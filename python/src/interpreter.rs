//! The interpreter that the module belongs to. Its classes and callbacks are those of one interpreter.
use pyo3::{exceptions::PyImportError, ffi, prelude::*};
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};

/// The interpreter that imported the module first, by its ID; -1 before that.
static OWNER: AtomicI64 = AtomicI64::new(-1);

/// Claims the module for the interpreter of this thread.
///
/// # Errors
/// ImportError if it belongs to another interpreter of the process.
pub fn claim(_: Python<'_>) -> PyResult<()> {
    // SAFETY: the thread is attached.
    let id = unsafe { ffi::PyInterpreterState_GetID(ffi::PyInterpreterState_Get()) };
    match OWNER.compare_exchange(-1, id, SeqCst, SeqCst) {
        Err(owner) if owner != id => Err(PyImportError::new_err(
            "hammock is in use by another interpreter of this process, and does not support sub-interpreters; \
             start a process instead",
        )),
        _ => Ok(()),
    }
}
