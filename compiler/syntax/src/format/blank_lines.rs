//! Blank lines: at most one inside bodies, two around definitions at the top level.

use super::scan::{Body, Row};
use crate::lexer::Token;

/// Number of blank lines around a definition at the top level, and the maximum between other lines there.
const TOP_LEVEL: usize = 2;

/// Sets the number of blank lines before each row.
pub(super) fn normalize(rows: &mut [Row]) {
    let (mut after_code, mut after_decorator, mut after_definition) = (false, false, false);
    // First row of the comments that directly precede the current one.
    let mut comments = 0;
    for at in 0..rows.len() {
        let first = first_token(&rows[at]);
        let is_top = rows[at].depth == 0;
        if at == 0 || after_decorator {
            rows[at].blanks = 0;
        }
        rows[at].blanks = rows[at].blanks.min(if is_top { TOP_LEVEL } else { 1 });
        let follows_comment = at > 0
            && first_token(&rows[at - 1]).is_none()
            && rows[at - 1].depth == rows[at].depth
            && rows[at].blanks == 0;
        if !follows_comment {
            comments = at;
        }
        let Some(first) = first else { continue };
        let defines = matches!(first, Token::Def | Token::Class | Token::At);
        if is_top && after_code && !after_decorator && (defines || after_definition) {
            rows[comments].blanks = TOP_LEVEL;
        }
        after_decorator = first == Token::At;
        after_code = true;
        if is_top {
            after_definition = defines;
        }
    }
}

/// The first token of a line; `None` for a comment.
fn first_token(row: &Row) -> Option<Token> {
    match &row.body {
        Body::Code(line) => line.items.first().map(|item| item.token),
        Body::Comment(_) => None,
    }
}
