//! Texts in options of passes: modules, index maps, patterns.

use crate::{Failure, ReadOptions, read_source, read_text};
use hammock_diagnostics::{Diagnostic, SourceFile, codes};
use hammock_ir::{
    Function as Global, Module, Span,
    prim::IndexMap,
    relax::pattern::NamedPattern,
    tir::{PrimFunc, Stmt},
};
use hammock_ops::Table;
use hammock_passes::Texts;

/// Reads texts from files of the system.
pub struct TextFiles;

impl Texts for TextFiles {
    fn module(&self, path: &str) -> Result<Module, Diagnostic> {
        let source = read_source(path).map_err(first)?.ok_or_else(|| {
            Diagnostic::error(codes::UNSUPPORTED_FILE, format!("{path} is compiled; give the text of a module"))
        })?;
        let mut module = read_text(&source, &ReadOptions::default()).map_err(first)?;
        let wrong = hammock_ir::verify::errors(&module, &Table);
        if !wrong.is_empty() {
            return Err(first(Failure::from(wrong).within(&source)));
        }
        for function in module.functions.values_mut() {
            if let Global::Tir(kernel) = function {
                clear_spans(kernel);
            }
        }
        Ok(module)
    }

    fn index_map(&self, text: &str) -> Result<IndexMap, Diagnostic> {
        hammock_import::read_index_map(text).map_err(|wrong| {
            let reason = wrong.first().map(|d| d.message.clone()).unwrap_or_default();
            let error = Diagnostic::error(codes::BAD_PASS_OPTIONS, format!("`{text}` is no index map: {reason}"));
            error.help("write a lambda from indices to indices: `lambda i, j: (j, i // 4, i % 4)`")
        })
    }

    fn patterns(&self, path: &str) -> Result<Vec<NamedPattern>, Diagnostic> {
        let source = read_source(path).map_err(first)?.ok_or_else(|| {
            Diagnostic::error(codes::UNSUPPORTED_FILE, format!("{path} is compiled; give a file of patterns"))
        })?;
        hammock_import::read_patterns(&source).map_err(|found| first(found.into()))
    }

    fn pattern(&self, name: &str, text: &str) -> Result<NamedPattern, Diagnostic> {
        let source = SourceFile::new(format!("<pattern {name}>"), text)?;
        let pattern = hammock_import::read_pattern(&source).map_err(|found| first(found.into()))?;
        Ok(NamedPattern { name: name.to_owned(), pattern })
    }
}

/// The first error about a file other than the text that is compiled.
fn first(failure: Failure) -> Diagnostic {
    let Failure { diagnostics, source } = failure;
    match (diagnostics.into_iter().find(Diagnostic::is_error), source) {
        (Some(wrong), Some(source)) if wrong.file.is_none() => wrong.of(&source),
        (Some(wrong), _) => wrong,
        (None, _) => Diagnostic::error(codes::UNREADABLE_FILE, "the file cannot be read"),
    }
}

fn clear_spans(kernel: &mut PrimFunc) {
    fn forget(stmt: &mut Stmt) {
        stmt.span = Span::NONE;
        stmt.each_child_mut(&mut forget);
    }
    kernel.span = Span::NONE;
    forget(&mut kernel.body);
}
