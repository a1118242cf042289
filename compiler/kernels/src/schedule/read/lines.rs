//! Lines and tokens of plans.

use super::{At, PlanError, Result};
use hammock_ir::Span;

/// Maximum number.
const MAX_NUMBER: i64 = 1 << 30;

/// A nonempty line without its remark.
pub struct Line<'a> {
    start: usize,
    pub indent: usize,
    text: &'a str,
    tokens: Vec<Token<'a>>,
}

/// A word or a punctuation mark.
#[derive(Clone, Copy)]
pub struct Token<'a> {
    text: &'a str,
    start: usize,
}

impl Token<'_> {
    pub fn span(self) -> Span {
        span(self.start, self.start + self.text.len())
    }
}

fn span(start: usize, end: usize) -> Span {
    let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX - 1);
    Span::new(offset(start), offset(end))
}

/// Splits a text into lines.
pub fn lines(text: &str) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    let mut start = 0;
    for line in text.split('\n') {
        let own = without_remark(line);
        let indent = own.len() - own.trim_start().len();
        let own = own.trim();
        if !own.is_empty() {
            lines.push(Line { start: start + indent, indent, text: own, tokens: tokens(own, start + indent) });
        }
        start += line.len() + 1;
    }
    lines
}

/// Strips a line's remark. Lines with quoted names have none, since names may contain anything.
fn without_remark(line: &str) -> &str {
    if line.starts_with('"') {
        return line;
    }
    let mut blank = true;
    for (at, c) in line.char_indices() {
        if c == '#' && blank {
            return &line[..at];
        }
        blank = c.is_whitespace();
    }
    line
}

/// Splits a line into tokens.
fn tokens(line: &str, start: usize) -> Vec<Token<'_>> {
    let is_sign = |c: char| matches!(c, ',' | ':' | '(' | ')' | '[' | ']');
    let mut tokens = Vec::new();
    let mut rest = line;
    loop {
        rest = rest.trim_start();
        let Some(first) = rest.chars().next() else { return tokens };
        let word = rest.find(|c: char| c.is_whitespace() || is_sign(c)).unwrap_or(rest.len());
        let (text, after) = rest.split_at(if is_sign(first) { 1 } else { word });
        tokens.push(Token { text, start: start + line.len() - rest.len() });
        rest = after;
    }
}

impl<'a> Line<'a> {
    pub fn span(&self) -> Span {
        span(self.start, self.start + self.text.len())
    }

    /// Parses the name of the kernel that begins here.
    pub fn name(&self) -> Result<&'a str> {
        let name = self.text.strip_suffix(':').map(str::trim_end).filter(|name| self.indent == 0 && !name.is_empty());
        name.ok_or_else(|| {
            PlanError::new(self.span(), "expected the name of a kernel, followed by `:`, at the beginning of the line")
                .help("the parts of its plan follow, each on an indented line")
        })
    }

    pub fn cursor(&self) -> Cursor<'_> {
        Cursor { tokens: &self.tokens, next: 0, end: self.start + self.text.len(), depth: 0 }
    }
}

/// Position of the parser in a line.
pub struct Cursor<'a> {
    pub tokens: &'a [Token<'a>],
    pub next: usize,
    /// End of the line.
    end: usize,
    /// Nesting depth of copies.
    pub depth: usize,
}

impl Cursor<'_> {
    pub fn begins(&self, words: &[&str]) -> bool {
        let rest = &self.tokens[self.next..];
        rest.len() >= words.len() && rest.iter().zip(words).all(|(token, word)| token.text == *word)
    }

    pub fn takes(&mut self, words: &[&str]) -> bool {
        let begins = self.begins(words);
        self.next += if begins { words.len() } else { 0 };
        begins
    }

    /// Returns the location of the next token.
    fn here(&self) -> Span {
        self.tokens.get(self.next).map_or(span(self.end, self.end), |token| token.span())
    }

    /// Returns the span from a token to the last one consumed.
    pub fn since(&self, first: usize) -> Span {
        let last = self.tokens[..self.next].last().map_or(span(self.end, self.end), |token| token.span());
        self.tokens.get(first).map_or(last, |token| token.span().join(last))
    }

    pub fn expected<T>(&self, what: &str) -> Result<T> {
        let found = match self.tokens.get(self.next) {
            Some(token) => format!("found `{}`", token.text),
            None => "the line ends".to_owned(),
        };
        Err(PlanError::new(self.here(), format!("expected {what}, but {found}")))
    }

    pub fn expect(&mut self, word: &str) -> Result<()> {
        if self.takes(&[word]) { Ok(()) } else { self.expected(&format!("`{word}`")) }
    }

    pub fn end(&self) -> Result<()> {
        if self.next == self.tokens.len() { Ok(()) } else { self.expected("the end of the line") }
    }

    pub fn word(&mut self, what: &str) -> Result<At<String>> {
        match self.tokens.get(self.next) {
            Some(token) if !matches!(token.text, "," | ":" | "(" | ")" | "[" | "]") => {
                self.next += 1;
                Ok(At { value: token.text.to_owned(), span: token.span() })
            }
            _ => self.expected(what),
        }
    }

    /// Parses a positive number.
    pub fn number(&mut self, what: &str) -> Result<At<i64>> {
        let number = self
            .tokens
            .get(self.next)
            .and_then(|token| token.text.parse().ok())
            .filter(|n| (1..=MAX_NUMBER).contains(n));
        let Some(value) = number else { return self.expected(&format!("{what}, a number from 1 to {MAX_NUMBER}")) };
        self.next += 1;
        Ok(At { value, span: self.since(self.next - 1) })
    }
}
