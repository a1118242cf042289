//! Lists of passes: parsing, printing and running them.

use crate::{Context, Environment, Observer, Options, PASSES, Pass};
use hammock_diagnostics::{Diagnostic, codes};
use hammock_ir::Module;
use hammock_runtime::suggest::nearest;
use std::{fmt, time::Instant};

/// Passes to run in order.
#[derive(Clone, Default)]
pub struct Pipeline {
    /// The passes and their options.
    pub steps: Vec<Step>,
}

/// A pass with its options.
#[derive(Clone)]
pub struct Step {
    /// The pass.
    pub pass: &'static Pass,
    /// Its options.
    pub options: Options,
}

impl From<&'static Pass> for Step {
    fn from(pass: &'static Pass) -> Self {
        Step { pass, options: Options::of(pass) }
    }
}

impl Pipeline {
    /// Parses `a,b{option=1},c`, where values are JSON. Empty text is the empty pipeline.
    ///
    /// # Errors
    /// If there is no pass of a name, or it does not accept its options.
    pub fn parse(text: &str) -> Result<Pipeline, Diagnostic> {
        Pipeline::parse_with(text, &[])
    }

    /// Like [`Pipeline::parse`], but names are looked up in `own` first.
    ///
    /// # Errors
    /// As for [`Pipeline::parse`].
    pub fn parse_with(text: &str, own: &[&'static Pass]) -> Result<Pipeline, Diagnostic> {
        let mut steps = Vec::new();
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            let end = rest.find([',', '{']).unwrap_or(rest.len());
            let mut step = Step::from(find_with(rest[..end].trim(), own)?);
            rest = &rest[end..];
            if let Some(inner) = rest.strip_prefix('{') {
                rest = read_options(&mut step, inner)?.trim_start();
                if !rest.is_empty() && !rest.starts_with(',') {
                    return Err(unreadable(step.pass, "a comma must follow `}`"));
                }
            }
            steps.push(step);
            rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
        }
        Ok(Pipeline { steps })
    }

    /// Runs every pass on the module.
    ///
    /// # Errors
    /// The error of a pass or of the observer, or that of the condition that stops it; the module is then in an
    /// unspecified but valid state.
    pub fn run(
        &self,
        module: &mut Module,
        environment: &Environment,
        observer: &mut dyn Observer,
    ) -> Result<(), Diagnostic> {
        observer.before(module);
        for Step { pass, options } in &self.steps {
            environment.stop.check()?;
            let start = Instant::now();
            (pass.run)(module, &Context { options, environment })?;
            observer.after(pass, module, start.elapsed())?;
        }
        Ok(())
    }
}

/// Prints text that [`Pipeline::parse`] reads.
impl fmt::Display for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, Step { pass, options }) in self.steps.iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            write!(f, "{comma}{}{options}", pass.name)?;
        }
        Ok(())
    }
}

/// Finds a pass by name.
///
/// # Errors
/// If there is none; suggests a similar name.
pub fn find(name: &str) -> Result<&'static Pass, Diagnostic> {
    find_with(name, &[])
}

/// Finds a pass in `own`, then in [`PASSES`].
fn find_with(name: &str, own: &[&'static Pass]) -> Result<&'static Pass, Diagnostic> {
    let all = || own.iter().chain(PASSES);
    let is_named =
        |pass: &&&'static Pass| pass.name == name || in_dialect(pass.name) && plain(pass.name) == plain(name);
    all().find(is_named).copied().ok_or_else(|| {
        let error = Diagnostic::error(codes::UNKNOWN_PASS, format!("there is no pass `{name}`"));
        match nearest(name, all().map(|pass| pass.name)) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error.help("`hammock passes` lists them"),
        }
    })
}

/// Dialect prefixes of passes over TIR. Older versions of TVM call both dialects `tir`.
const DIALECTS: [&str; 3] = ["tirx.", "s_tir.", "tir."];

fn in_dialect(name: &str) -> bool {
    DIALECTS.iter().any(|dialect| name.starts_with(dialect))
}

/// Returns a pass's name without its dialect.
fn plain(name: &str) -> &str {
    DIALECTS.iter().find_map(|dialect| name.strip_prefix(dialect)).unwrap_or(name)
}

const NEVER_CLOSED: &str = "`{` is never closed";

/// Parses `name=value,…}` and returns the rest of the text.
fn read_options<'t>(step: &mut Step, text: &'t str) -> Result<&'t str, Diagnostic> {
    let mut rest = text.trim_start();
    while !rest.starts_with('}') {
        let Some((name, after)) = rest.split_once('=').filter(|(name, _)| !name.contains(['}', ','])) else {
            let reason = if rest.contains('}') { "each is `name=value`" } else { NEVER_CLOSED };
            return Err(unreadable(step.pass, reason));
        };
        let name = name.trim();
        let mut values = serde_json::Deserializer::from_str(after).into_iter();
        let value = match values.next() {
            Some(Ok(value)) => value,
            _ => return Err(unreadable(step.pass, &format!("the value of `{name}` is not JSON"))),
        };
        step.options.set(step.pass, name, value)?;
        rest = after[values.byte_offset()..].trim_start();
        rest = match rest.strip_prefix(',') {
            Some(rest) => rest.trim_start(),
            None if rest.starts_with('}') => rest,
            None if rest.is_empty() => return Err(unreadable(step.pass, NEVER_CLOSED)),
            None => return Err(unreadable(step.pass, "a comma or `}` must follow a value")),
        };
    }
    Ok(&rest[1..])
}

fn unreadable(pass: &Pass, reason: &str) -> Diagnostic {
    let message = format!("options of pass `{}` cannot be read: {reason}", pass.name);
    Diagnostic::error(codes::BAD_PASS_OPTIONS, message).help("write `Pass{name=value,other=value}`; values are JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_pipelines_read_back() {
        let text = r#"Normalize,DeadCodeElimination{entry_functions=["main","}, {"]},VMShapeLower{emit_err_ctx=false}"#;
        let pipeline = Pipeline::parse(text).unwrap();
        assert_eq!(pipeline.to_string(), text);
        assert_eq!(pipeline.steps[1].options.texts("entry_functions"), ["main", "}, {"]);
        assert!(!pipeline.steps[2].options.is_on("emit_err_ctx"));
        let spaced = " Normalize , DeadCodeElimination{ entry_functions = [ ] , } ,VMShapeLower{}";
        let printed = "Normalize,DeadCodeElimination{entry_functions=[]},VMShapeLower";
        assert_eq!(Pipeline::parse(spaced).unwrap().to_string(), printed);
        assert!(Pipeline::parse("VMShapeLower").unwrap().steps[0].options.is_on("emit_err_ctx"));
    }

    #[test]
    fn passes_over_tir_are_found_in_either_dialect_or_none() {
        for name in ["tirx.UnrollLoop", "tir.UnrollLoop", "s_tir.UnrollLoop", "UnrollLoop"] {
            assert_eq!(find(name).unwrap().name, "tirx.UnrollLoop");
        }
        assert!(find("tirx.LegalizeOps").is_err() && find("tirx.InlinePrivateFunctions").is_err());
    }

    #[test]
    fn errors_name_the_cause() {
        for (text, why) in [
            ("Normalise", "there is no pass `Normalise`"),
            ("Normalize{speed=3}", "has no option `speed`"),
            ("VMShapeLower{emit_err_ctx=1}", "cannot be `1`"),
            ("VMShapeLower{emit_err_ctx=True}", "the value of `emit_err_ctx` is not JSON"),
            ("VMShapeLower{emit_err_ctx=true,emit_err_ctx=true}", "given twice"),
            ("VMShapeLower{emit_err_ctx=true emit", "a comma or `}` must follow"),
            ("VMShapeLower{emit_err_ctx=true", "`{` is never closed"),
            ("VMShapeLower{emit_err_ctx", "`{` is never closed"),
            ("VMShapeLower{emit_err_ctx}", "each is `name=value`"),
            ("VMShapeLower{}Normalize", "a comma must follow `}`"),
        ] {
            let error = Pipeline::parse(text).err().unwrap();
            assert!(error.message.contains(why), "{text}: {}", error.message);
        }
    }
}
