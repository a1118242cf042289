//! Loaded models.
use crate::{
    arguments::bind,
    convert::{Returns, to_python},
    error::raise,
    interrupt::Interrupt,
    signals,
};
use hammock_runtime::{
    Library, Vm,
    image::{Integrity, Signature},
    memory::AllocatorKind,
    parallel,
    suggest::nearest,
    vm::{CallLimits, Options},
};
use pyo3::{
    exceptions::{PyAttributeError, PyKeyError, PyOSError, PyTypeError, PyValueError},
    prelude::*,
    types::{PyBytes, PyDict, PyTuple},
};
use std::{collections::HashMap, path::PathBuf, sync::Arc, time::Duration};

/// A model that is ready to run. Any number of threads may call it at once.
///
/// `model(x)` calls its function `main`, or its only function; `model.name(x)` or `model["name"](x)` another one. Arguments are
/// NumPy arrays, objects with `__dlpack__` such as torch tensors, numbers, strings, tuples and shapes, by position or by name.
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

    /// Loads the library once more, with an allocator of this kind. Tensors among results are objects of the class
    /// `Tensor`.
    pub fn reload(&self, allocator: AllocatorKind) -> PyResult<Model> {
        let options = Options { allocator, ..self.vm.options().clone() };
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
        let args = bind(signature, args, named)?;
        let result = signals::released(py, || self.vm.call_with(&self.limits, &signature.function, &args));
        drop(args);
        to_python(py, result.map_err(raise)?, self.returns)
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
        format!("the model has no function `{name}`{near} It has: {}", names.join(", "))
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
        let Some(main) = &self.main else {
            let message = format!("{}: name one, as in model[\"name\"](…)", self.unknown("main"));
            return Err(PyAttributeError::new_err(message));
        };
        self.call(py, main, args, named)
    }

    fn __getitem__(slf: Bound<'_, Self>, name: &str) -> PyResult<ModelFunction> {
        let model = slf.get();
        let signature = model.signature_of(name).cloned().ok_or_else(|| PyKeyError::new_err(model.unknown(name)))?;
        Ok(ModelFunction { model: slf.unbind(), signature })
    }

    fn __getattr__(slf: Bound<'_, Self>, name: &str) -> PyResult<ModelFunction> {
        let model = slf.get();
        let signature =
            model.signature_of(name).cloned().ok_or_else(|| PyAttributeError::new_err(model.unknown(name)))?;
        Ok(ModelFunction { model: slf.unbind(), signature })
    }

    fn __contains__(&self, name: &str) -> bool {
        self.signatures.contains_key(name)
    }

    /// The names of its functions.
    #[getter]
    fn functions(&self) -> Vec<String> {
        self.vm.functions().map(str::to_owned).collect()
    }

    /// The file that it was loaded from.
    #[getter]
    fn path(&self) -> Option<PathBuf> {
        self.path.clone()
    }

    /// Writes it to a file that `load` and `hammock run` read.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        std::fs::write(&path, self.library.to_bytes()).map_err(|error| PyOSError::new_err(error.to_string()))
    }

    /// The same model with limits for its calls: a view that shares everything else.
    ///
    /// `timeout` is the limit of each call in seconds; a call that exceeds it raises TimeoutError. `interrupt` ends
    /// calls from another thread. Both take effect before the next kernel or function call: a kernel or a callback that
    /// runs is not interrupted, and one that never returns is not ended. A limit that is not given is the model's. The
    /// limit for memory is one of the whole model: see `load`.
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
        let max_memory = Some(options.memory_limit).filter(|limit| *limit != Options::default().memory_limit);
        let args = (contents, self.returns.name(), timeout, max_memory).into_pyobject(py)?;
        Ok((py.import("hammock._hammock")?.getattr("_unpickle")?, args))
    }

    fn __repr__(&self) -> String {
        let functions: Vec<String> = self
            .vm
            .functions()
            .filter_map(|name| self.signature_of(name))
            .map(|signature| signature_text(signature))
            .collect();
        format!("<hammock.Model\n  {}>", functions.join("\n  "))
    }
}

/// `main(x: float32[n, 4]) -> float32[n, 2]`.
fn signature_text(signature: &Signature) -> String {
    let params: Vec<String> = signature.given().map(|param| format!("{}: {}", param.name, param.ty)).collect();
    let results: Vec<String> = signature.results.iter().map(|result| result.ty.to_string()).collect();
    let results = if results.len() == 1 { results.concat() } else { format!("({})", results.join(", ")) };
    format!("{}({}) -> {results}", signature.function, params.join(", "))
}

/// A function of a model.
#[pyclass(frozen, module = "hammock")]
pub struct ModelFunction {
    model: Py<Model>,
    signature: Arc<Signature>,
}

impl ModelFunction {
    /// The function as a value, unless calls of its model have limits.
    pub fn value(&self) -> Option<hammock_runtime::Function> {
        let model = self.model.get();
        let has_limits = model.limits.timeout.is_some() || model.limits.interrupt.is_some();
        model.vm.function(&self.signature.function).filter(|_| !has_limits)
    }
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

    /// Its name.
    #[getter]
    fn __name__(&self) -> &str {
        &self.signature.function
    }

    fn __repr__(&self) -> String {
        format!("<hammock function {}>", signature_text(&self.signature))
    }
}

/// Loads a compiled model from a file.
///
/// `returns` says what tensors among the results are: "numpy" (arrays) or "tensor" (`hammock.Tensor`, which other frameworks read
/// through DLPack). `timeout` is the limit of each call in seconds, `max_memory` that of the model in bytes.
///
/// Raises OSError if the file cannot be read, and ValueError if it is damaged or no compiled model.
#[pyfunction]
#[pyo3(signature = (path, *, returns=Returns::Numpy, timeout=None, max_memory=None))]
pub fn load(
    py: Python<'_>,
    path: PathBuf,
    returns: Returns,
    timeout: Option<f64>,
    max_memory: Option<usize>,
) -> PyResult<Model> {
    let options = options(timeout, max_memory)?;
    std::fs::metadata(&path)?;
    // A pickled model is loaded from there, whatever the directory is then.
    let path = std::path::absolute(path)?;
    let library = py.detach(|| Library::open(&path)).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Model::new(library, options, Some(path), returns)
}

/// Loads a pickled model: `contents` is the path of its file, or the file's bytes.
#[pyfunction]
#[pyo3(name = "_unpickle")]
pub fn unpickle(
    py: Python<'_>,
    contents: &Bound<'_, PyAny>,
    returns: Returns,
    timeout: Option<f64>,
    max_memory: Option<usize>,
) -> PyResult<Model> {
    let Ok(bytes) = contents.cast::<PyBytes>() else {
        return load(py, contents.extract()?, returns, timeout, max_memory);
    };
    let (options, bytes) = (options(timeout, max_memory)?, Arc::new(bytes.as_bytes().to_vec()));
    let library = py.detach(|| Library::from_bytes(bytes, Integrity::Check));
    Model::new(library.map_err(|error| PyValueError::new_err(error.to_string()))?, options, None, returns)
}

/// A limit of time.
fn seconds(timeout: Option<f64>) -> PyResult<Option<Duration>> {
    let Some(seconds) = timeout else { return Ok(None) };
    let limit = Duration::try_from_secs_f64(seconds).ok().filter(|limit| !limit.is_zero());
    let wrong = || PyValueError::new_err(format!("`timeout` is a positive number of seconds, not {seconds}"));
    limit.map(Some).ok_or_else(wrong)
}

/// Options of a virtual machine.
pub fn options(timeout: Option<f64>, max_memory: Option<usize>) -> PyResult<Options> {
    let mut options = Options { timeout: seconds(timeout)?, ..Options::default() };
    if let Some(bytes) = max_memory {
        options.memory_limit = bytes;
    }
    Ok(options)
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
