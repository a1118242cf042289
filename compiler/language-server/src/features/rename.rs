//! Renaming of variables, functions and symbolic sizes.

use super::{code_actions::edit, navigation::occurrence};
use crate::{
    document::{Document, Syntax},
    names::{Names, Occurrence, SymbolId, SymbolKind, resolve},
    refusal::Refusal,
};
use hammock_diagnostics::{SourceFile, Span};
use hammock_syntax::{TokenKind, parse, tokens};
use lsp_types::{PrepareRenameResponse, TextEdit, WorkspaceEdit};
use rustc_hash::FxHashMap;

/// The name at an offset, if it can be renamed.
pub fn prepare(document: &Document, offset: u32) -> Result<PrepareRenameResponse, Refusal> {
    let (syntax, found) = renamable(document, offset)?;
    let placeholder = syntax.names().symbol(found.symbol).name.to_string();
    Ok(PrepareRenameResponse::RangeWithPlaceholder { range: document.range(found.span), placeholder })
}

/// The edits that rename the name at an offset.
///
/// # Errors
/// If the new name is no name, or is used already, so that names would refer to something else afterwards; and if the
/// text has syntax errors, because names in broken statements would be missed.
pub fn rename(document: &Document, offset: u32, new_name: &str) -> Result<WorkspaceEdit, Refusal> {
    let (syntax, found) = renamable(document, offset)?;
    let names = syntax.names();
    let symbol = names.symbol(found.symbol);
    if let Some(error) = syntax.parsed.1.iter().find(|diagnostic| diagnostic.is_error()) {
        let line = document.range(error.span()).start.line + 1;
        let message =
            format!("names in statements with syntax errors cannot be renamed; line {line}: {}", error.message);
        return Err(Refusal::failed(message));
    }
    if let Some(literal) = inexact(names, found.symbol) {
        let line = document.range(literal).start.line + 1;
        let message = format!(
            "line {line} has a size in a string with escapes, a prefix or several parts; write it as one plain string"
        );
        return Err(Refusal::failed(message));
    }
    if !is_name(new_name) {
        return Err(Refusal::params(format!("`{new_name}` is not a name")));
    }
    if *new_name == *symbol.name {
        return Ok(edit(document, Vec::new()));
    }
    if let Some(taken) = clash(names, found.symbol, new_name) {
        let line = document.range(taken.span).start.line + 1;
        return Err(Refusal::failed(format!("`{new_name}` is taken: line {line} has it")));
    }
    let spans: Vec<_> = names.occurrences_of(found.symbol).map(|occurrence| occurrence.span).collect();
    let (mut renamed, mut end) = (String::new(), 0);
    for span in &spans {
        renamed += &document.text()[end..span.start as usize];
        renamed += new_name;
        end = span.end as usize;
    }
    renamed += &document.text()[end..];
    if !has_same_names(syntax, &renamed) {
        let message = format!("`{new_name}` is taken: after the change, names would refer to something else");
        return Err(Refusal::failed(message));
    }
    let edits = spans.into_iter().map(|span| TextEdit::new(document.range(span), new_name.to_owned()));
    Ok(edit(document, edits.collect()))
}

fn renamable(document: &Document, offset: u32) -> Result<(&Syntax, &Occurrence), Refusal> {
    let found = occurrence(document, offset).ok_or_else(|| Refusal::failed("there is no name to rename here"))?;
    match &found.0.names().symbol(found.1.symbol).kind {
        SymbolKind::Import(path) if path.ends_with(&*found.0.names().symbol(found.1.symbol).name) => {
            Err(Refusal::failed("an imported name is that of its package; import it `as` another"))
        }
        _ => Ok(found),
    }
}

/// A string in the scope of a symbol that may have its name at an unknown position.
fn inexact(names: &Names, id: SymbolId) -> Option<Span> {
    let symbol = names.symbol(id);
    let is_within = |literal: &&Span| match symbol.function {
        Some(function) => {
            let span = names.functions[function].span;
            (span.start..span.end).contains(&literal.start)
        }
        None => true,
    };
    let may_be_size = !symbol.is_member && symbol.kind != SymbolKind::Function;
    names.inexact.iter().find(is_within).copied().filter(|_| may_be_size)
}

/// Returns true for a name that is no keyword.
fn is_name(text: &str) -> bool {
    let found = tokens(text);
    matches!(found.as_slice(), [(TokenKind::Name, span)] if span.len() as usize == text.len())
}

/// An occurrence of another symbol of that name in the scope of a symbol.
fn clash<'n>(names: &'n Names, id: SymbolId, new_name: &str) -> Option<&'n Occurrence> {
    let all = match names.symbol(id).function {
        Some(function) => names.within(names.functions[function].span),
        None => &names.occurrences,
    };
    let is_member = names.symbol(id).is_member;
    // Functions of a module are named through it, so they clash only with one another.
    all.iter().find(|other| {
        let symbol = names.symbol(other.symbol);
        other.symbol != id && *symbol.name == *new_name && symbol.is_member == is_member
    })
}

/// Returns true if a text has the same occurrences of the same symbols as before, whatever their names.
fn has_same_names(syntax: &Syntax, renamed: &str) -> bool {
    let Ok(source) = SourceFile::new(syntax.source.name(), renamed) else { return false };
    let after = resolve(&source, &parse(&source).0);
    numbered(syntax.names()) == numbered(&after)
}

/// The symbol of each occurrence, numbered by first occurrence.
fn numbered(names: &Names) -> Vec<usize> {
    let mut numbers = FxHashMap::default();
    let number = |occurrence: &Occurrence| {
        let next = numbers.len();
        *numbers.entry(occurrence.symbol).or_insert(next)
    };
    names.occurrences.iter().map(number).collect()
}
