//! State that all readers of one file share.

use super::{metadata::Metadata, scope::Scope};
use crate::ReadOptions;
use hammock_diagnostics::{Diagnostic, SourceFile, Span};
use hammock_ir::{Module, Name};
use rustc_hash::{FxHashMap, FxHashSet};

/// Maximum number of errors recorded for one file; later ones are most likely consequences.
const MAX_ERRORS: usize = 100;

/// Proof that a diagnostic was recorded: callers need not report the error again.
#[derive(Debug)]
pub(crate) struct Reported(());

/// Result of reading a part of the text.
pub(crate) type Read<T> = Result<T, Reported>;

/// The file, its names, and the module under construction.
pub(crate) struct Context<'a> {
    pub source: &'a SourceFile,
    pub options: &'a ReadOptions,
    pub diagnostics: Vec<Diagnostic>,
    /// Names of the file and the class: namespaces, `TypeVar`s, aliases.
    pub names: Scope,
    pub metadata: Metadata,
    /// Functions so far: with bodies, or only declared.
    pub module: Module,
    /// Functions that could not be read: references to them are not reported.
    pub broken: FxHashSet<Name>,
    /// Functions called with `tir_vars=`, with the number of inputs before their scalars.
    pub trailing_scalars: FxHashMap<Name, TrailingScalars>,
    /// Span of a `return` outside all functions, which the function before it lacks.
    pub report_stray_return: Option<Span>,
}

/// A call of a function that takes its scalars after its outputs, as in texts before 0.26.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct TrailingScalars {
    pub inputs: usize,
    pub scalars: usize,
}

impl<'a> Context<'a> {
    pub fn new(source: &'a SourceFile, options: &'a ReadOptions) -> Self {
        Context {
            source,
            options,
            diagnostics: Vec::new(),
            names: Scope::predeclared(),
            metadata: Metadata::default(),
            module: Module::new(),
            broken: FxHashSet::default(),
            trailing_scalars: FxHashMap::default(),
            report_stray_return: None,
        }
    }

    /// Records a diagnostic, once: expressions may be read twice.
    pub fn report(&mut self, diagnostic: Diagnostic) -> Reported {
        let same = |d: &Diagnostic| d.span() == diagnostic.span() && d.message == diagnostic.message;
        if self.diagnostics.len() < MAX_ERRORS && !self.diagnostics.iter().any(same) {
            self.diagnostics.push(diagnostic);
        }
        Reported(())
    }

    /// Records an error with one labelled span.
    pub fn error(
        &mut self,
        code: &'static str,
        span: Span,
        message: impl Into<String>,
        label: impl Into<String>,
    ) -> Reported {
        self.report(Diagnostic::error(code, message).label(span, label))
    }

    /// Records the diagnostics of another reader.
    pub fn report_all(&mut self, diagnostics: Vec<Diagnostic>) -> Reported {
        for diagnostic in diagnostics {
            self.report(diagnostic);
        }
        Reported(())
    }

    /// Adds the argument's name to the diagnostics after the first `said` that have no other label.
    pub fn name_argument(&mut self, said: usize, param: &str, callee: &str, argument: Span) {
        let labels = self.diagnostics.iter_mut().skip(said).flat_map(|d| &mut d.labels);
        for label in labels.filter(|label| label.primary && label.message.is_empty() && label.span == argument) {
            label.message = format!("`{param}` of `{callee}`");
        }
    }

    /// For an error that was reported before.
    pub fn reported_before(&self) -> Reported {
        debug_assert!(!self.diagnostics.is_empty());
        Reported(())
    }
}
