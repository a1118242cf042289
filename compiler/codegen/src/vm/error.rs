//! Errors of bytecode generation.

use hammock_ir::{Name, Span};
use hammock_runtime::executable::ExecutableError;

/// Errors of bytecode generation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodegenError {
    /// An operator that no pass has lowered and the virtual machine does not support.
    #[error("`R.{op}` in function `{function}` has no lowering")]
    Operator {
        /// The operator.
        op: &'static str,
        /// The enclosing function.
        function: Name,
        /// Source span.
        span: Span,
    },
    /// An unsupported form.
    #[error("{what} in function `{function}` cannot be compiled")]
    Unsupported {
        /// The form.
        what: &'static str,
        /// The enclosing function.
        function: Name,
        /// Source span.
        span: Span,
    },
    /// A reference to an undefined global function.
    #[error("function `{function}` refers to `{name}`, which the module does not have")]
    Missing {
        /// The missing function.
        name: Name,
        /// The function that refers to it.
        function: Name,
        /// Source span.
        span: Span,
    },
    /// The bytecode is invalid: the module was not well-formed.
    #[error("the bytecode is not valid: {0}")]
    Invalid(ExecutableError),
}

impl CodegenError {
    /// Source span of the error.
    pub fn span(&self) -> Span {
        match self {
            CodegenError::Operator { span, .. }
            | CodegenError::Unsupported { span, .. }
            | CodegenError::Missing { span, .. } => *span,
            CodegenError::Invalid(_) => Span::NONE,
        }
    }
}
