//! The registry of global functions, from Python.
use crate::{
    convert::{
        Returns,
        function::{Function, from_callable},
    },
    error::raise,
};
use hammock_runtime::{builtins, global_names, registry, suggest::nearest, vm::Builtin};
use pyo3::{
    exceptions::{PyKeyError, PyTypeError, PyValueError},
    prelude::*,
};

/// Registers a callable as `name`; `register_global_func` of the package calls it.
#[pyfunction]
#[pyo3(name = "_register_function")]
pub fn register_function(name: &str, callable: &Bound<'_, PyAny>, r#override: bool, receives: Returns) -> PyResult<()> {
    if builtin(name).is_some() {
        return Err(PyValueError::new_err(format!("`{name}` is a builtin, which programs would call instead")));
    }
    let function = match callable.cast::<Function>() {
        Ok(function) => function.get().data.clone(),
        Err(_) if callable.is_callable() => from_callable(callable, receives),
        Err(_) => {
            let class = callable.get_type().name()?;
            return Err(PyTypeError::new_err(format!("the function `{name}` must be callable, not {class}")));
        }
    };
    if r#override {
        // The previous function is dropped outside of the registry's lock.
        drop(registry::register(name, function));
        return Ok(());
    }
    registry::register_new(name, function).map_err(|error| {
        let error = raise(error);
        // The note is help; the error stands without it.
        let note = "pass override=True to replace it";
        let _ = error.value(callable.py()).call_method1("add_note", (note,));
        error
    })
}

/// The global function `name`, registered or a builtin. Without one, the result is None if `allow_missing`.
///
/// Raises ValueError if there is none.
#[pyfunction]
#[pyo3(signature = (name, allow_missing=false))]
pub fn get_global_func(name: &str, allow_missing: bool) -> PyResult<Option<Function>> {
    let data = registry::get(name).or_else(|| builtin(name).map(Builtin::function));
    match data {
        Some(data) => Ok(Some(Function::new(data, Returns::Numpy))),
        None if allow_missing => Ok(None),
        None => Err(PyValueError::new_err(unknown(name))),
    }
}

/// Removes a registered function. Models that were loaded before still call it.
///
/// Raises KeyError if there is none.
#[pyfunction]
pub fn remove_global_func(name: &str) -> PyResult<()> {
    // The function is dropped outside of the registry's lock.
    registry::unregister(name).map(drop).ok_or_else(|| PyKeyError::new_err(unknown(name)))
}

/// The names of all global functions, registered ones and builtins, sorted.
#[pyfunction]
pub fn list_global_func_names() -> Vec<String> {
    global_names()
}

fn builtin(name: &str) -> Option<&'static Builtin> {
    builtins().find(|builtin| builtin.name == name)
}

fn unknown(name: &str) -> String {
    let names = list_global_func_names();
    let near = nearest(name, names.iter().map(String::as_str));
    let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    format!("there is no global function `{name}`{near}")
}
