//! Loaded models.
use crate::{
    arguments::{bind, misfit},
    check,
    convert::{Returns, callee, function::Function, to_python},
    error::raise,
    interrupt::Interrupt,
    profile::{self, Profile},
    signals, signature,
    timing::{self, Timing},
};
use hammock_runtime::{
    Any, Device, Library, Vm, device,
    image::{Integrity, Signature, signature::Param},
    memory::AllocatorKind,
    parallel,
    suggest::nearest,
    value::ParseDeviceError,
    vm::{CallLimits, Options},
};
use hammock_tools::{Content, write_file};
use pyo3::{
    exceptions::{PyAttributeError, PyKeyError, PyOSError, PyTypeError, PyValueError},
    prelude::*,
    types::{PyBytes, PyDict, PyTuple},
};
use std::{collections::HashMap, path::PathBuf, sync::Arc, time::Duration};

/// A model that is ready to run. Any number of threads may call it at once.
///
/// `model(x)` calls its function `main`, or its only function; `model.name(x)` or `model["name"](x)` another one.
/// Arguments are NumPy arrays, objects with `__dlpack__` such as torch tensors, or with a buffer, numbers, nested
/// lists, strings, tuples and shapes, by position or by name. `model.signature()` lists dtypes and shapes. The memory
/// of contiguous arrays is used in place; while the model has it, it cannot be resized.
///
/// A model for GPUs runs on one of them, or on those that its module declares: arrays are copied to the devices of its
/// parameters, and CUDA tensors that are there are used in place.
///
/// A call raises TypeError if an argument is of another kind or dtype than its parameter, or their number is wrong;
/// ValueError if it is of another shape; OverflowError if a number is out of the dtype's range; and what functions that
/// the model calls raise.
///
/// Python's other threads run during a call, and Ctrl-C ends it before its next kernel. A model that was loaded from a
/// file is pickled as the file's path, another one with all its contents.
#[pyclass(frozen, module = "hammock")]
#[derive(Clone)]
pub struct Model {
    library: Arc<Library>,
    pub(crate) vm: Vm,
    limits: CallLimits,
    signatures: HashMap<String, Arc<Signature>>,
    /// The function that the model itself stands for.
    main: Option<Arc<Signature>>,
    path: Option<PathBuf>,
    returns: Returns,
}

impl Model {
    /// Loads a library.
    pub fn new(library: Library, options: Options, path: Option<PathBuf>, returns: Returns) -> PyResult<Model> {
        let library = Arc::new(library);
        let vm = Vm::from_library(&library, options).map_err(raise)?;
        let signature =
            |name: &str| vm.signature(name).map(|signature| (name.to_owned(), Arc::new(signature.into_owned())));
        let signatures: HashMap<_, _> = vm.functions().map(signature).collect::<Result<_, _>>().map_err(raise)?;
        let only = if signatures.len() == 1 { signatures.values().next() } else { None };
        let main = signatures.get("main").or(only).cloned();
        Ok(Model { library, vm, limits: CallLimits::default(), signatures, main, path, returns })
    }

    /// Loads the library once more, with an allocator of this kind, and on these devices if there are any. Tensors among
    /// results are objects of the class `Tensor`.
    pub fn reload(&self, allocator: AllocatorKind, devices: Vec<Device>) -> PyResult<Model> {
        let own = self.vm.options().clone();
        let options =
            Options { allocator, devices: if devices.is_empty() { own.devices.clone() } else { devices }, ..own };
        let vm = Vm::from_library(&self.library, options).map_err(raise)?;
        Ok(Model { vm, returns: Returns::Tensor, ..self.clone() })
    }

    fn call<'py>(
        &self,
        py: Python<'py>,
        signature: &Signature,
        args: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let args = self.arguments(signature, args, named)?;
        let result = signals::released(py, || self.run(signature, &args));
        drop(args);
        to_python(py, result?, self.returns)
    }

    /// The arguments of a call, on the devices of the function's parameters: tensors of the CPU are copied to GPUs.
    pub fn arguments(
        &self,
        signature: &Signature,
        args: &Bound<'_, PyTuple>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Vec<Any>> {
        let values = bind(signature, args, named)?;
        let misplaced = |(index, value)| Some((index, self.vm.misplaced(&signature.function, index, value)?));
        if let Some((index, (other, own))) = values.iter().enumerate().find_map(misplaced)
            && let Some(param) = signature.given().nth(index)
        {
            return Err(wrong_device(signature, param, other, own));
        }
        if self.vm.options().devices[0].is_host() {
            return Ok(values);
        }
        self.vm.place_arguments(&signature.function, &values).map_err(raise)
    }

    /// Runs a function. It must be called without the interpreter.
    fn run(&self, signature: &Signature, args: &[Any]) -> PyResult<Any> {
        let result = self.vm.call_with(&self.limits, &signature.function, args);
        result.map_err(|error| misfit(signature, args).unwrap_or_else(|| raise(error)))
    }

    /// The signature of a function; by default that of the main function.
    fn function(&self, name: Option<&str>) -> PyResult<&Arc<Signature>> {
        match name {
            Some(name) => self.signature_of(name).ok_or_else(|| PyKeyError::new_err(self.unknown(name))),
            None => self.main.as_ref().ok_or_else(|| {
                let message = format!("{}: name one, as in model[\"name\"](…)", self.unknown("main"));
                PyAttributeError::new_err(message)
            }),
        }
    }

    fn signature_of(&self, name: &str) -> Option<&Arc<Signature>> {
        self.signatures.get(name)
    }

    /// The signature of a function.
    pub fn signature(&self, name: &str) -> Option<&Signature> {
        self.signature_of(name).map(|signature| &**signature)
    }

    /// Says which functions there are.
    pub fn unknown(&self, name: &str) -> String {
        let near = nearest(name, self.signatures.keys().map(String::as_str));
        let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        let names: Vec<&str> = self.vm.functions().collect();
        format!("the model has no function `{name}`, only {}{near}", names.join(", "))
    }
}

#[pymethods]
impl Model {
    #[pyo3(signature = (*args, **named))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.call(py, self.function(None)?, args, named)
    }

    fn __getitem__(slf: Bound<'_, Self>, name: &str) -> PyResult<ModelFunction> {
        let signature = slf.get().function(Some(name))?.clone();
        Ok(ModelFunction { model: slf.unbind(), signature })
    }

    /// A function, or the signature of the main function for the module `inspect`.
    fn __getattr__<'py>(slf: Bound<'py, Self>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let (py, model) = (slf.py(), slf.get());
        if let Some(signature) = model.signature_of(name).cloned() {
            return Ok(Bound::new(py, ModelFunction { model: slf.unbind(), signature })?.into_any());
        }
        // As a property, `inspect.signature(type(model))` would find it too.
        match (name, &model.main) {
            ("__signature__", Some(main)) => signature::of_inspect(py, main),
            _ => Err(PyAttributeError::new_err(model.unknown(name))),
        }
    }

    fn __dir__<'py>(slf: &Bound<'py, Self>) -> PyResult<Vec<String>> {
        let own = slf.py().get_type::<PyAny>().call_method1("__dir__", (slf,))?;
        let own = own.try_iter()?.map(|name| name?.extract());
        let functions = slf.get().vm.functions().map(|name| Ok(name.to_owned()));
        own.chain(functions).collect()
    }

    fn __contains__(&self, name: &Bound<'_, PyAny>) -> bool {
        name.extract::<String>().is_ok_and(|name| self.signatures.contains_key(&name))
    }

    /// The names of its functions.
    #[getter]
    fn functions(&self) -> Vec<String> {
        self.vm.functions().map(str::to_owned).collect()
    }

    /// The signature of a function; by default that of the main function.
    ///
    /// Raises KeyError if there is no such function.
    #[pyo3(name = "signature", signature = (function=None))]
    fn signature_object(&self, function: Option<&str>) -> PyResult<signature::Signature> {
        Ok(signature::Signature(self.function(function)?.clone()))
    }

    /// Times calls with these arguments, for about `min_time` seconds, after one that warms up. `func` names the
    /// function; by default it is the main function.
    ///
    /// Raises ValueError if `min_time` is not positive, and what the call raises.
    #[pyo3(signature = (*args, min_time=1.0, func=None, **named))]
    fn bench(
        &self,
        py: Python<'_>,
        args: &Bound<'_, PyTuple>,
        min_time: f64,
        func: Option<&str>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Timing> {
        let signature = self.function(func)?;
        let args = self.arguments(signature, args, named)?;
        timing::bench(py, &self.vm, min_time, || self.run(signature, &args).map(drop))
    }

    /// Profiles `number` calls with these arguments, after one that warms up. `func` names the function; by default it
    /// is the main function. Other threads' calls of the model in the meantime are part of the profile.
    ///
    /// Raises ValueError if `number` is 0, and what the calls raise.
    #[pyo3(signature = (*args, number=10, func=None, **named))]
    fn profile(
        &self,
        py: Python<'_>,
        args: &Bound<'_, PyTuple>,
        number: usize,
        func: Option<&str>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Profile> {
        let signature = self.function(func)?;
        let args = self.arguments(signature, args, named)?;
        profile::profile(py, &self.vm, number, || self.run(signature, &args).map(drop))
    }

    /// The device that it runs on, such as `"cpu:0"` or `"cuda:0"`.
    #[getter]
    fn device(&self) -> String {
        self.vm.options().devices[0].to_string()
    }

    /// The file that it was loaded from.
    #[getter]
    fn path(&self) -> Option<PathBuf> {
        self.path.clone()
    }

    /// Writes it to a file that `load` and `hammock run` read. A file there is replaced, not written into: models that
    /// were loaded from it keep theirs.
    ///
    /// Raises OSError if it cannot be written.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        // Of an absolute path, `-` is a name, not standard output.
        let path = std::path::absolute(path)?;
        let written = py.detach(|| write_file(&path, Content::Program, |out| out.write_all(&self.library.to_bytes())));
        written.map_err(|error| PyOSError::new_err(error.message))
    }

    /// The same model with limits for its calls: a view that shares everything else.
    ///
    /// `timeout` is the limit of each call in seconds; a call that exceeds it raises TimeoutError. `interrupt` ends
    /// calls from another thread. Both take effect before the next kernel or function call: a kernel or a callback that
    /// runs is not interrupted, and one that never returns is not ended. A limit that is not given is the model's. The
    /// limit for memory is one of the whole model, and functions that the model returns have the limits of `load`.
    #[pyo3(signature = (*, timeout=None, interrupt=None))]
    fn with_limits(&self, timeout: Option<f64>, interrupt: Option<&Bound<'_, Interrupt>>) -> PyResult<Model> {
        let given = interrupt.map(|interrupt| interrupt.get().0.clone());
        let limits = CallLimits {
            interrupt: given.or_else(|| self.limits.interrupt.clone()),
            timeout: seconds(timeout)?.or(self.limits.timeout),
        };
        Ok(Model { limits, ..self.clone() })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        if self.limits.interrupt.is_some() {
            return Err(PyTypeError::new_err(
                "a model with an interrupt cannot be pickled; pickle the one without limits",
            ));
        }
        let contents = match &self.path {
            Some(path) => path.into_pyobject(py)?.into_any(),
            None => PyBytes::new(py, &self.library.to_bytes()).into_any(),
        };
        let options = self.vm.options();
        let timeout = self.limits.timeout.or(options.timeout).map(|limit| limit.as_secs_f64());
        let devices = options.devices.iter().filter(|device| !device.is_host()).map(Device::to_string);
        let device = Some(devices.collect::<Vec<_>>().join(",")).filter(|devices| !devices.is_empty());
        let args = (contents, self.returns.name(), timeout, options.memory_limit, device).into_pyobject(py)?;
        Ok((py.import("hammock._hammock")?.getattr("_unpickle")?, args))
    }

    fn __repr__(&self) -> String {
        let functions: Vec<String> = self
            .vm
            .functions()
            .filter_map(|name| self.signature_of(name))
            .map(|signature| signature::text(signature))
            .collect();
        format!("<hammock.Model\n  {}>", functions.join("\n  "))
    }
}

// A function of a model. The class has no documentation, since each function has its own.
#[pyclass(frozen, module = "hammock")]
pub struct ModelFunction {
    model: Py<Model>,
    signature: Arc<Signature>,
}

#[pymethods]
impl ModelFunction {
    #[pyo3(signature = (*args, **named))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.model.get().call(py, &self.signature, args, named)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Py<Model>, &str))> {
        let of_model = py.import("operator")?.getattr("getitem")?;
        Ok((of_model, (self.model.clone_ref(py), &self.signature.function)))
    }

    /// The function as a value.
    fn __hammock_function__(&self) -> Function {
        let model = self.model.get();
        callee::of_model(model.vm.clone(), model.limits.clone(), self.signature.clone())
    }

    /// Its name.
    #[getter]
    fn __name__(&self) -> &str {
        &self.signature.function
    }

    /// Its signature, with a line for each parameter and result.
    #[getter]
    fn __doc__(&self) -> String {
        signature::doc(&self.signature)
    }

    /// Its signature.
    #[getter]
    fn signature(&self) -> signature::Signature {
        signature::Signature(self.signature.clone())
    }

    /// The signature for the module `inspect`.
    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        match name {
            // As a property, `inspect.signature(type(function))` would find it too.
            "__signature__" => signature::of_inspect(py, &self.signature),
            _ => Err(PyAttributeError::new_err(format!("a function of a model has no attribute `{name}`"))),
        }
    }

    fn __repr__(&self) -> String {
        format!("<hammock function {}>", signature::text(&self.signature))
    }
}

/// Loads a compiled model from a file.
///
/// `returns` says what tensors among the results are: "numpy" (arrays), "tensor" (`hammock.Tensor`, which other
/// frameworks read through DLPack) or "torch". `timeout` is the limit of each call in seconds, `max_memory` that of the
/// model in bytes on each device. `device` is the one to run on, such as "cuda:0", or several as "cuda:0,cuda:1", which
/// are the model's devices in this order: by default, the first ones that the model is compiled for. NumPy arrays of
/// results on a GPU are copies; the other forms stay there.
///
/// Raises OSError if the file cannot be read; ValueError if it is damaged or no compiled model, or is not compiled for the
/// device; and RuntimeError if a GPU or its driver is missing.
#[pyfunction]
#[pyo3(signature = (path, *, returns=Returns::Numpy, timeout=None, max_memory=None, device=None))]
pub fn load(
    py: Python<'_>,
    path: PathBuf,
    returns: Returns,
    timeout: Option<f64>,
    max_memory: Option<usize>,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<Model> {
    let options = options(timeout, max_memory, device)?;
    std::fs::metadata(&path)?;
    // A pickled model is loaded from there, whatever the directory is then.
    let path = std::path::absolute(path)?;
    let library = py.detach(|| Library::open(&path)).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Model::new(library, options, Some(path), returns)
}

/// Loads a pickled model: `contents` is the path of its file, or the file's bytes.
#[pyfunction]
#[pyo3(name = "_unpickle", signature = (contents, returns, timeout, max_memory, device=None))]
pub fn unpickle(
    py: Python<'_>,
    contents: &Bound<'_, PyAny>,
    returns: Returns,
    timeout: Option<f64>,
    max_memory: Option<usize>,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<Model> {
    let Ok(bytes) = contents.cast::<PyBytes>() else {
        return load(py, contents.extract()?, returns, timeout, max_memory, device);
    };
    let (options, bytes) = (options(timeout, max_memory, device)?, Arc::new(bytes.as_bytes().to_vec()));
    let library = py.detach(|| Library::from_bytes(bytes, Integrity::Check));
    Model::new(library.map_err(|error| PyValueError::new_err(error.to_string()))?, options, None, returns)
}

/// A device that is given as text, or as an object whose text it is.
///
/// # Errors
/// If it is none.
pub fn to_device(device: &Bound<'_, PyAny>) -> PyResult<Device> {
    device.str()?.to_cow()?.parse().map_err(|error: ParseDeviceError| PyValueError::new_err(error.to_string()))
}

/// Devices, as `--device` takes them: `cuda:0,cuda:1`.
fn to_devices(devices: &Bound<'_, PyAny>) -> PyResult<Vec<Device>> {
    let text = devices.str()?;
    let devices = text.to_cow()?.split(',').map(str::parse).collect::<Result<_, _>>();
    devices.map_err(|error: ParseDeviceError| PyValueError::new_err(error.to_string()))
}

#[cold]
fn wrong_device(signature: &Signature, param: &Param, other: Device, own: Device) -> PyErr {
    let (prefix, ty) = (check::prefix(signature, &param.name), &param.ty);
    PyValueError::new_err(format!(
        "{prefix}expected {ty}: the tensor is on {other}, and the model runs on {own}: copy it there"
    ))
}

/// A limit of time.
fn seconds(timeout: Option<f64>) -> PyResult<Option<Duration>> {
    let Some(seconds) = timeout else { return Ok(None) };
    let limit = Duration::try_from_secs_f64(seconds).ok().filter(|limit| !limit.is_zero());
    let wrong = || PyValueError::new_err(format!("`timeout` is a positive number of seconds, not {seconds}"));
    limit.map(Some).ok_or_else(wrong)
}

/// Options of a virtual machine.
pub fn options(
    timeout: Option<f64>,
    max_memory: Option<usize>,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<Options> {
    let devices = device.map(to_devices).transpose()?.unwrap_or_default();
    Ok(Options { devices, timeout: seconds(timeout)?, memory_limit: max_memory, ..Options::default() })
}

/// Returns true if a device is present, with its driver.
#[pyfunction]
#[pyo3(name = "_device_exists")]
pub fn device_exists(device: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(device::find(to_device(device)?).is_ok())
}

/// Sets the number of threads that models run on.
#[pyfunction]
pub fn set_threads(count: usize) -> PyResult<()> {
    if !(1..=1024).contains(&count) {
        return Err(PyValueError::new_err(format!("the number of threads is from 1 to 1024, not {count}")));
    }
    parallel::set_threads(count);
    Ok(())
}

/// The number of threads that models run on.
#[pyfunction]
pub fn threads() -> usize {
    parallel::threads()
}
