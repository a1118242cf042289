//! Diagnostics as exceptions and warnings. The classes are in the package's `diagnostics.py`.
use hammock_compiler::Failure;
use pyo3::prelude::*;

/// The exception for diagnostics: a `CompileError`.
pub fn raise(py: Python<'_>, failure: &Failure) -> PyErr {
    match call(py, "compile_error", &failure.to_string(), &failure.json().to_string()) {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}

/// Warns in Python, of a text and of diagnostics as JSON.
///
/// # Errors
/// The warning, if a filter makes it an exception.
pub fn warn(py: Python<'_>, text: &str, json: &str) -> PyResult<()> {
    call(py, "warn", text, json).map(drop)
}

fn call<'py>(py: Python<'py>, function: &str, text: &str, json: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("hammock.diagnostics")?.call_method1(function, (text, json))
}
