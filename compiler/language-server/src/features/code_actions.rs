//! Fixes of diagnostics.

use super::diagnostics::convert;
use crate::document::Document;
use lsp_types::{CodeAction, CodeActionKind, CodeActionOrCommand, CodeActionParams, Range, TextEdit, WorkspaceEdit};
use std::collections::HashMap;

/// The fixes of the diagnostics in a range.
pub fn code_actions(document: &Document, params: &CodeActionParams) -> Vec<CodeActionOrCommand> {
    let is_wanted = params
        .context
        .only
        .as_ref()
        .is_none_or(|only| only.iter().any(|kind| *kind == CodeActionKind::QUICKFIX || kind.as_str().is_empty()));
    if !is_wanted {
        return Vec::new();
    }
    let file = document.syntax().ok().map(|syntax| &syntax.source);
    let mut actions = Vec::new();
    for diagnostic in document.inspection().diagnostics.iter().filter(|diagnostic| !diagnostic.fixes.is_empty()) {
        let shown = convert(diagnostic, document, file, true);
        let fixes = diagnostic.fixes.iter().map(|fix| (document.range(fix.span), fix));
        for (range, fix) in fixes.filter(|(range, _)| meet(*range, params.range) || meet(shown.range, params.range)) {
            let written = &document.text()[fix.span.range()];
            let title = match (written, fix.text.as_str()) {
                ("", text) => format!("Insert `{text}`"),
                (written, "") => format!("Remove `{written}`"),
                (written, text) => format!("Change `{written}` to `{text}`"),
            };
            actions.push(CodeActionOrCommand::CodeAction(CodeAction {
                title,
                kind: Some(CodeActionKind::QUICKFIX),
                diagnostics: Some(vec![shown.clone()]),
                edit: Some(edit(document, vec![TextEdit::new(range, fix.text.clone())])),
                is_preferred: (diagnostic.fixes.len() == 1).then_some(true),
                ..Default::default()
            }));
        }
    }
    actions
}

/// Edits of a document.
#[allow(clippy::mutable_key_type, reason = "URIs cache parts of themselves, but compare by their text")]
pub fn edit(document: &Document, edits: Vec<TextEdit>) -> WorkspaceEdit {
    WorkspaceEdit::new(HashMap::from([(document.uri.clone(), edits)]))
}

/// Returns true if two ranges have a position in common.
fn meet(a: Range, b: Range) -> bool {
    a.start <= b.end && b.start <= a.end
}
