//! The compiler's diagnostics.

use crate::document::Document;
use hammock_diagnostics::{Diagnostic, Severity, SourceFile};
use lsp_types::{self as lsp, DiagnosticRelatedInformation, DiagnosticSeverity, Location, NumberOrString, Range};

/// The diagnostics of a document. The labels of positions other than the main one are related information, or a part of
/// the message if the client does not show that.
pub fn diagnostics(document: &Document, shows_related: bool) -> Vec<lsp::Diagnostic> {
    if let Some(why) = document.desynchronized() {
        let message = format!("the language server does not know this text, because {why}; open it again");
        let severity = Some(DiagnosticSeverity::WARNING);
        return vec![lsp::Diagnostic { severity, source: source(), message, ..Default::default() }];
    }
    let file = document.syntax().ok().map(|syntax| &syntax.source);
    let found = &document.inspection().diagnostics;
    found.iter().map(|diagnostic| convert(diagnostic, document, file, shows_related)).collect()
}

fn source() -> Option<String> {
    Some("hammock".to_owned())
}

/// A diagnostic in the form of the protocol.
pub fn convert(
    diagnostic: &Diagnostic,
    document: &Document,
    file: Option<&SourceFile>,
    shows_related: bool,
) -> lsp::Diagnostic {
    let diagnostic = diagnostic.narrowed(file);
    let severity = match diagnostic.severity {
        Severity::Error => DiagnosticSeverity::ERROR,
        Severity::Warning => DiagnosticSeverity::WARNING,
        Severity::Note => DiagnosticSeverity::INFORMATION,
    };
    let main = diagnostic.labels.iter().position(|label| label.primary);
    let mut message = diagnostic.message.clone();
    if let Some(label) = main.map(|main| &diagnostic.labels[main].message).filter(|label| !label.is_empty()) {
        message += &format!("\n{label}");
    }
    let mut related = Vec::new();
    for (_, label) in diagnostic.labels.iter().enumerate().filter(|(at, _)| Some(*at) != main) {
        let range = document.range(label.span);
        let text = if label.message.is_empty() { "this one as well" } else { &label.message };
        if shows_related {
            let location = Location { uri: document.uri.clone(), range };
            related.push(DiagnosticRelatedInformation { location, message: text.to_owned() });
        } else {
            message += &format!("\nline {}: {text}", range.start.line + 1);
        }
    }
    diagnostic.help.iter().for_each(|help| message += &format!("\nhelp: {help}"));
    lsp::Diagnostic {
        range: main.map_or(Range::default(), |main| document.range(diagnostic.labels[main].span)),
        severity: Some(severity),
        code: Some(NumberOrString::String(diagnostic.code.to_owned())),
        source: source(),
        message,
        related_information: Some(related).filter(|related| !related.is_empty()),
        ..Default::default()
    }
}
