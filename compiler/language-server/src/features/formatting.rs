//! Formatting, as `hammock fmt` does it.

use crate::{document::Document, refusal::Refusal};
use hammock_diagnostics::Span;
use hammock_syntax::format;
use lsp_types::TextEdit;

/// The edit that formats a document: one that leaves equal parts at the start and the end alone.
///
/// # Errors
/// If the text has syntax errors.
pub fn formatting(document: &Document) -> Result<Vec<TextEdit>, Refusal> {
    let syntax = document.syntax().map_err(|error| Refusal::failed(error.message.clone()))?;
    let formatted = format(&syntax.source).map_err(|errors| {
        let first = errors.first().map_or(String::new(), |error| {
            format!("; line {}: {}", document.range(error.span()).start.line + 1, error.message)
        });
        Refusal::failed(format!("a text with syntax errors cannot be formatted{first}"))
    })?;
    let text = document.text();
    if text == formatted {
        return Ok(Vec::new());
    }
    let (start, end) = common(text, &formatted);
    let span = Span::new(start as u32, (text.len() - end) as u32);
    Ok(vec![TextEdit::new(document.range(span), formatted[start..formatted.len() - end].to_owned())])
}

/// Lengths of the equal parts at the start and the end of two texts, in whole lines.
fn common(a: &str, b: &str) -> (usize, usize) {
    let length = |pairs: &mut dyn Iterator<Item = (&str, &str)>| {
        pairs.take_while(|(a, b)| a == b).map(|(a, _)| a.len()).sum::<usize>()
    };
    let lines = |text| str::split_inclusive(text, '\n');
    let start = length(&mut lines(a).zip(lines(b)));
    let end = length(&mut lines(&a[start..]).rev().zip(lines(&b[start..]).rev()));
    (start, end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_lines_are_left_alone() {
        assert_eq!(common("a\nb\nc\n", "a\nx\ny\nc\n"), (2, 2));
        assert_eq!(common("a\n", "a\na\n"), (2, 0));
        assert_eq!(common("a", "a\n"), (0, 0));
        assert_eq!(common("", "a"), (0, 0));
    }
}
