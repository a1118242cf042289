//! The functions of a document.

use crate::document::Document;
use hammock_diagnostics::Span;
use hammock_syntax::ast::{Ident, Stmt, StmtKind};
use lsp_types::{DocumentSymbol, DocumentSymbolResponse, SymbolKind};

/// Classes and functions, nested as they are in the text.
pub fn outline(document: &Document) -> DocumentSymbolResponse {
    let symbols = document.syntax().map_or(Vec::new(), |syntax| symbols(document, &syntax.parsed.0.body));
    DocumentSymbolResponse::Nested(symbols)
}

fn symbols(document: &Document, body: &[Stmt]) -> Vec<DocumentSymbol> {
    let symbol = |stmt: &Stmt| match &stmt.kind {
        StmtKind::ClassDef(class) => Some(entry(document, SymbolKind::MODULE, &class.name, stmt.span, &class.body)),
        StmtKind::FunctionDef(def) => Some(entry(document, SymbolKind::FUNCTION, &def.name, stmt.span, &def.body)),
        _ => None,
    };
    body.iter().filter_map(symbol).collect()
}

#[allow(deprecated, reason = "a field that the protocol replaced, which has to be set")]
fn entry(document: &Document, kind: SymbolKind, name: &Ident, span: Span, body: &[Stmt]) -> DocumentSymbol {
    DocumentSymbol {
        name: name.name.to_string(),
        detail: None,
        kind,
        tags: None,
        deprecated: None,
        range: document.range(span.join(name.span)),
        selection_range: document.range(name.span),
        children: Some(symbols(document, body)).filter(|children| !children.is_empty()),
    }
}
