//! Why a module cannot become bytecode.

use hammock_ir::{Name, Span};
use hammock_runtime::executable::ExecutableError;

/// Why a module cannot become bytecode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodegenError {
    /// An operator that no pass has lowered and the machine does not know.
    #[error("`R.{op}` in function `{function}` has no lowering")]
    Operator {
        /// The operator.
        op: &'static str,
        /// The function it stands in.
        function: Name,
        /// Where.
        span: Span,
    },
    /// A form that the machine does not know.
    #[error("{what} in function `{function}` cannot be compiled")]
    Unsupported {
        /// What it is.
        what: &'static str,
        /// The function it stands in.
        function: Name,
        /// Where.
        span: Span,
    },
    /// A global function that the module does not have.
    #[error("function `{function}` refers to `{name}`, which the module does not have")]
    Missing {
        /// The missing function.
        name: Name,
        /// The function that refers to it.
        function: Name,
        /// Where.
        span: Span,
    },
    /// The bytecode breaks a rule: the module was not well-formed.
    #[error("the bytecode is not valid: {0}")]
    Invalid(ExecutableError),
}

impl CodegenError {
    /// Where in the text the error is.
    pub fn span(&self) -> Span {
        match self {
            CodegenError::Operator { span, .. }
            | CodegenError::Unsupported { span, .. }
            | CodegenError::Missing { span, .. } => *span,
            CodegenError::Invalid(_) => Span::NONE,
        }
    }
}
