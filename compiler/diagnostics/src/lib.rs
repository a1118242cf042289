//! Diagnostics: source files, spans, error codes, and rendering.
//!
//! Every part of the compiler reports through [`Diagnostic`]; only the crates that read text know a parser.
#![forbid(unsafe_code)]

pub mod codes;
mod count;
mod diagnostic;
mod read;
mod render;
mod source;
mod span;

pub use count::count;
pub use diagnostic::{Diagnostic, Fix, Label, Severity};
pub use render::{render_json, render_text};
pub use source::{Position, SourceFile};
pub use span::Span;
