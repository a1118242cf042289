//! Why functions cannot be compiled.

/// Why functions were not compiled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NativeError {
    /// The code generator cannot make code for the processor.
    #[error("no machine code can be generated for x86-64: {0}")]
    Target(String),
    /// A function is beyond what it can do.
    #[error("function `{name}` cannot be compiled: {reason}")]
    Function {
        /// The function.
        name: String,
        /// What the code generator said.
        reason: String,
    },
    /// The object cannot be written.
    #[error("the object cannot be written: {0}")]
    Object(String),
}
