//! The compiler: models to programs.
use crate::{
    convert::{Returns, to_tensor},
    model::{self, Model},
};
use hammock_compiler::{
    Build, Cache, Dump, Emit, Failure, Model as Source, ModelFile, Options, Output, Params, Quantization, Silent, bind,
};
use hammock_diagnostics::SourceFile;
use hammock_runtime::Library;
use hammock_tools::Weights;
use pyo3::{
    create_exception,
    exceptions::{PyException, PyTypeError, PyValueError},
    prelude::*,
    types::{PyDict, PyString},
};
use std::{path::PathBuf, sync::Arc, thread};

create_exception!(hammock, CompileError, PyException, "A model could not be read or compiled.");

/// Address space for the stack of a compilation: trees are walked recursively, as deep as text may nest.
const STACK_BYTES: usize = 512 << 20;

/// Compiles a model.
///
/// `model` is the path of an ONNX or text file, or the text itself. `params` are the values of its parameters that are
/// weights: a dict of arrays by name, or the path of a safetensors or npz file; "zeros" if only speed matters. `target`
/// is the CPU: "native", or a name such as "x86-64-v3" (`hammock targets` lists them). `opt_level` is from 0 to 3.
/// `quantize` is "int8" or "int4", for the constant weights of matmuls. `threads` is the number of threads to compile with and
/// to plan kernels for. `cache=False` neither reads nor writes the kernel cache. `returns`, `timeout` and `max_memory` are those
/// of `load`.
///
/// Raises CompileError, which shows the line of the model that is wrong.
#[pyfunction]
#[pyo3(signature = (
    model, *, params=None, target="native", opt_level=2, quantize=None, threads=None, passes="", cache=true,
    returns=Returns::Numpy, timeout=None, max_memory=None
))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub fn compile(
    py: Python<'_>,
    model: &Bound<'_, PyAny>,
    params: Option<&Bound<'_, PyAny>>,
    target: &str,
    opt_level: u8,
    quantize: Option<&str>,
    threads: Option<usize>,
    passes: &str,
    cache: bool,
    returns: Returns,
    timeout: Option<f64>,
    max_memory: Option<usize>,
) -> PyResult<Model> {
    let defaults = Options::default();
    let options = Options {
        target: target.to_owned(),
        level: Some(opt_level).filter(|level| *level <= 3).ok_or_else(|| wrong("opt_level", "from 0 to 3"))?,
        threads: threads.unwrap_or(defaults.threads),
        quantization: quantize.map(quantization).transpose()?,
        passes: passes_of(passes).map_err(|failure| raise(py, &failure))?,
        cache: if cache { Cache::of_environment(None).ok().map(Arc::new) } else { None },
        ..defaults
    };
    let (run, input) = (model::options(timeout, max_memory)?, Input::new(model)?);
    let weights = Parameters::new(params)?;
    let library = py.detach(|| on_large_stack(|| build(input, weights, options)));
    Model::new(library.map_err(|failure| raise(py, &failure))?, run, None, returns)
}

fn wrong(name: &str, what: &str) -> PyErr {
    PyValueError::new_err(format!("`{name}` is {what}"))
}

fn quantization(dtype: &str) -> PyResult<Quantization> {
    let dtype = ["int8", "int4"].into_iter().find(|known| *known == dtype);
    Ok(Quantization { dtype: dtype.ok_or_else(|| wrong("quantize", "\"int8\" or \"int4\""))?, group: None })
}

fn passes_of(list: &str) -> Result<hammock_passes::Pipeline, Failure> {
    Ok(hammock_passes::Pipeline::parse(list)?)
}

/// A model to read.
enum Input {
    File(String),
    Text(SourceFile),
}

impl Input {
    fn new(model: &Bound<'_, PyAny>) -> PyResult<Input> {
        if let Ok(text) = model.cast::<PyString>() {
            let text = text.to_cow()?;
            if text.contains('\n') {
                let source = SourceFile::from_bytes("<text>", text.as_bytes().to_vec());
                return source.map(Input::Text).map_err(|error| raise(model.py(), &error.into()));
            }
        }
        let path = model.extract::<PathBuf>().map_err(|_| {
            let class = model.get_type();
            PyTypeError::new_err(format!("a model is the path of a file, or a text of several lines, not {class}"))
        })?;
        std::fs::metadata(&path)?;
        Ok(Input::File(path.display().to_string()))
    }
}

/// Values of parameters.
enum Parameters {
    Of(Params),
    Named(Weights),
}

impl Parameters {
    fn new(params: Option<&Bound<'_, PyAny>>) -> PyResult<Parameters> {
        let Some(params) = params else { return Ok(Parameters::Of(Params::None)) };
        if let Ok(named) = params.cast::<PyDict>() {
            let tensor = |(name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
                Ok((name.extract::<String>()?, to_tensor(&value, None)?))
            };
            return named.iter().map(tensor).collect::<PyResult<Weights>>().map(Parameters::Named);
        }
        if params.extract::<String>().is_ok_and(|text| text == "zeros") {
            return Ok(Parameters::Of(Params::Zeros));
        }
        params.extract::<PathBuf>().map(|path| Parameters::Of(Params::File(path)))
    }
}

fn build(input: Input, parameters: Parameters, options: Options) -> Result<Library, Failure> {
    let (params, named) = match parameters {
        Parameters::Of(params) => (params, None),
        Parameters::Named(weights) => (Params::None, Some(weights)),
    };
    let mut source = match input {
        Input::Text(source) => Source::from_text(source)?,
        Input::File(path) => {
            let file = ModelFile { path, params, ..ModelFile::default() };
            let mut model = Source::read(&file, None, &mut Silent)?;
            model.name_weights(&file);
            model.bind_weights(None)?;
            model
        }
    };
    if let Some(weights) = named {
        bind(&mut source.module, &weights).map_err(|failure| failure.within(&source.source))?;
    }
    let mut progress = Silent;
    let mut build = Build::new(source, options, &mut progress);
    build.lower(&build.options().pipeline(), &mut Dump::default())?;
    let artifact = build.compile(Emit::Lib)?;
    let library = match artifact.file {
        Output::Library(linked) => {
            let (before, constants, after) = linked.parts();
            Library::from_linked(before, constants, after)
        }
        Output::Bytes(bytes) => Library::from_bytes(Arc::new(bytes), hammock_runtime::image::Integrity::Trust),
    };
    library.map_err(|error| Failure::new(hammock_diagnostics::codes::UNSUPPORTED_FILE, error.to_string()))
}

/// Runs work on a thread with a stack for deep trees.
fn on_large_stack<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("hammock-compile".into()).stack_size(STACK_BYTES);
        match thread.spawn_scoped(scope, work) {
            Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(error) => panic!("cannot start a thread: {error}"),
        }
    })
}

/// The exception for diagnostics. It prints as the command line prints them; `diagnostics` is a list of dicts.
fn raise(py: Python<'_>, failure: &Failure) -> PyErr {
    let error = CompileError::new_err(failure.to_string());
    let list = py.import("json").and_then(|json| json.call_method1("loads", (failure.json().to_string(),)));
    // Without the list, the text still says all.
    let _ = list.and_then(|list| error.value(py).setattr("diagnostics", list));
    error
}
