//! Errors of native code generation.

use hammock_target::Family;

/// Errors of native code generation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NativeError {
    /// The code generator does not support the processor.
    #[error("no machine code can be generated for {}: {reason}", family.name())]
    Target {
        /// Processor family.
        family: Family,
        /// Error of the code generator.
        reason: String,
    },
    /// A function exceeds a limit of the code generator.
    #[error("function `{name}` cannot be compiled: {reason}")]
    Function {
        /// The function.
        name: String,
        /// Error of the code generator.
        reason: String,
    },
    /// The object cannot be written.
    #[error("the object cannot be written: {0}")]
    Object(String),
}
