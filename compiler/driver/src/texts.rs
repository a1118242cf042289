//! What options of passes give as text.

use crate::{Failure, ReadOptions, input::read_source, read_text};
use hammock_diagnostics::{Diagnostic, SourceFile, codes};
use hammock_ir::{
    Function as Global, Module, Span,
    prim::IndexMap,
    tir::{PrimFunc, Stmt},
};
use hammock_ops::Table;
use hammock_passes::Texts;

/// Reads texts from files of the system.
pub struct TextFiles;

impl Texts for TextFiles {
    fn module(&self, path: &str) -> Result<Module, Diagnostic> {
        let source = read_source(path).map_err(|failure| first(path, failure))?.ok_or_else(|| {
            Diagnostic::error(codes::UNSUPPORTED_FILE, format!("{path} is compiled; give the text of a module"))
        })?;
        let mut module = read_text(&source, &ReadOptions::default()).map_err(|failure| first(path, failure))?;
        let wrong = hammock_ir::verify::module(&module, &Table);
        if !wrong.is_empty() {
            return Err(first(path, Failure::from(wrong).within(&source)));
        }
        for function in module.functions.values_mut() {
            if let Global::Tir(kernel) = function {
                forget_places(kernel);
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
}

/// The first thing that is wrong with a file, as an error that names the place: the text that is compiled is another.
fn first(path: &str, failure: Failure) -> Diagnostic {
    let place = |d: &Diagnostic, source: &SourceFile| {
        let position = source.position(d.span().start);
        format!("{path}:{}:{}: ", position.line, position.column)
    };
    let Failure { diagnostics, source } = failure;
    let Some(wrong) = diagnostics.into_iter().find(Diagnostic::is_error) else {
        return Diagnostic::error(codes::UNREADABLE_FILE, format!("cannot read {path}"));
    };
    let place = source.filter(|_| !wrong.span().is_none()).map(|source| place(&wrong, &source)).unwrap_or_default();
    let error = Diagnostic::error(wrong.code, format!("{place}{}", wrong.message));
    wrong.help.into_iter().fold(error, Diagnostic::help)
}

fn forget_places(kernel: &mut PrimFunc) {
    fn forget(stmt: &mut Stmt) {
        stmt.span = Span::NONE;
        stmt.each_child_mut(&mut forget);
    }
    kernel.span = Span::NONE;
    forget(&mut kernel.body);
}
