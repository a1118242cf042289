//! Matching of brackets, and recovery from mismatches.

use super::{Brackets, Content, Item, Layout, MAX_BRACKETS, indent::Indent};
use crate::lexer::Token;
use hammock_diagnostics::{Diagnostic, Span, codes};

/// An open bracket.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bracket {
    token: Token,
    at: u32,
}

impl Bracket {
    fn span(self) -> Span {
        Span::new(self.at, self.at + 1)
    }

    fn closing(self) -> Token {
        match self.token {
            Token::LeftParen => Token::RightParen,
            Token::LeftBracket => Token::RightBracket,
            _ => Token::RightBrace,
        }
    }
}

fn symbol(token: Token) -> char {
    match token {
        Token::LeftParen => '(',
        Token::LeftBracket => '[',
        Token::LeftBrace => '{',
        Token::RightParen => ')',
        Token::RightBracket => ']',
        _ => '}',
    }
}

impl Layout<'_> {
    pub(super) fn open(&mut self, token: Token, at: u32) -> Token {
        let bracket = Bracket { token, at };
        if self.brackets.len() < MAX_BRACKETS {
            self.brackets.push(bracket);
            return token;
        }
        self.report(too_deep(bracket));
        self.skip_brackets(bracket);
        Token::Bad
    }

    /// Skips everything that a rejected bracket encloses.
    fn skip_brackets(&mut self, bracket: Bracket) {
        let mut open = 1usize;
        for (token, _) in self.lexer.by_ref() {
            match token {
                Ok(Token::LeftParen | Token::LeftBracket | Token::LeftBrace) => open += 1,
                Ok(Token::RightParen | Token::RightBracket | Token::RightBrace) => open -= 1,
                _ => {}
            }
            if open == 0 {
                return;
            }
        }
        self.brackets.push(bracket);
    }

    /// Handles a closing bracket: the token to return, or `None` if reading stops.
    pub(super) fn close(&mut self, token: Token, start: u32, end: u32) -> Option<Token> {
        let Some(&top) = self.brackets.last() else {
            self.report_bracket(never_opened(token, Span::new(start, end)));
            return Some(Token::Bad);
        };
        if top.closing() == token {
            self.brackets.pop();
            return Some(token);
        }
        if self.trust == Brackets::Trusted {
            self.stop();
            return None;
        }
        match self.brackets.iter().rposition(|bracket| bracket.closing() == token) {
            Some(partner) => {
                self.abandon_brackets(partner + 1);
                self.brackets.pop();
            }
            None => {
                self.brackets.pop();
                self.report_bracket(mismatched(top, token, Span::new(start, end)));
            }
        }
        Some(Token::Bad)
    }

    /// Reports the brackets above a level as never closed, and drops them.
    pub(super) fn abandon_brackets(&mut self, level: usize) {
        let open = self.brackets.split_off(level);
        if let Some((&inner, outer)) = open.split_last() {
            self.report_bracket(never_closed(inner, outer.last().copied()));
        }
    }

    /// Reports a bracket, unless the logical line has a bracket or a string that explains it.
    fn report_bracket(&mut self, diagnostic: Diagnostic) {
        let line = self.lines.last().copied().unwrap_or(self.base);
        let explains = |error: &Diagnostic| {
            [codes::UNMATCHED_BRACKET, codes::OPEN_STRING].contains(&error.code) && error.span().start >= line
        };
        if !self.errors.last().is_some_and(explains) {
            self.report(diagnostic);
        }
    }

    /// Returns true if a line that starts with this token inside brackets indicates that they were not closed: a
    /// statement keyword, or, no deeper than the block, the start of any statement.
    pub(super) fn looks_like_statement(&self, (start, token, end): Item) -> bool {
        if self.content == Content::Expression {
            return false;
        }
        match token {
            Token::Class | Token::Def | Token::Return | Token::With | Token::While | Token::Assert => true,
            Token::Pass | Token::Break | Token::Continue | Token::Import | Token::Try | Token::Raise => true,
            Token::From | Token::At | Token::If | Token::Elif | Token::Else | Token::For => self.at_margin(start),
            Token::Name => self.at_margin(start) && self.is_assigned(end),
            _ => false,
        }
    }

    fn at_margin(&self, start: u32) -> bool {
        Indent::of(self.slice(self.line_start, start)).columns <= self.current_indent().columns
    }

    /// Returns true if `=` or `:` follows, but not `==`.
    fn is_assigned(&self, end: u32) -> bool {
        let rest = self.text[(end - self.base) as usize..].trim_start_matches([' ', '\t']);
        rest.starts_with(':') || (rest.starts_with('=') && !rest.starts_with("=="))
    }
}

fn never_closed(inner: Bracket, outer: Option<Bracket>) -> Diagnostic {
    let diagnostic = Diagnostic::error(codes::UNMATCHED_BRACKET, format!("`{}` was never closed", symbol(inner.token)))
        .label(inner.span(), "opened here");
    match outer {
        Some(outer) => diagnostic.secondary(outer.span(), "this one is open as well"),
        None => diagnostic,
    }
}

fn never_opened(token: Token, span: Span) -> Diagnostic {
    Diagnostic::error(codes::UNMATCHED_BRACKET, format!("`{}` closes nothing", symbol(token)))
        .label(span, "no bracket is open here")
}

fn mismatched(open: Bracket, token: Token, span: Span) -> Diagnostic {
    let (opening, closing) = (symbol(open.token), symbol(token));
    Diagnostic::error(codes::UNMATCHED_BRACKET, format!("`{closing}` does not close `{opening}`"))
        .label(span, format!("expected `{}`", symbol(open.closing())))
        .secondary(open.span(), "opened here")
}

fn too_deep(bracket: Bracket) -> Diagnostic {
    Diagnostic::error(codes::NESTED_TOO_DEEPLY, format!("brackets are nested deeper than {MAX_BRACKETS} levels"))
        .label(bracket.span(), "this is one level too many")
        .help("name the inner parts: bind them to variables first")
}
