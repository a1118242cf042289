//! Source files, diagnostics, lexer, grammar and syntax tree of the TVMScript dialect.
//!
//! In comes text, out goes an [`ast::Module`] and a list of [`Diagnostic`]s. The text is read as the subset of Python
//! that TVMScript uses; what its names mean is for the importer to say. Nothing here panics on any input.
#![forbid(unsafe_code)]

pub mod ast;
pub mod codes;
mod diagnostic;
mod layout;
mod lexer;
mod parser;
mod render;
mod source;
mod span;
mod words;

pub use diagnostic::{Diagnostic, Fix, Label, Severity};
pub use parser::{parse, parse_expression};
pub use render::{render_json, render_text};
pub use source::{Position, SourceFile};
pub use span::Span;
pub use words::count;
