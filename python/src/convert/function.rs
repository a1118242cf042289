//! Packed functions: those of this runtime as Python callables, and Python callables as functions of this runtime.
use super::{Returns, borrowed::Borrowed, from_python, python_call, to_python};
use crate::{
    arguments::bind,
    error::{from_exception, raise},
    signals, signature,
};
use hammock_runtime::{
    Any, Error, Function as Data,
    ffi::{SafeCall, kind},
    image::Signature,
};
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::{PyDict, PyTuple},
};
use std::sync::Arc;

/// A packed function: of a model, of the registry of global functions, in C, or a Python callable that was converted.
///
/// Arguments and results are those of models. Where its parameters are known, as for functions that a model returns,
/// arguments are converted to their types, and may be given by name. It may be given to models and to other functions.
#[pyclass(frozen, module = "hammock")]
pub struct Function {
    /// The function.
    pub data: Data,
    /// How tensors are returned by calls from Python.
    pub returns: Returns,
    /// Its parameters, if they are known.
    pub signature: Option<Arc<Signature>>,
}

impl Function {
    /// A function whose parameters are not known.
    pub fn new(data: Data, returns: Returns) -> Function {
        Function { data, returns, signature: None }
    }

    fn arguments(&self, args: &Bound<'_, PyTuple>, named: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<Any>> {
        match &self.signature {
            Some(signature) => bind(signature, args, named),
            None if named.is_some_and(|named| !named.is_empty()) => {
                Err(PyTypeError::new_err("the function's parameters have no names; give its arguments by position"))
            }
            None => args.iter().enumerate().map(|(at, arg)| argument(&arg, at)).collect(),
        }
    }
}

#[pymethods]
impl Function {
    #[pyo3(signature = (*args, **named))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let args = self.arguments(args, named)?;
        let result = signals::released(py, || self.data.call(&args));
        drop(args);
        to_python(py, result.map_err(raise)?, self.returns)
    }

    /// The function in C at an address, such as `ctypes.cast(library.name, ctypes.c_void_p).value`.
    ///
    /// It has the packed calling convention, `int32_t name(void *, const hammock_any *args, int32_t count, hammock_any
    /// *result)`, and is called from any thread. `owner` is an object that keeps the code loaded. An address that is no
    /// such function crashes the interpreter, as with ctypes.
    #[staticmethod]
    #[pyo3(signature = (address, owner=None))]
    fn from_address(address: usize, owner: Option<Py<PyAny>>) -> PyResult<Function> {
        if address == 0 {
            return Err(PyValueError::new_err("the function's address is 0"));
        }
        // SAFETY: as the caller promises. The documentation says so.
        let data = unsafe { Data::from_c(std::mem::transmute::<usize, SafeCall>(address), owner) };
        Ok(Function::new(data, Returns::Numpy))
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a hammock.Function cannot be pickled; pickle the model or the callable, and get the function from that",
        ))
    }

    fn __repr__(&self) -> String {
        match &self.signature {
            Some(signature) => format!("<hammock.Function {}>", signature::text(signature)),
            None => format!("<hammock.Function at {:p}>", self.data.handle()),
        }
    }
}

/// An argument of a function without a signature.
fn argument(value: &Bound<'_, PyAny>, position: usize) -> PyResult<Any> {
    from_python(value, None).inspect_err(|error| {
        // The note is help; the error stands without it.
        let _ = error.value(value.py()).call_method1("add_note", (format!("argument {position} of the function"),));
    })
}

/// Method of callables that are functions of this runtime: it returns the function.
const AS_FUNCTION: &str = "__hammock_function__";

/// The function that a callable is, or else the callable as a function that receives NumPy arrays.
///
/// # Errors
/// What the callable's method raises.
pub fn of_callable(callable: &Bound<'_, PyAny>) -> PyResult<Data> {
    Ok(match as_function(callable)? {
        Some(function) => function.get().data.clone(),
        None => from_callable(callable, Returns::Numpy),
    })
}

/// What the method of a callable returns, if it has one.
fn as_function<'py>(callable: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, Function>>> {
    let Some(method) = callable.getattr_opt(AS_FUNCTION)? else { return Ok(None) };
    Ok(Some(method.call0()?.cast_into()?))
}

/// A Python callable as a function; `receives` says how tensors are given to it. They share their memory.
pub fn from_callable(callable: &Bound<'_, PyAny>, receives: Returns) -> Data {
    let callable = callable.clone().unbind();
    Data::new(move |args| {
        let called = Python::try_attach(|py| {
            call(callable.bind(py), args, receives).map_err(|exception| from_exception(py, exception))
        });
        called.unwrap_or_else(|| Err(Error::new(kind::RUNTIME, "a callback cannot run: Python is shutting down")))
    })
}

fn call(callable: &Bound<'_, PyAny>, args: &[Any], receives: Returns) -> PyResult<Any> {
    let py = callable.py();
    let mut borrowed = Vec::new();
    let mut values = Vec::with_capacity(args.len());
    for arg in args {
        let value = arg.owned().map_err(raise)?;
        borrowed.extend(Borrowed::new(arg, &value));
        values.push(to_python(py, value, receives)?);
    }
    let result = python_call::call(callable, &PyTuple::new(py, values)?)?;
    borrowed.iter().for_each(Borrowed::write_back);
    from_python(&result, None).inspect_err(|error| {
        let name = callable.repr().map_or_else(|_| "a callable".to_owned(), |name| name.to_string());
        // As above.
        let _ = error.value(py).call_method1("add_note", (format!("the result of the callback {name}"),));
    })
}

/// A value as models see it: a callable becomes a `Function`, an array a `Tensor`, a list a tuple.
///
/// `receives` says how a callable receives tensors: "numpy" (arrays) or "tensor" (`hammock.Tensor`). Both share the
/// tensor's memory, and what is written reaches it, so a callable may have outputs among its arguments. Those of
/// constants are read-only. They stay valid after the call, but a model may use their memory again: keep a copy. Its
/// results are those that models can have; None is one.
///
/// A function of a model becomes a `Function`, too. Tensors that it returns are as `receives` says.
///
/// Raises TypeError if there is no such value.
#[pyfunction]
#[pyo3(signature = (value, *, receives=Returns::Numpy))]
pub fn convert<'py>(value: &Bound<'py, PyAny>, receives: Returns) -> PyResult<Bound<'py, PyAny>> {
    let py = value.py();
    let function = match value.cast::<Function>() {
        Ok(function) => Some(function.clone()),
        Err(_) => as_function(value)?,
    };
    if let Some(function) = function {
        let Function { data, signature, .. } = function.get();
        let function = Function { data: data.clone(), returns: receives, signature: signature.clone() };
        return Ok(Bound::new(py, function)?.into_any());
    }
    if value.is_callable() && !value.hasattr("__dlpack__")? {
        let function = Function::new(from_callable(value, receives), receives);
        return Ok(Bound::new(py, function)?.into_any());
    }
    to_python(py, from_python(value, None)?, Returns::Tensor)
}
