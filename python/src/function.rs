//! Packed functions: those of this runtime as Python callables, and Python callables as functions of this runtime.
use crate::{
    convert::{Returns, from_python, to_python},
    error::{from_exception, raise},
};
use hammock_runtime::{Any, Error, Function as Data, ffi::kind};
use pyo3::{prelude::*, types::PyTuple};

/// A function value: of a model, of the registry of global functions, or a Python callable that a model received.
#[pyclass(frozen, module = "hammock")]
pub struct Function(pub Data);

#[pymethods]
impl Function {
    #[pyo3(signature = (*args))]
    fn __call__<'py>(&self, py: Python<'py>, args: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        let args: Vec<Any> = args.iter().map(|arg| from_python(&arg, None)).collect::<PyResult<_>>()?;
        let result = py.detach(|| self.0.call(&args));
        drop(args);
        to_python(py, result.map_err(raise)?, Returns::Numpy)
    }
}

/// A Python callable as a function. Tensors are given to it as NumPy arrays that share their memory.
pub fn from_callable(callable: &Bound<'_, PyAny>) -> Data {
    let callable = callable.clone().unbind();
    Data::new(move |args| {
        let called = Python::try_attach(|py| {
            let call = || {
                let args = args.iter().map(|arg| to_python(py, arg.owned().map_err(raise)?, Returns::Numpy));
                let args = PyTuple::new(py, args.collect::<PyResult<Vec<_>>>()?)?;
                from_python(&callable.bind(py).call1(args)?, None)
            };
            call().map_err(|exception| from_exception(py, exception))
        });
        called.unwrap_or_else(|| Err(Error::new(kind::RUNTIME, "Python is shutting down")))
    })
}
