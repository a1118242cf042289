//! Lists of passes: written, printed, run.

use crate::{Context, Observer, PASSES, Pass};
use hammock_ir::Module;
use hammock_runtime::near::nearest;
use hammock_syntax::{Diagnostic, codes};
use std::{fmt, time::Instant};

/// Passes to run in order.
#[derive(Default)]
pub struct Pipeline {
    /// The passes.
    pub steps: Vec<&'static Pass>,
}

/// What turns a module as written into one that the bytecode generator takes.
pub fn default_pipeline() -> Pipeline {
    Pipeline { steps: PASSES.iter().collect() }
}

impl Pipeline {
    /// Reads `a,b{},c`. Empty text is the empty pipeline.
    ///
    /// # Errors
    /// When a name is not a pass's, or options are given: no pass has any.
    pub fn parse(text: &str) -> Result<Pipeline, Diagnostic> {
        let mut steps = Vec::new();
        let mut rest = text.trim();
        while !rest.is_empty() {
            let end = rest.find([',', '{']).unwrap_or(rest.len());
            let name = rest[..end].trim();
            let pass = find(name)?;
            rest = &rest[end..];
            if let Some(inner) = rest.strip_prefix('{') {
                let close = inner.find('}').ok_or_else(|| unclosed(name))?;
                no_options(name, &inner[..close])?;
                rest = &inner[close + 1..];
            }
            steps.push(pass);
            rest = rest.trim_start();
            rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
        }
        Ok(Pipeline { steps })
    }

    /// Runs every pass on the module.
    ///
    /// # Errors
    /// The first pass's or observer's error; the module is then in an unspecified but valid state.
    pub fn run(&self, module: &mut Module, observer: &mut dyn Observer) -> Result<(), Diagnostic> {
        for pass in &self.steps {
            let start = Instant::now();
            (pass.run)(module, &Context)?;
            observer.after(pass, module, start.elapsed())?;
        }
        Ok(())
    }
}

impl fmt::Display for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, pass) in self.steps.iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            write!(f, "{comma}{}", pass.name)?;
        }
        Ok(())
    }
}

/// The pass of that name.
///
/// # Errors
/// When there is none; with the name that was meant, if one is near.
pub fn find(name: &str) -> Result<&'static Pass, Diagnostic> {
    PASSES.iter().find(|pass| pass.name == name).ok_or_else(|| {
        let error = Diagnostic::error(codes::UNKNOWN_PASS, format!("there is no pass `{name}`"));
        match nearest(name, PASSES.iter().map(|pass| pass.name)) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error.help("`hammock passes` lists them"),
        }
    })
}

fn no_options(pass: &str, text: &str) -> Result<(), Diagnostic> {
    let Some(option) = text.split(',').map(str::trim).find(|option| !option.is_empty()) else { return Ok(()) };
    let name = option.split('=').next().unwrap_or(option).trim();
    Err(Diagnostic::error(codes::BAD_PASS_OPTIONS, format!("pass `{pass}` has no option `{name}`"))
        .help(format!("it has none at all: write `{pass}`")))
}

fn unclosed(pass: &str) -> Diagnostic {
    Diagnostic::error(codes::BAD_PASS_OPTIONS, format!("options of pass `{pass}` cannot be read: `{{` is never closed"))
        .help(format!("it has none at all: write `{pass}`"))
}
