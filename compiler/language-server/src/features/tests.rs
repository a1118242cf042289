//! Invariants of features over the examples.

use super::rename;
use crate::{
    document::Document,
    names::{Role, SymbolKind},
    position::Encoding,
    types::Types,
};
use hammock_diagnostics::{Diagnostic, Span};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Examples and inputs of tests that are text modules without errors: one of `step`.
fn examples(step: usize) -> Vec<(PathBuf, Document)> {
    fn files(folder: &Path, found: &mut Vec<PathBuf>) {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            match path.is_dir() {
                true => files(&path, found),
                false if path.extension().is_some_and(|extension| extension == "py") => found.push(path),
                false => {}
            }
        }
    }
    let mut paths = Vec::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    ["ir-examples", "tests/filetests", "tests/spellings"]
        .iter()
        .for_each(|folder| files(&root.join(folder), &mut paths));
    paths.sort();
    let documents = paths.into_iter().step_by(step).map(|path| {
        let text = fs::read_to_string(&path).unwrap();
        (path, document(text))
    });
    let correct: Vec<_> = documents.filter(|(_, document)| !has_errors(document)).collect();
    assert!(correct.len() > 500 / step);
    correct
}

fn document(text: String) -> Document {
    Document::new("file:///a.py".parse().unwrap(), 1, text, Encoding::Utf8)
}

fn has_errors(document: &Document) -> bool {
    document.inspection().diagnostics.iter().any(Diagnostic::is_error)
}

/// Every parameter and variable has a type.
#[test]
fn variables_have_types() {
    let (mut count, mut missing) = (0, String::new());
    for (path, document) in examples(1) {
        let names = document.syntax().unwrap().names();
        let types = Types::new(&document.inspection().module, names);
        for occurrence in names.occurrences.iter().filter(|occurrence| occurrence.role == Role::Definition) {
            let symbol = names.symbol(occurrence.symbol);
            let definition = symbol.definitions.iter().find(|definition| definition.name == occurrence.span);
            // Parameters of a lambda have no type.
            let is_lambda =
                definition.is_some_and(|own| own.statement == own.name) && symbol.kind == SymbolKind::Variable;
            let is_value = matches!(symbol.kind, SymbolKind::Parameter | SymbolKind::Variable);
            if symbol.function.is_none() || !is_value || is_lambda {
                continue;
            }
            count += 1;
            if types.of_symbol(occurrence.symbol, definition.copied()).is_none() {
                let line = document.range(occurrence.span).start.line + 1;
                missing += &format!("{}:{line} `{}`\n", path.display(), symbol.name);
            }
        }
    }
    assert!(count > 5000 && missing.is_empty(), "of {count} variables, these have no type:\n{missing}");
}

/// A renamed text has no errors, and no occurrence of the old name is left.
#[test]
fn renamed_texts_are_correct() {
    for (path, document) in examples(10) {
        let names = document.syntax().unwrap().names();
        // Large texts have many symbols of the same kinds.
        for (number, symbol) in names.symbols.iter().enumerate().take(40) {
            let Some(found) = names.occurrences.iter().find(|found| found.symbol.0 as usize == number) else {
                continue;
            };
            let Ok(edit) = rename(&document, found.span.start, "renamed_symbol") else {
                assert!(matches!(symbol.kind, SymbolKind::Import(_)), "{}: `{}`", path.display(), symbol.name);
                continue;
            };
            let mut text = document.text().to_owned();
            for edit in edit.changes.unwrap().into_values().next().unwrap().into_iter().rev() {
                let [start, end] = [edit.range.start, edit.range.end].map(|at| document.offset(at).unwrap() as usize);
                text.replace_range(start..end, &edit.new_text);
            }
            let renamed = self::document(text);
            let found = &renamed.inspection().diagnostics;
            assert!(!has_errors(&renamed), "{}: `{}`: {found:?}", path.display(), symbol.name);
        }
    }
}

/// Tokens of parts are those of the whole text.
#[test]
fn tokens_of_ranges_are_those_of_the_text() {
    for (_, document) in examples(10) {
        let length = document.text().len() as u32;
        let all = super::semantic_tokens(&document, Span::new(0, length)).data.len();
        let middle = document.tokens()[document.tokens().len() / 2].1.start;
        let parts = [Span::new(0, middle), Span::new(middle, length)];
        let sum: usize = parts.into_iter().map(|part| super::semantic_tokens(&document, part).data.len()).sum();
        assert_eq!(all, sum);
    }
}
