//! Keyword arguments of a call, which the package passes on as a dict.
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::PyDict,
};
use std::time::Duration;

/// Keyword arguments of a call.
pub struct Keywords<'a, 'py>(pub &'a Bound<'py, PyDict>);

impl<'py> Keywords<'_, 'py> {
    /// The value of an argument; `None` if it is `None` or not given. `form` says what it is, as in "a path".
    pub fn get<T>(&self, name: &str, form: &str) -> PyResult<Option<T>>
    where
        T: for<'a> FromPyObject<'a, 'py>,
    {
        let Some(value) = self.0.get_item(name)?.filter(|value| !value.is_none()) else { return Ok(None) };
        value.extract().map(Some).map_err(|_| wrong_type(name, form, &value))
    }

    /// An argument that is `True` or `False`.
    pub fn is_on(&self, name: &str) -> PyResult<bool> {
        self.get(name, "True or False").map(Option::unwrap_or_default)
    }

    /// An argument that is a positive number of seconds.
    pub fn seconds(&self, name: &str) -> PyResult<Option<Duration>> {
        let seconds: Option<f64> = self.get(name, "a number of seconds")?;
        let duration = |seconds| {
            let time = Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero());
            time.ok_or_else(|| wrong(name, "a positive number of seconds", seconds))
        };
        seconds.map(duration).transpose()
    }

    /// An argument that is an integer within bounds.
    pub fn integer(&self, name: &str, min: i64, max: i64) -> PyResult<Option<i64>> {
        let form = if max == i64::MAX { format!("an integer from {min}") } else { format!("{min} to {max}") };
        let given: Option<i64> = self.get(name, &form)?;
        let checked = |value| if (min..=max).contains(&value) { Ok(value) } else { Err(wrong(name, &form, value)) };
        given.map(checked).transpose()
    }
}

/// The error for a value of a wrong class.
pub fn wrong_type(name: &str, form: &str, value: &Bound<'_, PyAny>) -> PyErr {
    let class = value.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string());
    PyTypeError::new_err(format!("`{name}` is {form}, not an object of class {class}"))
}

/// The error for a value that is not allowed.
pub fn wrong(name: &str, form: &str, value: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(format!("`{name}` is {form}, not {value}"))
}
