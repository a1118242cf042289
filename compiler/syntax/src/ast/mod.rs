//! The syntax tree of a text module: a subset of Python's, without meaning.
//!
//! What is in it: everything that TVMScript prints and people write by hand. Comments are gone, string literals are
//! decoded, parentheses are dropped (the span of the expression inside covers them).
//!
//! # Depth
//!
//! The parser refuses trees higher than [`MAX_EXPR_DEPTH`] and [`MAX_STMT_DEPTH`], so that code which walks the tree
//! may recurse. Chains of operators of the same precedence (`a + b + c …`), of `and`/`or`, and of comparisons are flat
//! lists and of any length.
//!
//! # Errors
//!
//! A tree parsed from damaged text is what could be saved: broken statements are left out, and
//! [`ExprKind::Error`] stands where an expression was refused. Each such place has a diagnostic.

mod depth;
mod expr;
mod relocate;
mod stmt;

use std::sync::Arc;

pub use expr::*;
pub use stmt::*;

use hammock_diagnostics::Span;

/// Highest expression tree the parser makes.
pub const MAX_EXPR_DEPTH: u16 = 256;

/// Highest tree of nested statements the parser makes; each `elif` is a level.
pub const MAX_STMT_DEPTH: u16 = 256;

/// An identifier's text. Equal names of one file share their text.
pub type Name = Arc<str>;

/// A whole file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Module {
    /// Its statements.
    pub body: Vec<Stmt>,
}

/// An identifier where it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct Ident {
    /// Its text.
    pub name: Name,
    /// Where.
    pub span: Span,
}

impl Ident {
    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.name
    }
}
