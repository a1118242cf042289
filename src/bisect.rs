//! `hammock opt --bisect`: finds the pass after which a command fails.

use crate::output::say;
use hammock_compiler::Failure;
use hammock_diagnostics::{Diagnostic, codes};
use hammock_ir::{Module, print::module_text};
use hammock_passes::{Environment, Observer, Pass, Pipeline};
use std::{path::Path, process::Command, time::Duration};

/// The module's text before the first pass, and after each.
#[derive(Default)]
struct Texts(Vec<String>);

impl Observer for Texts {
    fn before(&mut self, module: &Module) {
        self.0.push(module_text(module, &Default::default()));
    }

    fn after(&mut self, _: &Pass, module: &Module, _: Duration) -> Result<(), Diagnostic> {
        self.0.push(module_text(module, &Default::default()));
        Ok(())
    }
}

/// Runs a pipeline, then the command on the module as it was after some of the passes; says which pass is the first
/// after which the command fails.
pub fn bisect(
    module: &mut Module,
    pipeline: &Pipeline,
    environment: &Environment,
    command: &str,
) -> Result<String, Failure> {
    let mut texts = Texts::default();
    // Also finds a pass that fails: the command gets its input.
    pipeline.run(module, environment, &mut texts)?;
    let folder = tempfile::tempdir().map_err(|e| failure(format!("no folder for modules: {e}")))?;
    let works = |passes: usize| {
        let path = folder.path().join(format!("after_{passes:02}.py"));
        std::fs::write(&path, &texts.0[passes]).map_err(|e| failure(format!("cannot write a module: {e}")))?;
        let works = succeeds(command, &path)?;
        let after = passes.checked_sub(1).map_or("no pass", |last| pipeline.steps[last].pass.name);
        say(&format!("after {after}: {}\n", if works { "succeeds" } else { "fails" }))?;
        Ok::<bool, Failure>(works)
    };
    let all = pipeline.steps.len();
    if !works(0)? {
        return Err(failure(format!("`{command}` fails on the module before any pass")));
    }
    if works(all)? {
        return Ok(format!("`{command}` succeeds after all {all} passes\n"));
    }
    let (mut good, mut bad) = (0, all);
    while bad - good > 1 {
        let middle = good.midpoint(bad);
        *(if works(middle)? { &mut good } else { &mut bad }) = middle;
    }
    let step = &pipeline.steps[bad - 1];
    Ok(format!("pass {bad} of {all}, {}{}, is the first after which `{command}` fails\n", step.pass.name, step.options))
}

/// Returns true if a shell command, with a file as its last argument, succeeds.
fn succeeds(command: &str, file: &Path) -> Result<bool, Failure> {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("{command} \"$1\" >/dev/null 2>&1")).arg("sh").arg(file);
    let status = shell.status().map_err(|e| failure(format!("cannot run `{command}`: {e}")))?;
    match status.code() {
        Some(127) => Err(failure(format!("`{command}` is not a command that the shell finds"))),
        code => Ok(code == Some(0)),
    }
}

fn failure(message: String) -> Failure {
    Failure::new(codes::RUN_FAILED, message)
}
