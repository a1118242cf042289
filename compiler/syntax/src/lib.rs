//! Lexer, grammar, syntax tree and formatter of the TVMScript dialect.
//!
//! Parses text to an [`ast::Module`] and a list of [`Diagnostic`](hammock_diagnostics::Diagnostic)s. The text is read
//! as the subset of Python that TVMScript uses; the importer resolves names. Nothing here panics on any input.
#![forbid(unsafe_code)]

pub mod ast;
mod format;
mod layout;
mod lexer;
mod parser;
mod tokens;

pub use format::format;
pub use parser::{parse, parse_expression};
pub use tokens::{TokenKind, tokens};
