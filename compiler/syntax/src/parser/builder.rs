//! Builder for the grammar's actions: names, nodes with checked depth, and diagnostics.

use rustc_hash::FxHashMap;

use super::chain::Piece;
use super::unexpected::{self, Unexpected};
use crate::ast::{self, Arg, Comprehension, ComprehensionKind, Expr, ExprKind, ForClause, Ident, Name, Stmt, StmtKind};
use crate::layout::MAX_DIAGNOSTICS;
use hammock_diagnostics::{Diagnostic, Span, codes};

/// Accumulates the tree and the diagnostics of one text.
pub(super) struct Builder<'src> {
    text: &'src str,
    base: u32,
    names: FxHashMap<&'src str, Name>,
    /// Errors in single nodes.
    pub(super) reports: Vec<Diagnostic>,
    /// Syntax errors, in order, including consequences of other errors.
    pub(super) surprises: Vec<Diagnostic>,
    /// Recycled lists for the next chains of operators.
    pub(super) spare_chains: Vec<Vec<Piece>>,
    /// Unexpected indented blocks, including consequences of other errors.
    pub(super) orphans: Vec<Diagnostic>,
    /// The span last rejected for its depth.
    refused: Span,
}

impl<'src> Builder<'src> {
    /// A builder for a text at offset `base` of its file.
    pub(super) fn new(text: &'src str, base: u32) -> Self {
        let (names, reports, surprises, orphans, spare_chains) = Default::default();
        Builder { text, base, names, reports, surprises, orphans, spare_chains, refused: Span::NONE }
    }

    /// The text between two offsets of the file.
    pub(super) fn slice(&self, start: u32, end: u32) -> &'src str {
        &self.text[(start - self.base) as usize..(end - self.base) as usize]
    }

    /// The shared copy of a text that is likely to occur again.
    pub(super) fn intern(&mut self, text: &'src str) -> Name {
        self.names.entry(text).or_insert_with(|| Name::from(text)).clone()
    }

    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        if self.reports.len() < MAX_DIAGNOSTICS {
            self.reports.push(diagnostic);
        }
    }

    /// Records an error of the grammar.
    pub(super) fn unexpected(&mut self, error: Unexpected) {
        if self.surprises.len() < MAX_DIAGNOSTICS {
            self.surprises.extend(unexpected::explain(error, self.text, self.base));
        }
    }

    /// Records an unexpected indented block.
    pub(super) fn unexpected_indent(&mut self, start: u32, end: u32) {
        if self.orphans.len() < MAX_DIAGNOSTICS {
            self.orphans.push(unexpected::unexpected_block(Span::new(start, end)));
        }
    }

    /// Records that the line that ends here should end in a colon.
    pub(super) fn missing_colon(&mut self, end: u32) {
        self.report_unexpected(unexpected::missing_colon(Span::new(end, end)));
    }

    /// Records that no block follows the line that ends here.
    pub(super) fn missing_block(&mut self, end: u32) {
        self.report_unexpected(unexpected::missing_block(Span::new(end - 1, end)));
    }

    fn report_unexpected(&mut self, diagnostic: Diagnostic) {
        if self.surprises.len() < MAX_DIAGNOSTICS {
            self.surprises.push(diagnostic);
        }
    }

    pub(super) fn ident(&mut self, start: u32, end: u32) -> Ident {
        Ident { name: self.intern(self.slice(start, end)), span: Span::new(start, end) }
    }

    /// A dotted path, without blanks around its dots.
    pub(super) fn path(&mut self, start: u32, end: u32) -> Name {
        let path = self.slice(start, end);
        if path.contains(|c: char| c.is_ascii_whitespace() || c == '\\') {
            return path.split(|c: char| c.is_ascii_whitespace() || c == '\\').collect::<String>().into();
        }
        self.intern(path)
    }

    /// An expression; [`ExprKind::Error`] if its tree is too high.
    pub(super) fn expr(&mut self, kind: ExprKind, start: u32, end: u32) -> Expr {
        let expr = Expr::new(kind, Span::new(start, end));
        if expr.depth() <= ast::MAX_EXPR_DEPTH { expr } else { self.reject(expr.span) }
    }

    /// Replaces an expression whose tree is too high.
    pub(super) fn reject(&mut self, span: Span) -> Expr {
        self.report_depth(span, "expressions", ast::MAX_EXPR_DEPTH);
        Expr::new(ExprKind::Error, span)
    }

    /// Reports a tree that is too high, unless something inside it was.
    fn report_depth(&mut self, span: Span, what: &str, limit: u16) {
        if self.refused.is_none() || self.refused.start < span.start || self.refused.end > span.end {
            self.report(too_deep(span, what, limit));
        }
        self.refused = span;
    }

    /// A statement, without its blocks if its tree is too high.
    pub(super) fn stmt(&mut self, kind: StmtKind, start: u32, end: u32) -> Stmt {
        let stmt = Stmt::new(kind, Span::new(start, end));
        if stmt.depth() <= ast::MAX_STMT_DEPTH {
            return stmt;
        }
        self.report_depth(stmt.span, "blocks", ast::MAX_STMT_DEPTH);
        Stmt::new(StmtKind::Pass, stmt.span)
    }

    /// A comma-separated list without brackets: one expression, or a tuple.
    pub(super) fn tuple(&mut self, items: Vec<Expr>, end: u32) -> Expr {
        let start = items.first().map_or(end, |item| item.span.start);
        self.expr(ExprKind::Tuple(items), start, end)
    }

    pub(super) fn call(&mut self, func: Expr, args: Vec<Arg>, end: u32) -> Expr {
        self.check_order(&args);
        let start = func.span.start;
        self.expr(ExprKind::Call(Box::new(ast::Call { func, args })), start, end)
    }

    /// Checks that positional arguments precede named ones.
    fn check_order(&mut self, args: &[Arg]) {
        let Some(named) = args.iter().position(|arg| arg.name.is_some()) else { return };
        let late = args[named..].iter().find(|arg| arg.name.is_none() && arg.star == ast::Star::None);
        if let Some(late) = late {
            let message = "an argument without a name follows one with a name";
            let diagnostic = Diagnostic::error(codes::UNEXPECTED_TOKEN, message);
            let diagnostic = diagnostic.label(late.value.span, "this argument has no name");
            self.report(diagnostic.secondary(args[named].span(), "this one has"));
        }
    }

    pub(super) fn name(&mut self, start: u32, end: u32) -> Expr {
        let name = self.intern(self.slice(start, end));
        self.expr(ExprKind::Name(name), start, end)
    }

    pub(super) fn comprehension(
        &mut self,
        kind: ComprehensionKind,
        element: Expr,
        value: Option<Expr>,
        clauses: Vec<ForClause>,
        (start, end): (u32, u32),
    ) -> Expr {
        let comprehension = Box::new(Comprehension { kind, element, value, clauses });
        self.expr(ExprKind::Comprehension(comprehension), start, end)
    }

    /// Reports an unsupported construct of Python.
    pub(super) fn unsupported(&mut self, span: Span, construct: &str, help: &str) {
        let diagnostic = Diagnostic::error(codes::UNSUPPORTED_SYNTAX, format!("{construct} cannot be used here"));
        self.report(diagnostic.label(span, "this is Python that has no meaning in a module").help(help));
    }
}

fn too_deep(span: Span, what: &str, limit: u16) -> Diagnostic {
    Diagnostic::error(codes::NESTED_TOO_DEEPLY, format!("{what} are nested deeper than {limit} levels"))
        .label(span, "this is too deep")
        .help("name the inner parts: bind them to variables, or move them to functions of their own")
}
