//! The formatter: rewrites white space of a text, and keeps its tokens and comments.
//!
//! [`scan`] reads logical lines with their comments, [`builder`] groups the tokens of a line by brackets into a [`tree`],
//! and [`spacing`] says which are separated by a space. [`breaking`] selects the brackets whose elements go onto lines of
//! their own, [`operators`] breaks long elements before operators, [`blank_lines`] separates lines, and [`writer`] writes
//! them. Brackets that are broken up get a trailing comma where it means nothing, and with one they stay broken up when
//! the text is formatted again. [`verify`] compares the tokens of the result.

mod blank_lines;
mod breaking;
mod builder;
mod operators;
mod scan;
mod spacing;
mod tree;
mod verify;
mod writer;

use crate::parser::parse;
use hammock_diagnostics::{Diagnostic, SourceFile, Span, codes};

/// Maximum number of columns of a line, unless no bracket can be broken up.
const MAX_COLUMNS: usize = 120;
/// Number of columns of a level of indentation.
const INDENT: usize = 4;

/// Formats a text.
///
/// # Errors
/// Syntax errors. Never returns a text with other tokens: that the formatter would change them is an error as well.
pub fn format(file: &SourceFile) -> Result<String, Vec<Diagnostic>> {
    let (_, diagnostics) = parse(file);
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Err(diagnostics);
    }
    let mut rows = scan::rows(file.text());
    blank_lines::normalize(&mut rows);
    let formatted = writer::text(&rows);
    match verify::first_difference(file.text(), &formatted) {
        None => Ok(formatted),
        Some(at) => Err(vec![changed(at, file)]),
    }
}

fn changed(at: u32, file: &SourceFile) -> Diagnostic {
    let end = file.text().ceil_char_boundary((at as usize + 1).min(file.text().len()));
    Diagnostic::error(codes::UNSUPPORTED_SYNTAX, "this text cannot be formatted without changing its meaning")
        .label(Span::new(at, end as u32), "tokens would change from here on")
        .help("this is a bug in Hammock; the text is left unchanged")
}

#[cfg(test)]
mod tests;
