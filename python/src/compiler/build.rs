//! Compiles modules to models that run.
use super::{
    control::{Control, Reporter},
    keywords::Keywords,
    module::ModuleHandle,
    options::options,
    passes::{Passes, parse},
};
use crate::{
    convert::Returns,
    model::{self, Model},
};
use hammock_compiler::{Artifact, Build, Emit, Failure, Options};
use hammock_diagnostics::codes;
use hammock_passes::with_prepared_constants;
use hammock_runtime::Library;
use hammock_tools::{Content, write_file};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyDict};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

/// Compiles a module. `list` are passes that run before those of the level. The model has the options of `load`; `limits`
/// are its time, its memory and its device.
#[pyfunction]
pub fn build(
    py: Python<'_>,
    module: &Bound<'_, ModuleHandle>,
    list: &str,
    given: &Bound<'_, PyDict>,
    control: &Bound<'_, PyDict>,
    returns: Returns,
    limits: (Option<f64>, Option<usize>, Option<Bound<'_, PyAny>>),
) -> PyResult<Model> {
    let (timeout, max_memory, device) = limits;
    let run = model::options(timeout, max_memory, device.as_ref())?;
    let control = Control::new(control)?;
    let options = Options { passes: parse(py, list)?, stop: control.stop(), ..options(py, given)? };
    let plan = Plan::new(&Keywords(given), &options)?;
    let source = module.get().model();
    let path = plan.output.clone();
    let library = control.run(py, move |reporter| {
        let files = plan.compile(source.clone(), options, reporter)?;
        plan.load(files)
    });
    Model::new(library?, run, path, returns)
}

/// What a build does in addition to compiling.
struct Plan {
    /// Time for tuning, and the file of plans.
    tune: Option<(Duration, Option<PathBuf>)>,
    /// The file to write.
    output: Option<PathBuf>,
    /// The file of weights next to it.
    weights: Option<PathBuf>,
}

impl Plan {
    fn new(keywords: &Keywords<'_, '_>, options: &Options) -> PyResult<Plan> {
        let file: Option<PathBuf> = keywords.get("tune_file", "the path of a file of tuned plans")?;
        let tune = keywords.seconds("tune")?.map(|time| (time, file));
        if tune.is_some() && (options.target != "native" || !options.others.is_empty()) {
            return Err(PyValueError::new_err(
                "`tune` measures on this machine; leave out `target` and `multi_version`",
            ));
        }
        let output: Option<PathBuf> = keywords.get("output", "the path of the file to write")?;
        // A pickled model is loaded from there, whatever the directory is then. And `-` is a name, not standard output.
        let output = output.map(std::path::absolute).transpose()?;
        Ok(Plan { tune, output, weights: keywords.get("external_weights", "the path of the file of weights")? })
    }

    fn compile(
        &self,
        source: hammock_compiler::Model,
        options: Options,
        reporter: &mut Reporter,
    ) -> Result<Artifact, Failure> {
        let pipeline = with_prepared_constants(options.pipeline());
        let mut passes = Passes::new(&pipeline, reporter.again());
        let tuning = reporter.again();
        let mut build = Build::new(source, options, reporter);
        build.lower(&pipeline, &mut passes).map_err(|failure| passes.blame(failure))?;
        if let Some((time, file)) = &self.tune {
            tune(&mut build, *time, file.as_deref(), &tuning)?;
        }
        build.compile(Emit::Lib)
    }

    /// Writes the library, if asked to, and loads it.
    fn load(&self, artifact: Artifact) -> Result<Library, Failure> {
        let library = match &self.output {
            Some(path) => {
                if let (Some(weights), Some(path)) = (&artifact.weights, &self.weights) {
                    weights.write(path).map_err(unwritable)?;
                }
                write_file(path, Content::Program, |out| artifact.file.write(out)).map_err(unwritable)?;
                Library::open(path)
            }
            None => artifact.file.library(),
        };
        library.map_err(|error| Failure::new(codes::UNSUPPORTED_FILE, error.to_string()))
    }
}

fn unwritable(error: hammock_tools::InputError) -> Failure {
    Failure::of_input(codes::UNWRITABLE_FILE, error)
}

/// Tunes kernels, and writes the plans to the file.
fn tune(build: &mut Build<'_>, time: Duration, file: Option<&Path>, reporter: &Reporter) -> Result<(), Failure> {
    build.begin("tuning")?;
    let name = file.map_or_else(|| "<tuned plans>".to_owned(), |file| file.display().to_string());
    let threads = build.options().threads;
    let mut report = |done: f64, kernel: &str| reporter.say(format!("tuning {:.0} %: {kernel}", done * 100.0));
    build.tune(time, threads, &name, &mut report)?;
    let plans = build.options().tuned.as_ref().zip(file);
    plans.map_or(Ok(()), |(plans, file)| {
        write_file(file, Content::Text, |out| out.write_all(plans.text().as_bytes())).map_err(unwritable)
    })
}
