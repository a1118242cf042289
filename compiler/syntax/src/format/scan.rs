//! Logical lines of a text with their comments and blank lines.

use crate::layout::{Brackets, Content, Layout, columns};
use crate::lexer::Token;

/// A comment, from `#` to the end of its line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Comment<'s> {
    pub(super) text: &'s str,
    /// Its column if nothing precedes it on its line.
    pub(super) own_line: Option<u32>,
    /// Number of blank lines before it.
    blanks: usize,
}

/// A token, with the comments since the previous token of its logical line.
#[derive(Debug)]
pub(super) struct Item<'s> {
    pub(super) token: Token,
    pub(super) text: &'s str,
    pub(super) comments: Vec<Comment<'s>>,
}

/// A logical line.
#[derive(Debug, Default)]
pub(super) struct Line<'s> {
    pub(super) items: Vec<Item<'s>>,
    /// The comment at its end.
    pub(super) trailing: Option<&'s str>,
}

/// Content of a row.
#[derive(Debug)]
pub(super) enum Body<'s> {
    Comment(&'s str),
    Code(Line<'s>),
}

/// A logical line, or a comment between two of them.
#[derive(Debug)]
pub(super) struct Row<'s> {
    /// Number of levels of indentation.
    pub(super) depth: usize,
    /// Number of blank lines before it.
    pub(super) blanks: usize,
    pub(super) body: Body<'s>,
}

/// The rows of a text without syntax errors.
pub(super) fn rows(text: &str) -> Vec<Row<'_>> {
    let mut scanner = Scanner { text, rows: Vec::new(), columns: vec![0], ended: Vec::new(), end: 0, in_line: false };
    for (start, token, end) in Layout::new(text, 0, Content::File, Brackets::Trusted) {
        match token {
            Token::StartFile => scanner.end = start as usize,
            Token::Newline => scanner.in_line = false,
            Token::Indent => scanner.columns.push(columns(&text[start as usize..end as usize])),
            Token::Dedent => scanner.ended.extend(scanner.columns.pop()),
            _ => scanner.token(token, start as usize, end as usize),
        }
    }
    scanner.between_lines(text.len());
    scanner.rows
}

struct Scanner<'s> {
    text: &'s str,
    rows: Vec<Row<'s>>,
    /// Columns of the open levels of indentation.
    columns: Vec<u32>,
    /// Columns of the levels that end before the next line, innermost first.
    ended: Vec<u32>,
    /// End of the last token.
    end: usize,
    in_line: bool,
}

impl<'s> Scanner<'s> {
    fn token(&mut self, token: Token, start: usize, end: usize) {
        let comments = if self.in_line {
            comments(&self.text[self.end..start], false).0
        } else {
            let blanks = self.between_lines(start);
            let body = Body::Code(Line::default());
            self.rows.push(Row { depth: self.columns.len() - 1, blanks, body });
            Vec::new()
        };
        (self.in_line, self.end) = (true, end);
        if let Some(Row { body: Body::Code(line), .. }) = self.rows.last_mut() {
            line.items.push(Item { token, text: &self.text[start..end], comments });
        }
    }

    /// Adds the comments before the next logical line; returns the number of blank lines before it.
    fn between_lines(&mut self, start: usize) -> usize {
        let (comments, blanks) = comments(&self.text[self.end..start], self.rows.is_empty());
        let outer = self.columns.len() - 1;
        let mut levels = self.columns.clone();
        levels.extend(self.ended.drain(..).rev());
        for comment in comments {
            match (comment.own_line, self.rows.last_mut()) {
                (None, Some(Row { body: Body::Code(line), .. })) => line.trailing = Some(comment.text),
                (column, _) => {
                    // A comment belongs to the innermost block that is not indented more deeply.
                    let inner = levels.iter().rposition(|&level| level <= column.unwrap_or_default());
                    let depth = inner.unwrap_or_default().max(outer);
                    levels.truncate(depth + 1);
                    self.rows.push(Row { depth, blanks: comment.blanks, body: Body::Comment(comment.text) });
                }
            }
        }
        blanks
    }
}

/// The comments between two tokens, and the number of blank lines after the last of them. `starts_line`: whether
/// nothing precedes the gap on its line.
fn comments(gap: &str, starts_line: bool) -> (Vec<Comment<'_>>, usize) {
    let bytes = gap.as_bytes();
    let mut found = Vec::new();
    let (mut at, mut line_start, mut own_line) = (0, 0, starts_line);
    let mut breaks = usize::from(starts_line);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'#' => {
                let end = gap[at..].find(['\n', '\r']).map_or(gap.len(), |length| at + length);
                let column = own_line.then(|| columns(&gap[line_start..at]));
                found.push(Comment {
                    text: gap[at..end].trim_end(),
                    own_line: column,
                    blanks: breaks.saturating_sub(1),
                });
                (at, breaks) = (end, 0);
            }
            b'\n' | b'\r' => {
                at += if bytes[at..].starts_with(b"\r\n") { 2 } else { 1 };
                (line_start, own_line, breaks) = (at, true, breaks + 1);
            }
            // A line that ends in a backslash is not blank.
            b'\\' => at += if bytes[at..].starts_with(b"\\\r\n") { 3 } else { 2 },
            _ => at += 1,
        }
    }
    (found, breaks.saturating_sub(1))
}
