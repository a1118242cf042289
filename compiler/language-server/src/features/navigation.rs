//! Definitions and references of names.

use crate::{
    document::{Document, Syntax},
    names::{Occurrence, Role},
};
use hammock_diagnostics::Span;
use lsp_types::{DocumentHighlight, DocumentHighlightKind, Location};

/// The syntax of a document, with the occurrence of a name at an offset.
pub fn occurrence(document: &Document, offset: u32) -> Option<(&Syntax, &Occurrence)> {
    let syntax = document.syntax().ok()?;
    Some((syntax, syntax.names().at(offset)?))
}

/// The definitions that the name at an offset refers to.
pub fn definitions(document: &Document, offset: u32) -> Vec<Location> {
    let Some((syntax, found)) = occurrence(document, offset) else { return Vec::new() };
    let symbol = syntax.names().symbol(found.symbol);
    let spans: Vec<Span> = match (found.role, symbol.definitions.first()) {
        (Role::Definition, _) => vec![found.span],
        (_, Some(_)) if !found.reaching.is_empty() => found.reaching.iter().map(|definition| definition.name).collect(),
        (_, Some(first)) => vec![first.name],
        // The first occurrence of a size defines it.
        (_, None) => syntax.names().occurrences_of(found.symbol).map(|first| first.span).take(1).collect(),
    };
    spans.into_iter().map(|span| location(document, span)).collect()
}

/// The occurrences of the name at an offset, without its definitions unless they are asked for.
pub fn references(document: &Document, offset: u32, with_definitions: bool) -> Vec<Location> {
    let Some((syntax, found)) = occurrence(document, offset) else { return Vec::new() };
    let all = syntax.names().occurrences_of(found.symbol);
    let wanted = all.filter(|occurrence| with_definitions || occurrence.role != Role::Definition);
    wanted.map(|occurrence| location(document, occurrence.span)).collect()
}

/// The same in the form of highlights.
pub fn highlights(document: &Document, offset: u32) -> Vec<DocumentHighlight> {
    let Some((syntax, found)) = occurrence(document, offset) else { return Vec::new() };
    let highlight = |occurrence: &Occurrence| {
        let kind = match occurrence.role {
            Role::Use => DocumentHighlightKind::READ,
            Role::Definition | Role::Write => DocumentHighlightKind::WRITE,
        };
        DocumentHighlight { range: document.range(occurrence.span), kind: Some(kind) }
    };
    syntax.names().occurrences_of(found.symbol).map(highlight).collect()
}

fn location(document: &Document, span: Span) -> Location {
    Location::new(document.uri.clone(), document.range(span))
}
