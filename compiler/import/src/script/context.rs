//! State that all readers of one file share.

use super::{metadata::Metadata, scope::Scope};
use crate::ReadOptions;
use hammock_diagnostics::{Diagnostic, SourceFile, Span};
use hammock_ir::{Module, Name};
use rustc_hash::{FxHashMap, FxHashSet};

/// Errors recorded for one file; later ones are most likely echoes.
const MAX_ERRORS: usize = 100;

/// Proof that a diagnostic was recorded: whoever gets it need not say more.
#[derive(Debug)]
pub(crate) struct Reported(());

/// What reading a part of the text gives.
pub(crate) type Read<T> = Result<T, Reported>;

/// The file, its names, and the module being made.
pub(crate) struct Context<'a> {
    pub source: &'a SourceFile,
    pub options: &'a ReadOptions,
    pub diagnostics: Vec<Diagnostic>,
    /// Names of the file and the class: namespaces, `TypeVar`s, aliases.
    pub names: Scope,
    pub metadata: Metadata,
    /// Functions so far: with bodies, or only declared.
    pub module: Module,
    /// Functions that could not be read at all: mentioning them is no further mistake.
    pub broken: FxHashSet<Name>,
    /// Functions called with `tir_vars=`, and after how many inputs their scalars belong.
    pub trailing_scalars: FxHashMap<Name, TrailingScalars>,
    /// Where a `return` stands outside of all functions: the one before it lacks it.
    pub stray_return: Option<Span>,
}

/// How a function is called that takes its scalars after its outputs, as texts before 0.26 have it.
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
            names: super::namespace::predeclared(),
            metadata: Metadata::default(),
            module: Module::new(),
            broken: FxHashSet::default(),
            trailing_scalars: FxHashMap::default(),
            stray_return: None,
        }
    }

    /// Records a diagnostic, once: expressions that are read twice are wrong twice.
    pub fn report(&mut self, diagnostic: Diagnostic) -> Reported {
        let same = |d: &Diagnostic| d.span() == diagnostic.span() && d.message == diagnostic.message;
        if self.diagnostics.len() < MAX_ERRORS && !self.diagnostics.iter().any(same) {
            self.diagnostics.push(diagnostic);
        }
        Reported(())
    }

    /// Records an error with one labelled place.
    pub fn error(
        &mut self,
        code: &'static str,
        span: Span,
        message: impl Into<String>,
        label: impl Into<String>,
    ) -> Reported {
        self.report(Diagnostic::error(code, message).label(span, label))
    }

    /// Records what another reader found.
    pub fn report_all(&mut self, diagnostics: Vec<Diagnostic>) -> Reported {
        for diagnostic in diagnostics {
            self.report(diagnostic);
        }
        Reported(())
    }

    /// Says of which argument the diagnostics are, those after the first `said`, where they say nothing else.
    pub fn name_argument(&mut self, said: usize, param: &str, callee: &str, argument: Span) {
        let labels = self.diagnostics.iter_mut().skip(said).flat_map(|d| &mut d.labels);
        for label in labels.filter(|label| label.primary && label.message.is_empty() && label.span == argument) {
            label.message = format!("`{param}` of `{callee}`");
        }
    }

    /// For something that failed before and was reported then.
    pub fn reported_before(&self) -> Reported {
        debug_assert!(!self.diagnostics.is_empty());
        Reported(())
    }
}
