//! User errors, ready to print.

use hammock_diagnostics::{
    Diagnostic, Severity, SourceFile, Span,
    codes::{self, is_wrong_usage},
    render_json, render_text,
};
use hammock_runtime::printable;
use hammock_tools::InputError;
use serde_json::Value;
use std::fmt;

/// One or more diagnostics and the file that their spans point into.
#[derive(Debug)]
pub struct Failure {
    /// Diagnostics; at least one of them is an error.
    pub diagnostics: Vec<Diagnostic>,
    /// The file, when there is one.
    pub source: Option<SourceFile>,
}

impl Failure {
    /// A failure that no source text is concerned with.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Diagnostic::error(code, message).into()
    }

    /// An error of `hammock_tools` about a file or an argument.
    pub fn of_input(code: &'static str, error: InputError) -> Self {
        let failure = Failure::new(code, error.message);
        match error.help {
            Some(help) => failure.help(help),
            None => failure,
        }
    }

    /// The same diagnostics about a file.
    pub fn within(mut self, source: &SourceFile) -> Self {
        self.source.get_or_insert_with(|| source.clone());
        self
    }

    /// Adds advice to the last diagnostic.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        if let Some(last) = self.diagnostics.pop() {
            self.diagnostics.push(last.help(help));
        }
        self
    }

    /// True if every error is one of the command line, see [`is_wrong_usage`].
    pub fn is_wrong_usage(&self) -> bool {
        let mut errors = self.diagnostics.iter().filter(|d| d.severity == Severity::Error);
        errors.all(|error| is_wrong_usage(error.code))
    }

    /// The diagnostics as text, source lines underlined; its only control characters are colours.
    pub fn render(&self, color: bool) -> String {
        let named = |file: &SourceFile| file.renamed(&*printable(file.name()));
        let source = self.source.as_ref().map(named);
        let shown = |d: &Diagnostic| {
            let file = d.file.as_deref().map(named).map(Box::new);
            let d = Diagnostic { file, ..d.map_text(|text| printable(text).into_owned()) };
            render_text(&d, source.as_ref(), color)
        };
        self.diagnostics.iter().map(shown).collect()
    }

    /// The diagnostics as a JSON list, in a form editors can use.
    pub fn json(&self) -> Value {
        self.diagnostics.iter().map(|d| render_json(d, self.source.as_ref())).collect()
    }
}

impl From<Diagnostic> for Failure {
    fn from(diagnostic: Diagnostic) -> Self {
        Failure { diagnostics: vec![diagnostic], source: None }
    }
}

impl From<Vec<Diagnostic>> for Failure {
    fn from(diagnostics: Vec<Diagnostic>) -> Self {
        Failure { diagnostics, source: None }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.render(false).trim_end())
    }
}

impl std::error::Error for Failure {}

/// An error of lowering, at a span of the text if it is known.
pub(crate) fn not_lowerable(message: String, span: Span, source: &SourceFile) -> Failure {
    let d = Diagnostic::error(codes::NOT_LOWERABLE, message);
    Failure::from(if span.is_none() { d } else { d.label(span, "") }).within(source)
}
