//! Lists of passes: written, printed, run.

use crate::{Context, Observer, PASSES, Pass, find};
use hammock_ir::{AttrValue, Attrs, Module};
use hammock_syntax::{Diagnostic, codes};
use std::{fmt, time::Instant};

/// Passes to run in order.
#[derive(Default)]
pub struct Pipeline {
    /// The passes with their options.
    pub steps: Vec<Step>,
}

/// A pass with options.
pub struct Step {
    /// The pass.
    pub pass: &'static Pass,
    /// Its options.
    pub options: Attrs,
}

/// What turns a module as written into one that the bytecode generator takes.
pub fn default_pipeline() -> Pipeline {
    Pipeline { steps: PASSES.iter().map(|pass| Step { pass, options: Attrs::new() }).collect() }
}

impl Pipeline {
    /// Reads `a,b{opt=1,other="x"},c`. Empty text is the empty pipeline.
    ///
    /// # Errors
    /// When a name is not a pass's, or the options cannot be read.
    pub fn parse(text: &str) -> Result<Pipeline, Diagnostic> {
        let mut steps = Vec::new();
        let mut rest = text.trim();
        while !rest.is_empty() {
            let end = rest.find([',', '{']).unwrap_or(rest.len());
            let name = rest[..end].trim();
            let pass = find(name).ok_or_else(|| unknown_pass(name))?;
            rest = &rest[end..];
            let mut options = Attrs::new();
            if let Some(inner) = rest.strip_prefix('{') {
                let close = inner.find('}').ok_or_else(|| bad_options(name, "`{` is never closed"))?;
                options = parse_options(name, &inner[..close])?;
                rest = &inner[close + 1..];
            }
            steps.push(Step { pass, options });
            rest = rest.trim_start();
            rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
        }
        Ok(Pipeline { steps })
    }

    /// The steps up to and including the pass of that name; all when it is not there.
    pub fn up_to(mut self, name: &str) -> Pipeline {
        if let Some(at) = self.steps.iter().rposition(|s| s.pass.name == name) {
            self.steps.truncate(at + 1);
        }
        self
    }

    /// Runs every pass on the module.
    ///
    /// # Errors
    /// The first pass's or observer's error; the module is then in an unspecified but valid state.
    pub fn run(&self, module: &mut Module, observer: &mut dyn Observer) -> Result<(), Diagnostic> {
        for step in &self.steps {
            let start = Instant::now();
            (step.pass.run)(module, &Context { options: step.options.clone() })?;
            observer.after(step.pass, module, start.elapsed())?;
        }
        Ok(())
    }
}

impl fmt::Display for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, step) in self.steps.iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            write!(f, "{comma}{}", step.pass.name)?;
        }
        Ok(())
    }
}

fn parse_options(pass: &str, text: &str) -> Result<Attrs, Diagnostic> {
    let pairs = text.split(',').map(str::trim).filter(|p| !p.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').ok_or_else(|| bad_options(pass, "an option is `name=value`"))?;
            Ok((name.trim().to_owned(), option_value(value.trim())))
        })
        .collect()
}

fn option_value(text: &str) -> AttrValue {
    match text {
        "true" | "True" => AttrValue::Bool(true),
        "false" | "False" => AttrValue::Bool(false),
        _ => match (text.parse(), text.parse()) {
            (Ok(int), _) => AttrValue::Int(int),
            (_, Ok(float)) => AttrValue::Float(float),
            _ => AttrValue::from(text.trim_matches('"')),
        },
    }
}

fn bad_options(pass: &str, why: &str) -> Diagnostic {
    Diagnostic::error(codes::BAD_PASS_OPTIONS, format!("options of pass `{pass}` cannot be read: {why}"))
        .help("write them as `Pass{name=value,other=value}`")
}

fn unknown_pass(name: &str) -> Diagnostic {
    let error = Diagnostic::error(codes::UNKNOWN_PASS, format!("there is no pass `{name}`"));
    let near = PASSES.iter().map(|p| p.name).find(|p| p.eq_ignore_ascii_case(name));
    match near {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => error.help("`hammock passes` lists them"),
    }
}
