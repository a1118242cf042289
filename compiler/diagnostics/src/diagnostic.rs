//! The diagnostic type of all crates: message, location and advice.

use crate::{SourceFile, Span};

/// Severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Additional information.
    Note,
    /// Valid, but probably not intended.
    Warning,
    /// Invalid; nothing is produced.
    Error,
}

impl Severity {
    /// The printed name.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// A labelled span of source text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The text that is underlined.
    pub span: Span,
    /// The label; may be empty.
    pub message: String,
    /// True for the location of the error, false for context.
    pub primary: bool,
    /// A buffer whose access within the span is meant: `A` for `A[i, j]`.
    pub access: Option<String>,
}

impl Label {
    /// The span in a file's text, narrowed to the buffer's access if there is exactly one.
    fn span_in(&self, file: &SourceFile) -> Span {
        let text = file.slice(self.span);
        let access = self.access.as_deref().and_then(|name| only_access(text, name));
        access.map_or(self.span, |(start, end)| Span::new(self.span.start + start as u32, self.span.start + end as u32))
    }
}

/// The range of `name[…]` in a text, if it has exactly one.
fn only_access(text: &str, name: &str) -> Option<(usize, usize)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let begins = |at: &usize| !text[..*at].ends_with(|c| is_word(c) || c == '.');
    let opened = format!("{name}[");
    let mut found = text.match_indices(&opened).map(|(at, _)| at).filter(begins);
    let (start, None) = (found.next()?, found.next()) else { return None };
    let mut depth = 0;
    let end = text[start..].char_indices().find_map(|(at, c)| {
        depth += i32::from(c == '[') - i32::from(c == ']');
        (c == ']' && depth == 0).then_some(start + at + 1)
    });
    Some((start, end?))
}

/// A suggested change of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// The span to replace.
    pub span: Span,
    /// The replacement.
    pub text: String,
}

/// One message to the user. The file is named when it is printed, unless the message brings its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// `E0123`, one of the table in [`codes`](crate::codes).
    pub code: &'static str,
    /// Severity.
    pub severity: Severity,
    /// One sentence, without a full stop.
    pub message: String,
    /// Locations; empty if no source text is concerned.
    pub labels: Vec<Label>,
    /// Advice.
    pub help: Vec<String>,
    /// Changes that an editor can offer; each is also described in `help`.
    pub fixes: Vec<Fix>,
    /// The file of the spans, if it is not the compiled one.
    pub file: Option<Box<SourceFile>>,
}

impl Diagnostic {
    /// An error with a code of [`codes`](crate::codes).
    pub fn error(code: &'static str, message: impl Into<String>) -> Self {
        Diagnostic::new(Severity::Error, code, message)
    }

    /// A warning with a code of [`codes`](crate::codes).
    pub fn warning(code: &'static str, message: impl Into<String>) -> Self {
        Diagnostic::new(Severity::Warning, code, message)
    }

    /// A note with a code of [`codes`](crate::codes).
    pub fn note(code: &'static str, message: impl Into<String>) -> Self {
        Diagnostic::new(Severity::Note, code, message)
    }

    fn new(severity: Severity, code: &'static str, message: impl Into<String>) -> Self {
        let (labels, help, fixes) = Default::default();
        Diagnostic { code, severity, message: message.into(), labels, help, fixes, file: None }
    }

    /// Adds the location of the error. [`Span::NONE`] adds nothing.
    pub fn label(self, span: Span, message: impl Into<String>) -> Self {
        self.with_label(span, message.into(), true)
    }

    /// Adds a location that explains the error. [`Span::NONE`] adds nothing.
    pub fn secondary(self, span: Span, message: impl Into<String>) -> Self {
        self.with_label(span, message.into(), false)
    }

    /// Sets the file of the spans, if it is not the compiled one.
    pub fn of(mut self, file: &SourceFile) -> Self {
        self.file = Some(Box::new(file.clone()));
        self
    }

    /// Adds advice.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }

    /// Adds a "did you mean" suggestion that replaces a span. [`Span::NONE`] adds only the help.
    pub fn did_you_mean(mut self, span: Span, meant: impl Into<String>) -> Self {
        let text = meant.into();
        let mark = if text.starts_with('"') { "" } else { "`" };
        self.help.push(format!("did you mean {mark}{text}{mark}?"));
        if !span.is_none() {
            self.fixes.push(Fix { span, text });
        }
        self
    }

    /// Replaces each human-readable text.
    pub fn map_text(&self, text: impl Fn(&str) -> String) -> Self {
        let label = |label: &Label| Label { message: text(&label.message), ..label.clone() };
        Diagnostic {
            message: text(&self.message),
            labels: self.labels.iter().map(label).collect(),
            help: self.help.iter().map(|help| text(help)).collect(),
            ..self.clone()
        }
    }

    /// Narrows the spans to the accesses that the labels mean, using the file's text.
    pub fn narrowed(&self, file: Option<&SourceFile>) -> Self {
        let Some(file) = file.filter(|_| self.labels.iter().any(|label| label.access.is_some())) else {
            return self.clone();
        };
        let labels = self.labels.iter().map(|label| Label { span: label.span_in(file), ..label.clone() });
        Diagnostic { labels: labels.collect(), ..self.clone() }
    }

    /// Returns true if this is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// Location of the error: the first primary label, or [`Span::NONE`].
    pub fn span(&self) -> Span {
        self.labels.iter().find(|label| label.primary).map_or(Span::NONE, |label| label.span)
    }

    fn with_label(mut self, span: Span, message: String, primary: bool) -> Self {
        if !span.is_none() {
            self.labels.push(Label { span, message, primary, access: None });
        }
        self
    }
}
