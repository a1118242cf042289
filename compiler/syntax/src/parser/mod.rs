//! The parser: runs the generated LALR parser on the layout's tokens and sorts the diagnostics.

mod builder;
mod chain;
mod escapes;
mod expected;
mod foreign;
mod literals;
mod operators;
mod targets;
mod unexpected;

/// The generated parser: tables and actions, from `grammar.lalrpop`.
#[allow(clippy::all, clippy::pedantic, missing_docs, unused, unreachable_pub)]
mod grammar {
    include!(concat!(env!("OUT_DIR"), "/parser/grammar.rs"));
}

use std::collections::BTreeSet;

use crate::ast::{Expr, Module, Stmt};
use crate::layout::{Brackets, Content, Layout};
use builder::Builder;
use hammock_diagnostics::{Diagnostic, SourceFile, Span, codes};

/// Maximum number of errors shown for one file.
const MAX_ERRORS: usize = 100;

/// The tree of a text.
pub(crate) enum Tree {
    Module(Vec<Stmt>),
    Expr(Expr),
    Nothing,
}

/// A list with one more member, for the grammar's actions.
fn push<T>(mut list: Vec<T>, next: T) -> Vec<T> {
    list.push(next);
    list
}

/// A list with more members, for the grammar's actions.
fn join<T>(mut list: Vec<T>, more: impl IntoIterator<Item = T>) -> Vec<T> {
    list.extend(more);
    list
}

/// Parses a file: returns the tree, partial if there are errors, and the diagnostics in source order.
///
/// After an error, parsing resumes at the next statement. If a diagnostic is an error, the tree is incomplete.
pub fn parse(file: &SourceFile) -> (Module, Vec<Diagnostic>) {
    let (tree, diagnostics) = run(file.text(), 0, Content::File);
    match tree {
        Tree::Module(body) => (Module { body }, diagnostics),
        _ => (Module::default(), diagnostics),
    }
}

/// Parses a quoted expression in a file, such as the dimension `"n * 2"`.
///
/// `text` is the decoded string and `literal` the span of its literal. All spans of the result and of the diagnostics
/// refer to the file: exactly if the literal has no escapes, otherwise to the literal as a whole.
pub fn parse_expression(text: &str, file: &SourceFile, literal: Span) -> Result<Expr, Vec<Diagnostic>> {
    // The span of an expression covers its enclosing parentheses.
    let around = |c: char| matches!(c, '(' | ')') || c.is_whitespace();
    let written = file.slice(literal).trim_start_matches(around);
    let start = literal.end - written.len() as u32;
    let (prefix, body) = escapes::split(written.trim_end_matches(around));
    let exact = !written.is_empty() && prefix.is_empty() && body.text == text;
    let base = if exact { start + body.offset as u32 } else { 0 };
    let (tree, mut diagnostics) = run(text, base, Content::Expression);
    if !exact {
        diagnostics.iter_mut().flat_map(|diagnostic| &mut diagnostic.labels).for_each(|label| label.span = literal);
    }
    match tree {
        Tree::Expr(mut expr) if !diagnostics.iter().any(Diagnostic::is_error) => {
            if !exact {
                expr.move_to(literal);
            }
            Ok(expr)
        }
        _ => Err(diagnostics),
    }
}

fn run(text: &str, base: u32, content: Content) -> (Tree, Vec<Diagnostic>) {
    attempt(text, base, content, Brackets::Trusted)
        .or_else(|| attempt(text, base, content, Brackets::Mistrusted))
        .unwrap_or((Tree::Nothing, Vec::new()))
}

/// Parses once; `None` if brackets were trusted and do not close.
fn attempt(text: &str, base: u32, content: Content, brackets: Brackets) -> Option<(Tree, Vec<Diagnostic>)> {
    let mut layout = Layout::new(text, base, content, brackets);
    let mut builder = Builder::new(text, base);
    let tree = grammar::TextParser::new().parse(&mut builder, &mut layout);
    if layout.unbalanced() {
        return None;
    }
    let tree = tree.unwrap_or_else(|error| {
        builder.unexpected(error);
        Tree::Nothing
    });
    let (mut reports, lines) = layout.into_reports();
    reports.append(&mut builder.reports);
    Some((tree, in_order(reports, builder.surprises, builder.orphans, &lines)))
}

/// All diagnostics, sorted by position, without consequences of others: at most one syntax error per logical line, none
/// if the line has another error, and none for the block under a broken line.
fn in_order(
    mut reports: Vec<Diagnostic>,
    surprises: Vec<Diagnostic>,
    orphans: Vec<Diagnostic>,
    lines: &[u32],
) -> Vec<Diagnostic> {
    let line_of = |diagnostic: &Diagnostic| lines.partition_point(|&start| start <= diagnostic.span().start);
    let mut broken: BTreeSet<usize> = reports.iter().filter(|report| report.is_error()).map(line_of).collect();
    reports.extend(surprises.into_iter().filter(|report_unexpected| broken.insert(line_of(report_unexpected))));
    reports.extend(orphans.into_iter().filter(|unexpected_block| {
        let line = line_of(unexpected_block);
        !broken.contains(&line.saturating_sub(1)) && broken.insert(line)
    }));
    reports.sort_by_key(|diagnostic| diagnostic.span().start);
    if reports.len() > MAX_ERRORS {
        reports.truncate(MAX_ERRORS);
        reports.push(Diagnostic::note(codes::TOO_MANY_ERRORS, "the file has more errors, which are not shown"));
    }
    reports
}
