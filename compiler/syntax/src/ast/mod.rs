//! The syntax tree of a text module: a subset of Python's, without meaning.
//!
//! It covers everything that TVMScript prints and users write by hand. Comments are dropped, string literals are
//! decoded, parentheses are dropped (the span of the inner expression covers them).
//!
//! # Depth
//!
//! The parser rejects trees higher than [`MAX_EXPR_DEPTH`] and [`MAX_STMT_DEPTH`], so that code that walks the tree may
//! recurse. Chains of operators of the same precedence (`a + b + c …`), of `and`/`or`, and of comparisons are flat
//! lists of any length.
//!
//! # Errors
//!
//! A tree parsed from damaged text is partial: broken statements are omitted, and [`ExprKind::Error`] replaces rejected
//! expressions. Each has a diagnostic.

mod depth;
mod expr;
mod relocate;
mod stmt;
mod visit;

use std::sync::Arc;

pub use expr::*;
pub use stmt::*;

use hammock_diagnostics::Span;

/// Maximum height of an expression tree.
pub const MAX_EXPR_DEPTH: u16 = 256;

/// Maximum height of a tree of nested statements; each `elif` is a level.
pub const MAX_STMT_DEPTH: u16 = 256;

/// An identifier's text. Equal names of one file share their text.
pub type Name = Arc<str>;

/// A whole file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Module {
    /// Its statements.
    pub body: Vec<Stmt>,
}

/// An identifier with its span.
#[derive(Clone, Debug, PartialEq)]
pub struct Ident {
    /// Its text.
    pub name: Name,
    /// Its span.
    pub span: Span,
}

impl Ident {
    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.name
    }
}
