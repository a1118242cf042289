//! Errors in executables.

/// Reason why an executable is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExecutableError {
    /// The bytes are not an executable.
    #[error("not an executable: it begins with {0:#018x}")]
    BadMagic(u64),
    /// The format version is unsupported.
    #[error("the executable is of version {0:?}; this runtime reads version \"0.14\"")]
    BadVersion(String),
    /// The input ends too early, or a length in it is wrong.
    #[error("the executable is damaged: it ends within its {0}")]
    Truncated(&'static str),
    /// There are bytes after the end.
    #[error("the executable is damaged: {0} bytes follow its end")]
    Trailing(usize),
    /// The bytes have changed since they were written.
    #[error("the executable is damaged: its checksum does not match")]
    Checksum,
    /// A field has an invalid value.
    #[error("the executable is damaged: {0}")]
    Malformed(String),
    /// A function violates a rule of the verifier.
    #[error("the executable is invalid: function `{function}`: {rule}")]
    Function {
        /// The function.
        function: String,
        /// The violated rule.
        rule: String,
    },
    /// An instruction violates a rule of the verifier.
    #[error("the executable is invalid: function `{function}`, instruction {instruction}: {rule}")]
    Instruction {
        /// The function.
        function: String,
        /// Index of the instruction in the function.
        instruction: usize,
        /// The violated rule.
        rule: String,
    },
}
