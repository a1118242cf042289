//! Messages for syntax errors.

use lalrpop_util::ParseError;

use super::expected::{self, Expected};
use super::foreign;
use crate::lexer::Token;
use hammock_diagnostics::{Diagnostic, Span, codes};

/// An error of the generated parser.
pub(super) type Unexpected = ParseError<u32, Token, std::convert::Infallible>;

/// An unexpected token with its context.
struct TokenContext<'src> {
    token: Token,
    span: Span,
    /// The text of the token.
    text: &'src str,
    /// The text before the token in the logical line, or in its physical line.
    before: &'src str,
    /// Start of that text.
    line_start: u32,
    /// The text after the token.
    after: &'src str,
    expected: Expected,
}

/// The diagnostic for a syntax error; `None` if the layout has reported it.
pub(super) fn explain(error: Unexpected, text: &str, base: u32) -> Option<Diagnostic> {
    let (start, token, end, expected) = match error {
        ParseError::UnrecognizedToken { token: (start, token, end), expected } => (start, token, end, expected),
        ParseError::ExtraToken { token: (start, token, end) } => (start, token, end, Vec::new()),
        ParseError::UnrecognizedEof { location, expected } => (location, Token::Newline, location, expected),
        ParseError::InvalidToken { location } => (location, Token::Bad, location, Vec::new()),
    };
    if token == Token::Bad {
        return None;
    }
    let (from, to) = ((start - base) as usize, (end - base) as usize);
    let line = text[..from].rfind(['\n', '\r']).map_or(0, |at| at + 1);
    let place = TokenContext {
        token,
        span: Span::new(start, end),
        text: &text[from..to],
        before: text[line..from].trim_end(),
        line_start: base + line as u32,
        after: &text[to..],
        expected: Expected::new(&expected),
    };
    Some(place.explain())
}

/// The diagnostic for an unexpected indented block.
pub(super) fn unexpected_block(blanks: Span) -> Diagnostic {
    Diagnostic::error(codes::BAD_INDENTATION, "this line is indented, but belongs to no block")
        .label(blanks, "deeper than the line above")
        .help("only the line after a `:` is indented deeper")
}

/// The diagnostic for a missing colon.
pub(super) fn missing_colon(end: Span) -> Diagnostic {
    Diagnostic::error(codes::UNEXPECTED_TOKEN, "a `:` is missing").label(end, "expected `:` before the block")
}

/// The diagnostic for a missing block.
pub(super) fn missing_block(colon: Span) -> Diagnostic {
    Diagnostic::error(codes::BAD_INDENTATION, "a block is missing")
        .label(colon, "expected an indented block below")
        .help("indent the lines that belong to it; an empty block is written `pass`")
}

impl TokenContext<'_> {
    fn explain(&self) -> Diagnostic {
        self.conflict()
            .or_else(|| self.decorator())
            .or_else(|| self.foreign())
            .or_else(|| self.else_alone())
            .or_else(|| self.assignment())
            .or_else(|| self.keyword())
            .unwrap_or_else(|| self.separator())
    }

    /// A merge conflict marker.
    fn conflict(&self) -> Option<Diagnostic> {
        let line = ["<<<<<<<", "=======", ">>>>>>>"].into_iter().find(|mark| {
            self.before.is_empty() && mark.starts_with(self.text) && self.after.starts_with(&mark[self.text.len()..])
        })?;
        let diagnostic = Diagnostic::error(codes::UNEXPECTED_TOKEN, "two versions of the file were not merged");
        let span = Span::new(self.span.start, self.span.start + line.len() as u32);
        Some(diagnostic.label(span, "marks a conflict").help("keep one of the versions, and delete the marks"))
    }

    /// A decorator without a definition.
    fn decorator(&self) -> Option<Diagnostic> {
        if !self.expected.definition() {
            return None;
        }
        let diagnostic = Diagnostic::error(codes::UNEXPECTED_TOKEN, "a decorator decorates nothing");
        let diagnostic = diagnostic.label(self.span, "expected `def` or `class` below the decorator");
        Some(match (self.token, expected::similar_keyword(self.text)) {
            (Token::Indent, _) => diagnostic.help("a definition is indented like its decorator"),
            (_, Some(meant @ ("def" | "class"))) => diagnostic.did_you_mean(self.span, meant),
            _ => diagnostic,
        })
    }

    /// Unsupported constructs of Python, and operators of other languages.
    fn foreign(&self) -> Option<Diagnostic> {
        if let Some((construct, help)) = foreign::construct(self.token, self.before, self.text) {
            let message = format!("{construct} cannot be used here");
            let diagnostic = Diagnostic::error(codes::UNSUPPORTED_SYNTAX, message);
            return Some(diagnostic.label(self.span, "this is Python that has no meaning in a module").help(help));
        }
        let help = foreign::operator(self.before, self.text, self.after)?;
        Some(self.general().help(help))
    }

    fn else_alone(&self) -> Option<Diagnostic> {
        let before = self.before.trim();
        if self.token == Token::If && before == "else" || matches!(before, "elseif" | "elsif") {
            return Some(self.general().help("write `elif`"));
        }
        if !matches!(self.token, Token::Else | Token::Elif) || !self.before.is_empty() {
            return None;
        }
        let message = format!("this `{}` belongs to no `if`", self.text);
        let diagnostic = Diagnostic::error(codes::UNEXPECTED_TOKEN, message).label(self.span, "no `if` before it");
        Some(diagnostic.help("it must follow an `if` of the same indentation; loops have no `else` here"))
    }

    /// `=` where a comparison or a name before it was expected.
    fn assignment(&self) -> Option<Diagnostic> {
        let target = self.before.trim();
        if self.token == Token::Assign && expected::is_keyword_text(target) {
            let start = self.line_start + (self.before.len() - target.len()) as u32;
            return Some(self.keyword_as_name(target, Span::new(start, start + target.len() as u32)));
        }
        let condition = ["if ", "elif ", "while ", "assert ", "return "];
        let compares = condition.iter().any(|word| self.before.trim_start().starts_with(word));
        (self.token == Token::Assign && compares).then(|| self.general().did_you_mean(self.span, "=="))
    }

    /// A keyword used as a name, or a misspelt keyword.
    fn keyword(&self) -> Option<Diagnostic> {
        if expected::is_keyword(self.token) && self.token != Token::Import && self.expected.name_only() {
            return Some(self.keyword_as_name(self.text, self.span));
        }
        let word = self.before.trim().trim_end_matches(':');
        let meant = expected::similar_keyword(word)?;
        let start = self.line_start + (self.before.len() - self.before.trim_start().len()) as u32;
        Some(self.general().did_you_mean(Span::new(start, start + word.len() as u32), meant))
    }

    fn keyword_as_name(&self, keyword: &str, span: Span) -> Diagnostic {
        let message = format!("`{keyword}` is a keyword and cannot be a name");
        let diagnostic = Diagnostic::error(codes::UNEXPECTED_TOKEN, message).label(span, "expected a name");
        diagnostic.help(format!("write `{keyword}_`"))
    }

    /// A missing operator or separator between two operands.
    fn separator(&self) -> Diagnostic {
        let operand = matches!(self.token, Token::Name | Token::Int | Token::Float | Token::Str);
        let general = self.general();
        if operand && self.expected.comma() { general.help("is a comma missing?") } else { general }
    }

    fn general(&self) -> Diagnostic {
        let found = expected::describe(self.token, self.text);
        let diagnostic = Diagnostic::error(codes::UNEXPECTED_TOKEN, format!("{found} was not expected here"));
        diagnostic.label(self.span, self.expected.sentence())
    }
}
