//! Options of the compiler, from keyword arguments.
use super::{
    failure::raise,
    keywords::{Keywords, wrong, wrong_type},
};
use hammock_compiler::{
    Bounds, Cache, ExecMode, Failure, Options, PlanFile, Quantization, Sizes, architecture, check_cpu, libraries,
};
use pyo3::{
    exceptions::{PyFileNotFoundError, PyValueError},
    prelude::*,
    types::{PyBool, PyDict},
};
use std::{path::PathBuf, sync::Arc};

/// Targets of `multi_version=True`.
const VERSIONS: [&str; 3] = ["x86-64-v2", "x86-64-v3", "x86-64-v4"];

/// Reads the compiler's options. Those that are absent or `None` have their defaults.
pub fn options(py: Python<'_>, given: &Bound<'_, PyDict>) -> PyResult<Options> {
    let keywords = Keywords(given);
    let defaults = Options::default();
    let fail = |failure: Failure| raise(py, &failure);
    let target =
        keywords.get::<String>("target", "the name of a CPU, \"cuda\", or that of a GPU such as \"cuda:sm_90\"")?;
    let is_gpu = |name: &&String| *name == "cuda" || name.starts_with("cuda:");
    let gpu = target.as_ref().filter(is_gpu).map(|name| architecture(name)).transpose().map_err(fail)?.flatten();
    let target = target.filter(|_| gpu.is_none()).unwrap_or(defaults.target.clone());
    check_cpu(&target).map_err(fail)?;
    let strict_order = keywords.is_on("strict_order")?;
    let names: Vec<String> = keywords.get("libs", "a list of names")?.unwrap_or_default();
    let options = Options {
        gpu,
        libraries: libraries(&names, gpu, strict_order).map_err(fail)?,
        level: keywords.integer("opt_level", 0, 3)?.map_or(defaults.level, |level| level as u8),
        threads: keywords.integer("threads", 1, 1024)?.map_or(defaults.threads, |threads| threads as usize),
        quantization: quantization(&keywords)?,
        quantized_activations: keywords.is_on("quantize_activations")?,
        exec_mode: exec_mode(&keywords)?.map_err(fail)?,
        bounds: bounds(&keywords)?,
        strict_order,
        allow_tf32: keywords.is_on("allow_tf32")?,
        plans: plans(&keywords)?.map(|path| PlanFile::read(&path)).transpose().map_err(fail)?.map(Arc::new),
        tuned: tuned(&keywords)?.map(|path| PlanFile::read_records(&path)).transpose().map_err(fail)?.map(Arc::new),
        sizes: sizes(&keywords)?,
        cache: cache(&keywords)?,
        external_weights: external_weights(&keywords)?,
        ..defaults
    };
    let has_tf32 = options.gpu.is_some_and(|gpu| gpu.has_tf32()) && !options.strict_order;
    if options.allow_tf32 && !has_tf32 {
        let message =
            "`allow_tf32` is for tensor cores of GPUs from sm_80 on, without `strict_order`; pass `target=\"cuda\"`";
        return Err(PyValueError::new_err(message));
    }
    match versions(&keywords)? {
        versions if versions.is_empty() => Ok(Options { target, ..options }),
        _ if target != "native" || options.gpu.is_some() => {
            Err(PyValueError::new_err("`multi_version` names the CPUs; leave out `target`"))
        }
        _ if options.plans.is_some() => {
            Err(PyValueError::new_err("`plans` are for one CPU; leave out `multi_version`"))
        }
        versions => options.for_several(&versions).map_err(fail),
    }
}

fn quantization(keywords: &Keywords<'_, '_>) -> PyResult<Option<Quantization>> {
    let form = "\"int8\" or \"int4\"";
    let group = keywords.integer("quantize_group", 1, i64::MAX)?;
    let Some(dtype) = keywords.get::<String>("quantize", form)? else {
        let idle = PyValueError::new_err("`quantize_group` is for `quantize`, which is not given");
        return if group.is_some() { Err(idle) } else { Ok(None) };
    };
    let known = ["int8", "int4"].into_iter().find(|known| *known == dtype);
    Ok(Some(Quantization { dtype: known.ok_or_else(|| wrong("quantize", form, format!("{dtype:?}")))?, group }))
}

fn exec_mode(keywords: &Keywords<'_, '_>) -> PyResult<Result<ExecMode, Failure>> {
    let mode: Option<String> = keywords.get("exec_mode", "\"bytecode\", \"compiled\" or \"compiled=f,g\"")?;
    if mode.as_deref() == Some("reference") {
        let message =
            "`exec_mode=\"reference\"` makes no machine code; `hammock run --exec-mode reference` interprets models";
        return Err(PyValueError::new_err(message));
    }
    Ok(mode.map_or(Ok(ExecMode::default()), |mode| mode.parse()))
}

fn bounds(keywords: &Keywords<'_, '_>) -> PyResult<Bounds> {
    let form = "\"checked\" or \"unchecked\"";
    match keywords.get::<String>("bounds", form)?.as_deref() {
        None | Some("checked") => Ok(Bounds::Checked),
        Some("unchecked") => Ok(Bounds::Unchecked),
        Some(other) => Err(wrong("bounds", form, format!("{other:?}"))),
    }
}

/// The path of a file of plans.
fn plans(keywords: &Keywords<'_, '_>) -> PyResult<Option<String>> {
    let Some(path) = keywords.get::<PathBuf>("plans", "the path of a file of plans")? else { return Ok(None) };
    if !path.is_file() {
        return Err(PyFileNotFoundError::new_err((2, "no such file of plans", path.display().to_string())));
    }
    Ok(Some(path.display().to_string()))
}

/// The path of a file of tuned plans. With `tune`, it need not exist yet.
fn tuned(keywords: &Keywords<'_, '_>) -> PyResult<Option<String>> {
    let Some(path) = keywords.get::<PathBuf>("tune_file", "the path of a file of tuned plans")? else {
        return Ok(None);
    };
    if !path.is_file() {
        let missing = PyFileNotFoundError::new_err((2, "no such file of tuned plans", path.display().to_string()));
        return if keywords.seconds("tune")?.is_some() { Ok(None) } else { Err(missing) };
    }
    Ok(Some(path.display().to_string()))
}

/// Sizes to tune for: a number, or a dict of them by name.
fn sizes(keywords: &Keywords<'_, '_>) -> PyResult<Sizes> {
    let form = "a size from 1, or a dict of sizes by name";
    let mut sizes = Sizes::default();
    let Some(given) = keywords.get::<Bound<'_, PyAny>>("tune_sizes", form)? else { return Ok(sizes) };
    let texts: Vec<String> = match given.cast::<PyDict>() {
        Ok(named) => named.iter().map(|(name, size)| format!("{name}={size}")).collect(),
        Err(_) => vec![given.extract::<i64>().map_err(|_| wrong_type("tune_sizes", form, &given))?.to_string()],
    };
    for text in texts {
        sizes.add(&text).map_err(|_| wrong("tune_sizes", form, &text))?;
    }
    Ok(sizes)
}

/// The kernel cache: where it cannot be used, all kernels are compiled.
fn cache(keywords: &Keywords<'_, '_>) -> PyResult<Option<Arc<Cache>>> {
    let is_on = keywords.get("cache", "True or False")?.unwrap_or(true);
    Ok(is_on.then(|| Cache::of_environment(None).ok()).flatten().map(Arc::new))
}

/// The name of the file of weights, next to the output.
fn external_weights(keywords: &Keywords<'_, '_>) -> PyResult<Option<String>> {
    let form = "the path of a .safetensors file in the folder of `output`";
    let Some(path) = keywords.get::<PathBuf>("external_weights", form)? else { return Ok(None) };
    let output: Option<PathBuf> = keywords.get("output", "a path")?;
    let output = output.ok_or_else(|| PyValueError::new_err("`external_weights` needs `output`, a file next to it"))?;
    let name = path.file_name().and_then(|name| name.to_str()).filter(|name| name.ends_with(".safetensors"));
    let is_beside = path.parent() == output.parent() && path != output;
    name.filter(|_| is_beside)
        .map(|name| Some(name.to_owned()))
        .ok_or_else(|| wrong("external_weights", form, path.display()))
}

/// CPUs that a library has kernels for.
fn versions(keywords: &Keywords<'_, '_>) -> PyResult<Vec<String>> {
    let form = "True or a list of names of CPUs";
    let Some(given) = keywords.get::<Bound<'_, PyAny>>("multi_version", form)? else { return Ok(Vec::new()) };
    match given.cast::<PyBool>() {
        Ok(all) if all.is_true() => Ok(VERSIONS.map(str::to_owned).to_vec()),
        Ok(_) => Ok(Vec::new()),
        Err(_) => given.extract().map_err(|_| wrong_type("multi_version", form, &given)),
    }
}
