//! Lexer, grammar and syntax tree of the TVMScript dialect.
//!
//! In comes text, out goes an [`ast::Module`] and a list of [`Diagnostic`](hammock_diagnostics::Diagnostic)s. The text
//! is read as the subset of Python that TVMScript uses; what its names mean is for the importer to say. Nothing here
//! panics on any input.
#![forbid(unsafe_code)]

pub mod ast;
mod layout;
mod lexer;
mod parser;

pub use parser::{parse, parse_expression};
