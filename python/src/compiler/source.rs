//! Reads models: files, texts, ONNX models in memory.
use super::{
    control::Control,
    keywords::{Keywords, wrong, wrong_type},
    module::ModuleHandle,
};
use crate::convert::to_tensor;
use hammock_compiler::{InputShape, Model, ModelFile, Params, bind};
use hammock_tools::Weights;
use pyo3::{
    exceptions::{PyFileNotFoundError, PyTypeError, PyValueError},
    prelude::*,
    types::{PyByteArray, PyBytes, PyDict, PyString},
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Reads and verifies a model: a text of several lines, the path of a file, an ONNX model as bytes, or a module. Its
/// weights become constants.
///
/// Options: `params`, `module`, `name`, `shapes`, `overridable`, `data_folders`, and `for_program`, which is true if
/// names of weights are wanted, too.
#[pyfunction]
pub fn read(
    py: Python<'_>,
    model: &Bound<'_, PyAny>,
    options: &Bound<'_, PyDict>,
    control: &Bound<'_, PyDict>,
) -> PyResult<ModuleHandle> {
    let (keywords, control) = (Keywords(options), Control::new(control)?);
    let params = params(&keywords)?;
    if let Ok(module) = model.cast::<ModuleHandle>() {
        return with_params(py, module.get(), params, &control);
    }
    let file = model_file(model, &keywords, params)?;
    let for_program = keywords.is_on("for_program")?;
    let model = control.run(py, |progress| {
        let mut model = Model::read_verified(&file, progress)?;
        if for_program {
            model.name_weights(&file);
        }
        model.bind_weights(None)?;
        Ok(model)
    });
    Ok(ModuleHandle::new(model?))
}

/// A module with weights as constants.
fn with_params(py: Python<'_>, module: &ModuleHandle, params: Params, control: &Control<'_>) -> PyResult<ModuleHandle> {
    let weights = match params {
        Params::None => return Ok(ModuleHandle::new(module.model().clone())),
        Params::Zeros => {
            return Err(PyValueError::new_err("`params` is not \"zeros\" for a module, which has its constants"));
        }
        Params::File(path) => Err(path),
        Params::Tensors(weights) => Ok(weights),
    };
    let model = module.model();
    let bound = control.run(py, |_| {
        let weights = match weights {
            Ok(weights) => weights,
            Err(path) => hammock_compiler::read_weights(&path)?,
        };
        let mut model = model.clone();
        bind(&mut model.module, &weights).map_err(|failure| failure.within(&model.source))?;
        Ok(model)
    });
    Ok(ModuleHandle::new(bound?))
}

/// The model to read, and how.
fn model_file(model: &Bound<'_, PyAny>, keywords: &Keywords<'_, '_>, params: Params) -> PyResult<ModelFile> {
    let name: Option<String> = keywords.get("name", "a text that names the model in messages")?;
    let (path, contents) = match contents(model)? {
        Some((usual_name, bytes)) => (name.unwrap_or_else(|| usual_name.to_owned()), Some(Arc::new(bytes))),
        None if name.is_some() => return Err(PyTypeError::new_err("`name` is for models without a file")),
        None => (existing_file(model)?, None),
    };
    let file = ModelFile {
        path,
        contents,
        module: keywords.get("module", "the name of a module in a text")?,
        params,
        shapes: shapes(keywords)?,
        overridable: keywords.get("overridable", "a list of names of inputs")?.unwrap_or_default(),
        data_folders: keywords.get("data_folders", "a list of paths")?.unwrap_or_default(),
        ..ModelFile::default()
    };
    let is_used = [("shapes", !file.shapes.is_empty()), ("overridable", !file.overridable.is_empty())];
    if let Some((option, _)) = is_used.iter().find(|(_, is_given)| *is_given && !file.is_onnx()) {
        return Err(PyValueError::new_err(format!(
            "`{option}` is for inputs of ONNX models, and {} is none",
            file.path
        )));
    }
    if file.module.is_some() && file.is_onnx() {
        return Err(PyValueError::new_err(format!("`module` is for texts, and {} is an ONNX model", file.path)));
    }
    Ok(file)
}

/// The contents of a model in memory, and its name in messages.
fn contents(model: &Bound<'_, PyAny>) -> PyResult<Option<(&'static str, Vec<u8>)>> {
    if let Ok(text) = model.cast::<PyString>() {
        let text = text.to_cow()?;
        return Ok(is_program(&text).then(|| ("<text>", text.as_bytes().to_vec())));
    }
    if let Ok(bytes) = model.cast::<PyBytes>() {
        return Ok(Some(("<bytes>", bytes.as_bytes().to_vec())));
    }
    Ok(model.cast::<PyByteArray>().ok().map(|bytes| ("<bytes>", bytes.to_vec())))
}

/// Returns true for a program, false for a path. A program has several lines; one that lacks its line breaks is told by
/// what only programs have.
fn is_program(text: &str) -> bool {
    let has_function = || text.trim_start().starts_with('@') || text.contains("def ");
    text.contains('\n') || has_function() && !Path::new(text).exists()
}

/// The path of a file that exists. Devices and pipes, which may never end, are none.
fn existing_file(model: &Bound<'_, PyAny>) -> PyResult<String> {
    let form = "the path of a file, a text of several lines, an ONNX model or a hammock.Module";
    let path: PathBuf = model.extract().map_err(|_| wrong_type("model", form, model))?;
    let shown = path.display().to_string();
    let known = std::fs::metadata(&path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            PyFileNotFoundError::new_err((2, "no such file (the text of a model has several lines)", shown.clone()))
        }
        _ => error.into(),
    })?;
    if !known.is_file() && !known.is_dir() {
        return Err(PyValueError::new_err(format!("`model` is a regular file, and {shown} is a device or a pipe")));
    }
    // The driver takes `-` for standard input.
    Ok(if path == Path::new("-") { "./-".to_owned() } else { shown })
}

/// `{"x": (1, 3, "n", "n")}`.
fn shapes(keywords: &Keywords<'_, '_>) -> PyResult<Vec<InputShape>> {
    let form = "a dict of shapes by input, such as {\"x\": (1, 3, \"n\")}";
    let Some(given) = keywords.get::<Bound<'_, PyAny>>("shapes", form)? else { return Ok(Vec::new()) };
    let given = given.cast::<PyDict>().map_err(|_| wrong_type("shapes", form, &given))?;
    let shape = |(input, sizes): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let sizes = sizes.try_iter().map_err(|_| wrong_type("shapes", form, &sizes))?;
        let sizes: Vec<String> = sizes.map(|size| size_text(&size?)).collect::<PyResult<_>>()?;
        let text = format!("{}={}", input.str()?, sizes.join(","));
        text.parse::<InputShape>().map_err(|reason| wrong("shapes", form, format!("{text}: {reason}")))
    };
    given.iter().map(shape).collect()
}

fn size_text(size: &Bound<'_, PyAny>) -> PyResult<String> {
    let text = size.str()?.to_string();
    let is_size = size.is_instance_of::<PyString>() || size.extract::<i64>().is_ok();
    let is_word = !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_');
    if is_size && is_word {
        Ok(text)
    } else {
        Err(wrong("shapes", "made of sizes from 0 and names of sizes", size.repr()?))
    }
}

/// Values of parameters.
fn params(keywords: &Keywords<'_, '_>) -> PyResult<Params> {
    let form = "a dict of arrays by name, the path of a file of weights, or \"zeros\"";
    let Some(params) = keywords.get::<Bound<'_, PyAny>>("params", form)? else { return Ok(Params::None) };
    if let Ok(named) = params.cast::<PyDict>() {
        let tensor = |(name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            let name: String = name.extract().map_err(|_| wrong_type("params", form, &name))?;
            let tensor = to_tensor(&value, None).inspect_err(|error| {
                let _ = error.value(value.py()).call_method1("add_note", (format!("in `params`, for `{name}`"),));
            })?;
            Ok((name, tensor))
        };
        return named.iter().map(tensor).collect::<PyResult<Weights>>().map(Params::Tensors);
    }
    if params.extract::<String>().is_ok_and(|text| text == "zeros") {
        return Ok(Params::Zeros);
    }
    let path: PathBuf = params.extract().map_err(|_| wrong_type("params", form, &params))?;
    std::fs::metadata(&path)
        .map_err(|_| PyFileNotFoundError::new_err((2, "no such weights", path.display().to_string())))?;
    Ok(Params::File(path))
}
