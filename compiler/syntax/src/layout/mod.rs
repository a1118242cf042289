//! Lines and indentation: turns the lexer's tokens into those of the grammar.
//!
//! Line breaks inside brackets are dropped, as are blank lines and comments; every logical line ends with `Newline`;
//! deeper indentation is bracketed by `Indent` and `Dedent`. The two always pair up, whatever the text.
//!
//! Unreadable text becomes a `Bad` token and a diagnostic here. An unclosed bracket would extend to the end of the
//! file: in that case the file is read again with [`Brackets::Mistrusted`], where a line that looks like a statement
//! ends the open brackets. (Only then, because such lines are legal inside brackets.)

mod brackets;
mod indent;

use logos::{Logos, SpannedIter};

use crate::lexer::{LexError, Token};
use brackets::Bracket;
use hammock_diagnostics::{Diagnostic, Span, codes};
use indent::Indent;

/// Maximum nesting of brackets. Python's own limit.
pub(crate) const MAX_BRACKETS: usize = 200;
/// Maximum nesting of blocks. Twice Python's own limit.
pub(crate) const MAX_INDENTS: usize = 200;

/// Maximum number of diagnostics of each kind: a binary file has an error at every byte.
pub(crate) const MAX_DIAGNOSTICS: usize = 1000;

/// Kind of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Statements.
    File,
    /// One expression, in which line breaks are ignored.
    Expression,
}

/// Treatment of open brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Brackets {
    /// They are assumed to close; otherwise, reading stops and [`Layout::unbalanced`] is true.
    Trusted,
    /// They may not close: a line that looks like a statement ends them, and they are reported.
    Mistrusted,
}

/// A token with its start and end.
type Item = (u32, Token, u32);

/// The grammar's tokens, in order.
pub(crate) struct Layout<'src> {
    text: &'src str,
    /// Offset of the text in its file.
    base: u32,
    lexer: SpannedIter<'src, Token>,
    content: Content,
    trust: Brackets,
    brackets: Vec<Bracket>,
    indents: Vec<Indent>,
    /// The line of the last invalid character.
    foreign: Option<u32>,
    /// True if mixed tabs and spaces were reported.
    mixed: bool,
    /// True if the initial marker token was returned.
    started: bool,
    /// A lexer token held back behind `Indent`, `Dedent` or `Newline`.
    held: Option<Item>,
    /// Number of pending `Dedent`s.
    dedents: usize,
    /// True if the logical line has a token.
    in_line: bool,
    /// True if the physical line has none, while brackets are open.
    fresh: bool,
    /// Start of the physical line.
    line_start: u32,
    /// End of the last real token.
    last_end: u32,
    finished: bool,
    unbalanced: bool,
    lines: Vec<u32>,
    errors: Vec<Diagnostic>,
}

impl<'src> Layout<'src> {
    /// The tokens of a text at offset `base` of its file.
    pub(crate) fn new(text: &'src str, base: u32, content: Content, trust: Brackets) -> Self {
        let unmarked = text.strip_prefix('\u{feff}').unwrap_or(text);
        let start = base + (text.len() - unmarked.len()) as u32;
        Layout {
            text: unmarked,
            base: start,
            lexer: Token::lexer(unmarked).spanned(),
            content,
            trust,
            brackets: Vec::new(),
            indents: vec![Indent::default()],
            foreign: None,
            mixed: false,
            started: false,
            held: None,
            dedents: 0,
            in_line: content == Content::Expression,
            fresh: false,
            line_start: start,
            last_end: start,
            finished: false,
            unbalanced: false,
            lines: Vec::new(),
            errors: Vec::new(),
        }
    }

    /// Returns true if reading stopped because brackets do not close; the tokens should be discarded.
    pub(crate) fn unbalanced(&self) -> bool {
        self.unbalanced
    }

    /// The diagnostics, and the start of each logical line.
    pub(crate) fn into_reports(self) -> (Vec<Diagnostic>, Vec<u32>) {
        (self.errors, self.lines)
    }

    /// The text between two offsets of the file.
    fn slice(&self, start: u32, end: u32) -> &'src str {
        &self.text[(start - self.base) as usize..(end - self.base) as usize]
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        if self.errors.len() < MAX_DIAGNOSTICS {
            self.errors.push(diagnostic);
        }
    }

    /// The next of the lexer's tokens.
    fn advance(&mut self) -> Option<Item> {
        if self.held.is_some() {
            return self.held.take();
        }
        let (token, range) = self.lexer.next()?;
        let (start, end) = (self.base + range.start as u32, self.base + range.end as u32);
        Some(match token {
            Ok(Token::Bad) | Err(LexError::Number) => self.bad(LexError::Number, start, end),
            Ok(token) => (start, token, end),
            Err(error) => self.bad(error, start, end),
        })
    }

    fn bad(&mut self, error: LexError, start: u32, end: u32) -> Item {
        // Invalid characters often occur in pairs, such as curly quotes: one error per line is enough.
        let again = error == LexError::Character && self.foreign == Some(self.line_start);
        self.foreign = (error == LexError::Character).then_some(self.line_start).or(self.foreign);
        if !again && self.errors.len() < MAX_DIAGNOSTICS {
            self.errors.push(unreadable(error, self.slice(start, end), Span::new(start, end)));
        }
        if error == LexError::OpenTripleString {
            // It includes the rest of the text, and with it the closing brackets.
            self.brackets.clear();
        }
        (start, Token::Bad, end)
    }

    /// Handles a line break; a token when it ends a logical line.
    fn line_break(&mut self, end: u32) -> Option<Item> {
        self.line_start = end;
        if self.content == Content::Expression {
            return None;
        }
        if !self.brackets.is_empty() {
            self.fresh = true;
            return None;
        }
        std::mem::take(&mut self.in_line).then_some((self.last_end, Token::Newline, self.last_end))
    }

    /// Ends the logical line before a token that belongs to the next.
    fn end_line_before(&mut self, item: Item) -> Item {
        self.held = Some(item);
        self.in_line = false;
        self.fresh = false;
        (self.last_end, Token::Newline, self.last_end)
    }

    /// Returns a token of the text.
    fn pass(&mut self, item: Item) -> Option<Item> {
        let (start, token, end) = item;
        let token = match token {
            Token::LeftParen | Token::LeftBracket | Token::LeftBrace => self.open(token, start),
            Token::RightParen | Token::RightBracket | Token::RightBrace => self.close(token, start, end)?,
            _ => token,
        };
        self.last_end = end;
        self.fresh = false;
        Some((start, token, end))
    }

    /// The end of the text: closes the line, then all blocks.
    fn finish(&mut self) -> Option<Item> {
        if !self.brackets.is_empty() {
            if self.trust == Brackets::Trusted {
                return self.stop();
            }
            self.abandon_brackets(0);
        }
        let at = self.last_end;
        if self.content == Content::File && std::mem::take(&mut self.in_line) {
            return Some((at, Token::Newline, at));
        }
        if self.indents.len() > 1 {
            self.indents.pop();
            return Some((at, Token::Dedent, at));
        }
        self.finished = true;
        None
    }

    fn stop(&mut self) -> Option<Item> {
        self.unbalanced = true;
        self.finished = true;
        None
    }

    /// Stops reading: one bad token replaces the rest of the text.
    fn stop_reading(&mut self) {
        self.lexer = Token::lexer("").spanned();
        self.held = Some((self.last_end, Token::Bad, self.last_end));
    }

    fn start(&mut self) -> Item {
        self.started = true;
        let token = match self.content {
            Content::File => Token::StartFile,
            Content::Expression => Token::StartExpression,
        };
        (self.last_end, token, self.last_end)
    }
}

impl Iterator for Layout<'_> {
    type Item = Item;

    #[inline]
    fn next(&mut self) -> Option<Item> {
        if !self.started {
            return Some(self.start());
        }
        if self.finished {
            return None;
        }
        if self.dedents > 0 {
            self.dedents -= 1;
            return Some((self.last_end, Token::Dedent, self.last_end));
        }
        loop {
            let Some(item) = self.advance() else { return self.finish() };
            if item.1 == Token::Newline {
                match self.line_break(item.2) {
                    Some(newline) => return Some(newline),
                    None => continue,
                }
            }
            if !self.in_line {
                self.in_line = true;
                self.lines.push(self.line_start);
                return self.begin_line(item);
            }
            if self.fresh && self.trust == Brackets::Mistrusted && self.looks_like_statement(item) {
                self.abandon_brackets(0);
                return Some(self.end_line_before(item));
            }
            return self.pass(item);
        }
    }
}

fn unreadable(error: LexError, text: &str, span: Span) -> Diagnostic {
    match error {
        LexError::Character => character(text, span),
        LexError::Number => Diagnostic::error(codes::BAD_NUMBER, format!("`{}` is not a number", shorten(text)))
            .label(span, "a number runs into letters or misplaced underscores")
            .help("numbers are written like `12`, `0x1F`, `1.5`, `1e-05`; suffixes and complex numbers do not exist"),
        LexError::OpenString => Diagnostic::error(codes::OPEN_STRING, "this string is not closed")
            .label(span, "the line ends inside it")
            .help("close it with the quote it starts with, or use `\"\"\"` for text of several lines"),
        LexError::OpenTripleString => Diagnostic::error(codes::OPEN_STRING, "this string is not closed")
            .label(Span::new(span.start, span.start + 3), "opened here, and never closed")
            .help("close it with the same three quotes"),
    }
}

/// Column after blanks at the start of a line.
pub(crate) fn columns(blanks: &str) -> u32 {
    Indent::of(blanks).columns
}

/// The start of a text that may be very long.
pub(crate) fn shorten(text: &str) -> String {
    const MAX_SHOWN: usize = 40;
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into(),
    }
}

/// Invisible characters, often copied from a web page: a byte order mark, soft hyphens, zero-width spaces.
const INVISIBLE: [char; 6] = ['\u{feff}', '\u{ad}', '\u{200b}', '\u{200c}', '\u{200d}', '\u{2060}'];

fn character(text: &str, span: Span) -> Diagnostic {
    let shown = match text.chars().next() {
        Some(c) if c.is_control() || c.is_whitespace() || INVISIBLE.contains(&c) => format!("U+{:04X}", c as u32),
        _ => format!("`{text}`"),
    };
    let diagnostic =
        Diagnostic::error(codes::BAD_CHARACTER, format!("{shown} means nothing here")).label(span, "unknown character");
    match text {
        "!" => diagnostic.help("write `not` for negation, `!=` for inequality"),
        "?" => diagnostic.help("write `a if condition else b`"),
        "–" | "—" | "−" => diagnostic.help("use the hyphen `-`"),
        "“" | "”" | "‘" | "’" => diagnostic.help("use the straight quotes `\"` or `'`"),
        _ if text.chars().all(char::is_whitespace) => diagnostic.help("use the plain space"),
        _ if text.chars().all(|c| INVISIBLE.contains(&c)) => diagnostic.help("delete it: it cannot be seen"),
        _ => diagnostic,
    }
}

#[cfg(test)]
mod tests;
