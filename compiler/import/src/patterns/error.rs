//! Errors in patterns.

use hammock_diagnostics::{Diagnostic, Span, codes};

/// Result of reading a part of the text.
pub type Read<T> = Result<T, Diagnostic>;

/// An error in a pattern.
pub fn wrong(span: Span, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(codes::BAD_PATTERN, message).label(span, "")
}
