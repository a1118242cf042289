//! Errors of calls as exceptions.
use hammock_runtime::{Error, ffi::kind};
use pyo3::{
    create_exception,
    exceptions::{PyBaseException, PyException, PyKeyError, PyRuntimeError},
    prelude::*,
    types::PyType,
};
use std::sync::Arc;

create_exception!(hammock, CancelledError, PyRuntimeError, "A call was cancelled.");
create_exception!(hammock, InternalError, PyRuntimeError, "A mistake in Hammock itself: please report it.");

/// The exception for an error of the runtime. It has the class that the error's kind names, and notes with the lines of
/// the model's source. The exception of a callback is raised again itself.
pub fn raise(error: Error) -> PyErr {
    Python::attach(|py| exception(py, &error))
}

fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let raised = error.payload().and_then(|payload| payload.downcast_ref::<PyErr>());
    let exception = raised.map_or_else(|| new(py, error), |raised| raised.clone_ref(py));
    for entry in error.trace() {
        // Notes are help; the error stands without them.
        let _ = exception.value(py).call_method1("add_note", (entry.to_string(),));
    }
    if let Some(cause) = error.cause() {
        exception.set_cause(py, Some(self::exception(py, cause)));
    }
    exception
}

fn new(py: Python<'_>, error: &Error) -> PyErr {
    let class = match error.kind() {
        kind::CANCELLED => Some(py.get_type::<CancelledError>()),
        kind::INTERNAL => Some(py.get_type::<InternalError>()),
        name => builtin(py, name),
    };
    // Some classes, such as UnicodeDecodeError, need more than a text.
    match class.and_then(|class| class.call1((error.message(),)).ok()) {
        Some(exception) => PyErr::from_value(exception),
        None => PyRuntimeError::new_err(format!("{}: {}", error.kind(), error.message())),
    }
}

/// Python's own exception class of a name.
fn builtin<'py>(py: Python<'py>, name: &str) -> Option<Bound<'py, PyType>> {
    let class = py.import("builtins").ok()?.getattr(name).ok()?.cast_into::<PyType>().ok()?;
    class.is_subclass_of::<PyException>().unwrap_or(false).then_some(class)
}

/// The error for an exception that a callback raised, with the exception attached, which [`raise`] raises again.
pub fn from_exception(py: Python<'_>, exception: PyErr) -> Error {
    let value = exception.value(py);
    let name = value.get_type().name().map_or_else(|_| "Exception".to_owned(), |name| name.to_string());
    let message = message(value).unwrap_or_default();
    Error::new(name, message).with_payload(Arc::new(exception))
}

/// The message of an exception. That of a KeyError is its key: `str` has quotes around it.
fn message(exception: &Bound<'_, PyBaseException>) -> PyResult<String> {
    if exception.is_instance_of::<PyKeyError>()
        && let Ok((key,)) = exception.getattr("args")?.extract::<(String,)>()
    {
        return Ok(key);
    }
    Ok(exception.str()?.to_string())
}
