//! The virtual machine under `hammock.relax.VirtualMachine`: stateful calls, saved functions, timing, instruments.
use crate::{
    convert::{
        Returns,
        function::{Function, from_callable},
        to_python,
    },
    error::raise,
    model::{Model, to_device},
    signals,
};
use hammock_runtime::{
    Any,
    memory::AllocatorKind,
    vm::{evaluate::Evaluation, instrument::Instrument},
};
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::{PyDict, PyTuple},
};
use std::{sync::Arc, time::Duration};

/// A model loaded once more, with inputs, outputs, saved functions and an instrument of its own. Tensors are
/// `hammock.Tensor`.
#[pyclass(frozen, module = "hammock._hammock", name = "_Machine")]
pub struct Machine(Model);

#[pymethods]
impl Machine {
    #[new]
    #[pyo3(signature = (model, *, is_pooled=true, devices=Vec::new()))]
    fn new(
        py: Python<'_>,
        model: &Bound<'_, Model>,
        is_pooled: bool,
        devices: Vec<Bound<'_, PyAny>>,
    ) -> PyResult<Machine> {
        let devices = devices.iter().map(to_device).collect::<PyResult<_>>()?;
        let allocator = if is_pooled { AllocatorKind::Pooled } else { AllocatorKind::Naive };
        let model = model.get();
        py.detach(|| model.reload(allocator, devices)).map(Machine)
    }

    /// The model.
    #[getter]
    fn model(&self) -> Model {
        self.0.clone()
    }

    /// The saved function `name`; None if there is none.
    fn saved(&self, name: &str) -> Option<Function> {
        self.0.vm.function(name).map(|data| Function::new(data, Returns::Tensor))
    }

    /// Calls a function or closure that the program returned.
    #[pyo3(signature = (callee, *args))]
    fn invoke_closure<'py>(
        &self,
        py: Python<'py>,
        callee: &Bound<'py, PyAny>,
        args: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let callee = crate::convert::from_python(callee, None)?;
        let args = args.iter().map(|arg| crate::convert::from_python(&arg, None)).collect::<PyResult<Vec<_>>>()?;
        let result = signals::released(py, || self.0.vm.invoke(&callee, &args)).map_err(raise)?;
        to_python(py, result, Returns::Tensor)
    }

    /// Sets all inputs of a function.
    #[pyo3(signature = (function, *args, **named))]
    fn set_input(&self, function: &str, args: &Bound<'_, PyTuple>, named: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        let args = self.arguments(function, args, named)?;
        self.0.vm.set_inputs(function, &args).map_err(raise)
    }

    /// Calls a function with its inputs and stores the result.
    fn invoke_stateful(&self, py: Python<'_>, function: &str) -> PyResult<()> {
        signals::released(py, || self.0.vm.invoke_stateful(function)).map_err(raise)
    }

    /// The stored result.
    fn output<'py>(&self, py: Python<'py>, function: &str) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, self.0.vm.output(function, &[]).map_err(raise)?, Returns::Tensor)
    }

    /// Saves a call of a function as a function without parameters.
    #[pyo3(signature = (function, saved_name, *args, include_return=true, **named))]
    fn save_function(
        &self,
        function: &str,
        saved_name: &str,
        args: &Bound<'_, PyTuple>,
        include_return: bool,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let args = self.arguments(function, args, named)?;
        self.0.vm.save_function(function, saved_name, &args, include_return).map_err(raise)
    }

    /// Seconds per call of a function, one figure for each repeat.
    #[pyo3(signature = (function, *args, **how))]
    fn time(
        &self,
        py: Python<'_>,
        function: &str,
        args: &Bound<'_, PyTuple>,
        how: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Vec<f64>> {
        let how = evaluation(how)?;
        let args = match self.0.signature(function) {
            Some(_) => self.arguments(function, args, None)?,
            None if args.is_empty() => Vec::new(),
            None => return Err(PyTypeError::new_err(format!("the saved function `{function}` takes no arguments"))),
        };
        let timings = signals::released(py, || self.0.vm.time(function, &args, &how)).map_err(raise)?;
        Ok(timings.seconds().to_vec())
    }

    /// Seconds per stateful call of a function.
    #[pyo3(signature = (function, **how))]
    fn time_stateful(&self, py: Python<'_>, function: &str, how: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<f64>> {
        let (vm, how) = (&self.0.vm, evaluation(how)?);
        let timings = signals::released(py, || vm.time_calls(&how, || vm.invoke_stateful(function))).map_err(raise)?;
        Ok(timings.seconds().to_vec())
    }

    /// Sets the function that is called before and after every call of the program; None removes it.
    fn set_instrument(&self, py: Python<'_>, instrument: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let instrument = instrument.map(|callable| match callable.cast::<Function>() {
            Ok(function) => Ok(function.get().data.clone()),
            Err(_) if callable.is_callable() => Ok(from_callable(callable, Returns::Tensor)),
            Err(_) => Err(PyTypeError::new_err(format!("an instrument is callable, not {}", callable.get_type()))),
        });
        let instrument = instrument.transpose()?.map(|function| Arc::new(function) as Arc<dyn Instrument>);
        // Calls in progress may hold the lock that this takes while they wait for the interpreter.
        py.detach(|| self.0.vm.set_instrument(instrument));
        Ok(())
    }
}

impl Machine {
    /// The arguments of a function of the program.
    fn arguments(
        &self,
        function: &str,
        args: &Bound<'_, PyTuple>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Vec<Any>> {
        let signature = self.0.signature(function).ok_or_else(|| PyValueError::new_err(self.0.unknown(function)))?;
        self.0.arguments(signature, args, named)
    }
}

/// Options of a measurement, as `time_evaluator` has checked their names.
fn evaluation(how: Option<&Bound<'_, PyDict>>) -> PyResult<Evaluation> {
    let get = |name: &str, default: u64| match how.map(|how| how.get_item(name)).transpose()?.flatten() {
        Some(value) => value
            .extract::<u64>()
            .map_err(|_| PyValueError::new_err(format!("`{name}` is a whole number, not negative, but is {value}"))),
        None => Ok(default),
    };
    let (number, repeat) = (get("number", 10)?, get("repeat", 1)?);
    if number == 0 || repeat == 0 {
        return Err(PyValueError::new_err(format!("`number` and `repeat` are 1 or more, not {number} and {repeat}")));
    }
    Ok(Evaluation {
        number: number as usize,
        repeat: repeat as usize,
        min_repeat: Duration::from_millis(get("min_repeat_ms", 0)?),
        cooldown: Duration::from_millis(get("cooldown_interval_ms", 0)?),
    })
}
