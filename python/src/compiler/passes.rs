//! Lists of passes: parsing and running them.
use super::{
    control::{Control, Reporter},
    failure::raise,
    module::ModuleHandle,
    options::options,
};
use hammock_compiler::{Build, Failure};
use hammock_diagnostics::Diagnostic;
use hammock_ir::Module;
use hammock_passes::{Observer, PASSES, Pass, Pipeline};
use pyo3::{prelude::*, types::PyDict};
use std::time::Duration;

/// An option of a pass: its name, what it takes, its default as JSON, what it does.
type OptionEntry = (&'static str, String, &'static str, &'static str);

/// Every pass: its name, what it does, its options.
#[pyfunction]
pub fn list_passes() -> Vec<(&'static str, &'static str, Vec<OptionEntry>)> {
    let options = |pass: &Pass| {
        let entry =
            |option: &hammock_passes::PassOption| (option.name, option.kind.to_string(), option.default, option.doc);
        pass.options.iter().map(entry).collect()
    };
    PASSES.iter().map(|pass| (pass.name, pass.doc, options(pass))).collect()
}

/// The passes in a list, `A,B{option=1}`, each as text.
#[pyfunction]
pub fn split_passes(py: Python<'_>, list: &str) -> PyResult<Vec<String>> {
    parse(py, list).map(|pipeline| texts(&pipeline))
}

/// The passes that lower a module at the level of the options, each as text.
#[pyfunction]
pub fn level_passes(py: Python<'_>, given: &Bound<'_, PyDict>) -> PyResult<Vec<String>> {
    Ok(texts(&options(py, given)?.level_pipeline()))
}

fn texts(pipeline: &Pipeline) -> Vec<String> {
    pipeline.steps.iter().map(|step| format!("{}{}", step.pass.name, step.options)).collect()
}

/// Parses a list of passes.
pub fn parse(py: Python<'_>, list: &str) -> PyResult<Pipeline> {
    Pipeline::parse(list).map_err(|error| raise(py, &error.into()))
}

/// Runs passes on a copy of a module.
#[pyfunction]
pub fn run_passes(
    py: Python<'_>,
    module: &Bound<'_, ModuleHandle>,
    list: &str,
    given: &Bound<'_, PyDict>,
    control: &Bound<'_, PyDict>,
) -> PyResult<ModuleHandle> {
    let (pipeline, control) = (parse(py, list)?, Control::new(control)?);
    let options = hammock_compiler::Options { stop: control.stop(), ..options(py, given)? };
    let model = module.get().model();
    let result = control.run(py, |reporter| {
        let mut passes = Passes::new(&pipeline, reporter.again());
        let mut build = Build::new(model.clone(), options, reporter);
        let run = build.run_passes(&pipeline, &mut passes);
        run.map_err(|failure| passes.blame(failure))?;
        Ok(build.model().clone())
    });
    Ok(ModuleHandle::new(result?))
}

/// Reports each pass, and knows which one fails.
pub struct Passes {
    names: Vec<&'static str>,
    /// Number of passes that have run.
    done: usize,
    reporter: Reporter,
}

impl Passes {
    /// The observer of a pipeline.
    pub fn new(pipeline: &Pipeline, reporter: Reporter) -> Passes {
        Passes { names: pipeline.steps.iter().map(|step| step.pass.name).collect(), done: 0, reporter }
    }

    /// Adds the name of the pass that failed.
    pub fn blame(&self, failure: Failure) -> Failure {
        match self.names.get(self.done).filter(|_| self.done > 0 || self.names.len() == 1) {
            Some(pass) => failure.help(format!("this is an error of the pass `{pass}`")),
            None => failure,
        }
    }
}

impl Observer for Passes {
    fn after(&mut self, _: &Pass, _: &Module, _: Duration) -> Result<(), Diagnostic> {
        self.done += 1;
        if let Some(next) = self.names.get(self.done) {
            self.reporter.say(format!("pass {next}"));
        }
        Ok(())
    }
}
