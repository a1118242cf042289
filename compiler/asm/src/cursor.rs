//! A position in the tokens of a listing, and the errors reported there.

use crate::{lexer::Token, quote::unquoted};
use hammock_diagnostics::{Diagnostic, SourceFile, Span, codes};
use logos::Logos;
use std::str::FromStr;

/// Tokens of a listing, and the current position.
pub(crate) struct Cursor<'a> {
    source: &'a SourceFile,
    tokens: Vec<(Token, Span)>,
    position: usize,
}

pub(crate) type Parsed<T> = Result<T, Diagnostic>;

/// Returns an error at a span of the listing.
pub(crate) fn error(span: Span, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(codes::BAD_LISTING, message).label(span, "")
}

impl<'a> Cursor<'a> {
    /// Splits a listing into tokens; also returns the lexical errors.
    pub fn new(source: &'a SourceFile) -> (Cursor<'a>, Vec<Diagnostic>) {
        let (mut tokens, mut errors) = (Vec::new(), Vec::new());
        for (token, range) in Token::lexer(source.text()).spanned() {
            let span = Span::new(range.start as u32, range.end as u32);
            match token {
                Ok(token) => tokens.push((token, span)),
                Err(()) => errors.push(error(span, format!("`{}` means nothing here", source.slice(span)))),
            }
        }
        let end = source.text().len() as u32;
        tokens.push((Token::Newline, Span::new(end, end)));
        (Cursor { source, tokens, position: 0 }, errors)
    }

    /// Returns the next token; a newline at the end.
    pub fn peek(&self) -> Token {
        self.at(self.position).0
    }

    /// Returns the token after the next.
    pub fn peek_second(&self) -> Token {
        self.at(self.position + 1).0
    }

    fn at(&self, position: usize) -> (Token, Span) {
        self.tokens[position.min(self.tokens.len() - 1)]
    }

    /// Span of the next token.
    pub fn span(&self) -> Span {
        self.at(self.position).1
    }

    pub fn is_at_end(&self) -> bool {
        self.position >= self.tokens.len()
    }

    /// Consumes the next token.
    pub fn bump(&mut self) -> (Token, Span) {
        let token = self.at(self.position);
        self.position += 1;
        token
    }

    /// Consumes the next token if it is this one.
    pub fn take(&mut self, token: Token) -> bool {
        let is_next = self.peek() == token;
        self.position += usize::from(is_next);
        is_next
    }

    /// Consumes the next token, which must be this one.
    pub fn expect(&mut self, token: Token) -> Parsed<Span> {
        match self.peek() == token {
            true => Ok(self.bump().1),
            false => Err(self.expected(token.describe())),
        }
    }

    /// Returns an error about an unexpected token.
    pub fn expected(&self, what: &str) -> Diagnostic {
        let found = match self.peek() {
            Token::Newline => Token::Newline.describe().to_owned(),
            _ => format!("`{}`", self.text(self.span())),
        };
        error(self.span(), format!("expected {what}, found {found}"))
    }

    /// Skips to the start of the next line.
    pub fn skip_line(&mut self) {
        while self.bump().0 != Token::Newline {}
    }

    pub fn text(&self, span: Span) -> &'a str {
        self.source.slice(span)
    }

    /// Reads a name and its span.
    pub fn name(&mut self, what: &str) -> Parsed<(&'a str, Span)> {
        match self.peek() {
            Token::Name => {
                let span = self.bump().1;
                Ok((self.text(span), span))
            }
            _ => Err(self.expected(what)),
        }
    }

    /// Reads a function's name and its span.
    pub fn global(&mut self) -> Parsed<(String, Span)> {
        let (token, span) = (self.peek(), self.span());
        let text = &self.text(span);
        let name = match token {
            Token::Global => text[1..].to_owned(),
            Token::QuotedGlobal => unquoted(&text[1..]).ok_or_else(|| bad_escape(span))?,
            _ => return Err(self.expected(Token::Global.describe())),
        };
        self.bump();
        Ok((name, span))
    }

    /// Reads a string.
    pub fn string(&mut self) -> Parsed<String> {
        let span = self.expect(Token::Str)?;
        unquoted(self.text(span)).ok_or_else(|| bad_escape(span))
    }

    /// Reads a number.
    pub fn number<T: FromStr>(&mut self, what: &str) -> Parsed<T> {
        let span = self.span();
        if !matches!(self.peek(), Token::Int | Token::Float) {
            return Err(self.expected(what));
        }
        self.bump();
        self.text(span).parse().map_err(|_| error(span, format!("`{}` is not {what}", self.text(span))))
    }

    /// Reads a comma-separated list between two tokens.
    pub fn list<T>(
        &mut self,
        left: Token,
        right: Token,
        mut item: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        self.expect(left)?;
        let mut items = Vec::new();
        if self.take(right) {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.take(right) {
                return Ok(items);
            }
            self.expect(Token::Comma)?;
        }
    }
}

fn bad_escape(span: Span) -> Diagnostic {
    error(span, "an escape in the string is unknown").help("known are `\\\"`, `\\\\`, `\\n`, `\\t` and `\\u{1f600}`")
}
