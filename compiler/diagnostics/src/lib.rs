//! Diagnostics: source files, spans, error codes, and rendering.
//!
//! Every part of the compiler reports through [`Diagnostic`]; only the crates that read text know a parser.
#![forbid(unsafe_code)]

pub mod codes;
mod diagnostic;
mod render;
mod source;
mod span;
mod words;

pub use diagnostic::{Diagnostic, Fix, Label, Severity};
pub use render::{render_json, render_text};
pub use source::{Position, SourceFile};
pub use span::Span;
pub use words::count;
