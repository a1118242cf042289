//! The arguments of a call, by position or by name.
use crate::{check, convert::from_python};
use hammock_runtime::{
    Any,
    image::signature::{Param, Role, Signature},
    suggest::nearest,
};
use pyo3::{
    exceptions::{PyBufferError, PyOverflowError, PyTypeError, PyValueError},
    prelude::*,
    types::{PyDict, PyTuple, PyType},
};
use std::cmp::Ordering;

/// Converts the arguments of a call in the order of the parameters.
///
/// # Errors
/// If an argument is missing, unknown, given twice or of a type that no value has.
pub fn bind(signature: &Signature, args: &Bound<'_, PyTuple>, named: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<Any>> {
    let mut params = signature.given();
    let mut values = Vec::with_capacity(args.len().min(signature.params.len()));
    let converted = |value: &Bound<'_, PyAny>, param: &Param| {
        from_python(value, Some(&param.ty)).map_err(|error| about(value.py(), error, signature, param))
    };
    for value in args.iter_borrowed() {
        let Some(param) = params.next() else { return Err(wrong_count(signature, args.len())) };
        if let Some(named) = named
            && named.contains(&param.name)?
        {
            let message = format!("{}() got parameter `{}` by position and by name", signature.function, param.name);
            return Err(PyTypeError::new_err(message));
        }
        values.push(converted(&value, param)?);
    }
    let mut used = 0;
    for param in params {
        let value = match named {
            Some(named) => named.get_item(&param.name)?,
            None => None,
        };
        let Some(value) = value else { return Err(missing(signature, args.len(), named)) };
        used += 1;
        values.push(converted(&value, param)?);
    }
    match named {
        Some(named) if named.len() > used => Err(unknown(signature, named)),
        _ => Ok(values),
    }
}

/// The error for values that do not fit the parameters of a function, in number or in type; `None` if they fit.
#[cold]
pub fn misfit(signature: &Signature, values: &[Any]) -> Option<PyErr> {
    match values.len().cmp(&signature.given().count()) {
        Ordering::Less => Some(missing(signature, values.len(), None)),
        Ordering::Equal => check::misfit(signature, values),
        Ordering::Greater => Some(wrong_count(signature, values.len())),
    }
}

/// The error with the function and the parameter that it is about. An exception that Python code raised, such as an
/// argument's `__array__`, stays the same object, with a note.
#[cold]
fn about(py: Python<'_>, error: PyErr, signature: &Signature, param: &Param) -> PyErr {
    let prefix = check::prefix(signature, &param.name);
    let class = error.get_type(py);
    let is_own = |own: Bound<'_, PyType>| class.is(&own);
    let is_plain = is_own(py.get_type::<PyTypeError>())
        || is_own(py.get_type::<PyValueError>())
        || is_own(py.get_type::<PyOverflowError>())
        || is_own(py.get_type::<PyBufferError>());
    if is_plain && error.traceback(py).is_none() {
        let message = error.value(py).to_string();
        let expected =
            if message.starts_with("expected ") { String::new() } else { format!("expected {}: ", param.ty) };
        return PyErr::from_type(class, format!("{prefix}{expected}{message}"));
    }
    // The note is help; the error stands without it.
    let _ = error.value(py).call_method1("add_note", (format!("{prefix}expected {}", param.ty),));
    error
}

fn described(signature: &Signature) -> String {
    let params: Vec<String> = signature.given().map(|param| format!("{}: {}", param.name, param.ty)).collect();
    if params.is_empty() { "no arguments".to_owned() } else { params.join(", ") }
}

#[cold]
fn wrong_count(signature: &Signature, given: usize) -> PyErr {
    let count = signature.given().count();
    let s = if count == 1 { "" } else { "s" };
    let takes = described(signature);
    PyTypeError::new_err(format!("{}() takes {count} argument{s} ({takes}), {given} given", signature.function))
}

#[cold]
fn missing(signature: &Signature, given: usize, named: Option<&Bound<'_, PyDict>>) -> PyErr {
    if let Some(named) = named
        && let Ok(Some(error)) = unknown_name(signature, named)
    {
        return error;
    }
    let is_named = |param: &&Param| named.is_some_and(|named| named.contains(&param.name).unwrap_or(false));
    let absent: Vec<&Param> = signature.given().skip(given).filter(|param| !is_named(param)).collect();
    let list: Vec<String> = absent.iter().map(|param| format!("`{}`: {}", param.name, param.ty)).collect();
    let s = if list.len() == 1 { "" } else { "s" };
    PyTypeError::new_err(format!("{}() is missing argument{s} {}", signature.function, list.join(", ")))
}

#[cold]
fn unknown(signature: &Signature, named: &Bound<'_, PyDict>) -> PyErr {
    match unknown_name(signature, named) {
        Ok(Some(error)) | Err(error) => error,
        Ok(None) => wrong_count(signature, named.len()),
    }
}

/// The error for a name that no parameter of a call has.
fn unknown_name(signature: &Signature, named: &Bound<'_, PyDict>) -> PyResult<Option<PyErr>> {
    for name in named.keys() {
        let name = name.extract::<String>()?;
        if signature.given().any(|param| param.name == name) {
            continue;
        }
        let bound = signature.params.iter().find(|param| param.name == name);
        let why = match bound.map(|param| param.role) {
            Some(Role::Bound) => ": it is a weight, whose value is in the model".to_owned(),
            _ => nearest(&name, signature.given().map(|param| param.name.as_str()))
                .map_or_else(String::new, |near| format!("; did you mean `{near}`?")),
        };
        let message = format!("{}() has no parameter `{name}`{why}", signature.function);
        return Ok(Some(PyTypeError::new_err(message)));
    }
    Ok(None)
}
