//! Diagnostics as text for people and as JSON for machines.

mod excerpt;
mod json;

use codespan_reporting::diagnostic as codespan;
use codespan_reporting::term::{self, Styles, StylesWriter, termcolor};

use crate::{Diagnostic, Severity, SourceFile};
use excerpt::Excerpt;
pub use json::render_json;

/// A diagnostic as text: the message, the lines concerned with their labels underlined, and the help.
///
/// `file` is the file of its spans, unless the diagnostic names another; without it no source is shown. Colours are
/// ANSI escapes.
pub fn render_text(diagnostic: &Diagnostic, file: Option<&SourceFile>, color: bool) -> String {
    let file = diagnostic.file.as_deref().or(file);
    let diagnostic = &diagnostic.narrowed(file);
    let labels = if file.is_some() { diagnostic.labels.as_slice() } else { &[] };
    let excerpt = Excerpt::new(file, labels);
    let labels = labels.iter().map(|label| {
        let range = excerpt.locate(label.span);
        let style = if label.primary { codespan::LabelStyle::Primary } else { codespan::LabelStyle::Secondary };
        codespan::Label::new(style, (), range).with_message(&label.message)
    });
    let message = codespan::Diagnostic::new(severity(diagnostic.severity))
        .with_code(diagnostic.code)
        .with_message(&diagnostic.message)
        .with_labels(labels.collect())
        .with_notes(diagnostic.help.iter().map(|help| format!("help: {help}")).collect());
    emit(&excerpt, &message, color).unwrap_or_else(|| plain(diagnostic))
}

fn emit(excerpt: &Excerpt, message: &codespan::Diagnostic<()>, color: bool) -> Option<String> {
    let config = term::Config::default();
    if !color {
        return term::emit_into_string(&config, excerpt, message).ok();
    }
    let styles = Styles::default();
    let mut buffer = termcolor::Buffer::ansi();
    term::emit_to_write_style(&mut StylesWriter::new(&mut buffer, &styles), &config, excerpt, message).ok()?;
    String::from_utf8(buffer.into_inner()).ok()
}

/// The message alone, if the renderer fails.
fn plain(diagnostic: &Diagnostic) -> String {
    format!("{}[{}]: {}\n", diagnostic.severity.name(), diagnostic.code, diagnostic.message)
}

fn severity(severity: Severity) -> codespan::Severity {
    match severity {
        Severity::Error => codespan::Severity::Error,
        Severity::Warning => codespan::Severity::Warning,
        Severity::Note => codespan::Severity::Note,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Span, codes};

    fn sample() -> (SourceFile, Diagnostic) {
        let file = SourceFile::new("model.py", "a = 1\nb = é(a\n\n\nc = 2\n").unwrap();
        let diagnostic = Diagnostic::error(codes::UNDEFINED_NAME, "`é` is not defined")
            .label(Span::new(10, 12), "unknown")
            .secondary(Span::new(0, 1), "an operand")
            .help("write `R.é`");
        (file, diagnostic)
    }

    #[test]
    fn text_underlines_characters() {
        let (file, diagnostic) = sample();
        let text = render_text(&diagnostic, Some(&file), false);
        let expected = "\
error[E0201]: `é` is not defined
  ┌─ model.py:2:5
  │
1 │ a = 1
  │ - an operand
2 │ b = é(a
  │     ^ unknown
  │
  = help: write `R.é`

";
        assert_eq!(text, expected);
        assert!(render_text(&diagnostic, Some(&file), true).contains("\u{1b}["));
        assert_eq!(render_text(&diagnostic, None, false).lines().next(), text.lines().next());
    }

    #[test]
    fn long_lines_are_cut_and_spans_may_lie_anywhere() {
        let text = format!("{}X{}\n", "é".repeat(10_000), "b".repeat(1_000_000));
        let file = SourceFile::new("a.py", text).unwrap();
        let at = |start, end| Diagnostic::error("E0101", "here").label(Span::new(start, end), "it");
        let shown = render_text(&at(20_000, 20_001), Some(&file), false);
        assert!(shown.len() < 1000 && shown.contains("a.py:1:10001") && shown.contains("X"), "{shown}");
        let far = u32::MAX - 7;
        for (start, end) in [(0, far), (far, far), (9, 3), (3, 3), (19_999, 20_000), (1_020_001, 1_020_003)] {
            assert!(render_text(&at(start, end), Some(&file), false).contains("a.py:"));
            render_json(&at(start, end), Some(&file));
        }
    }

    /// A label of an access underlines only that access, if the statement has exactly one of the buffer.
    #[test]
    fn accesses_are_underlined_alone() {
        let text = "BA[0, A[1]] = A[i[0], 8] + x.A[2]\n";
        let underlined = |text: &str, buffer: &str| {
            let file = SourceFile::new("k.py", text).unwrap();
            let mut error = Diagnostic::error("E0263", "outside").label(Span::new(0, text.len() as u32 - 1), "");
            error.labels[0].access = Some(buffer.to_owned());
            file.slice(error.narrowed(Some(&file)).span()).to_owned()
        };
        assert_eq!(underlined(text, "BA"), "BA[0, A[1]]");
        assert_eq!(underlined(text, "A"), text.trim_end(), "which of the two is not known");
        assert_eq!(underlined(&text.replace("A[1]", "j"), "A"), "A[i[0], 8]");
        assert_eq!(underlined(text, "C"), text.trim_end());
    }
}
