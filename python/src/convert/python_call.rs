//! Calls of Python callables from threads that Python may end.
//!
//! When Python before 3.14 shuts down, it ends other threads that run Python code by `pthread_exit`, which unwinds
//! their stack. Rust's frames must not be unwound so: a thread that is ended in a callback sleeps instead, until the
//! process is over.
use pyo3::{ffi, prelude::*, types::PyTuple};
use std::{hint::black_box, mem, ptr::null_mut, thread, time::Duration};

/// Type of `PyObject_Call`.
type Call =
    unsafe extern "C-unwind" fn(*mut ffi::PyObject, *mut ffi::PyObject, *mut ffi::PyObject) -> *mut ffi::PyObject;

unsafe extern "C-unwind" {
    // Declared as a function that may unwind, which `pyo3::ffi` does not.
    #[allow(clashing_extern_declarations, reason = "only the unwinding differs")]
    fn PyObject_Call(
        callable: *mut ffi::PyObject,
        args: *mut ffi::PyObject,
        named: *mut ffi::PyObject,
    ) -> *mut ffi::PyObject;
}

/// Sleeps forever when it is dropped.
struct Sleep;

impl Drop for Sleep {
    fn drop(&mut self) {
        loop {
            thread::sleep(Duration::from_hours(1));
        }
    }
}

/// Calls a callable.
///
/// # Errors
/// The exception that it raises.
pub fn call<'py>(callable: &Bound<'py, PyAny>, args: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
    // Link-time optimization merges the declarations of the function, so direct calls would count as never unwinding.
    let python_call: Call = black_box(PyObject_Call);
    let sleep = Sleep;
    // SAFETY: both objects are alive, and the thread is attached. The guard stops a forced unwinding of the stack here.
    let result = unsafe { python_call(callable.as_ptr(), args.as_ptr(), null_mut()) };
    mem::forget(sleep);
    // SAFETY: the result is a new reference, or null if an exception was raised.
    unsafe { Bound::from_owned_ptr_or_err(callable.py(), result) }
}
