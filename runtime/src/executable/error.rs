//! Errors in executables.

/// Why an executable was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExecutableError {
    /// The bytes are no executable.
    #[error("not an executable: it begins with {0:#018x}")]
    BadMagic(u64),
    /// The executable is of another version.
    #[error("the executable is of version {0:?}; this runtime reads version \"0.14\"")]
    BadVersion(String),
    /// The bytes end too early, or a length in them is wrong.
    #[error("the executable is damaged: it ends within its {0}")]
    Truncated(&'static str),
    /// There are bytes after the end.
    #[error("the executable is damaged: {0} bytes follow its end")]
    Trailing(usize),
    /// The bytes have changed since they were written.
    #[error("the executable is damaged: its checksum does not match")]
    Checksum,
    /// Something read is none of the values it may be.
    #[error("the executable is damaged: {0}")]
    Malformed(String),
    /// A rule of the verifier is broken by a function.
    #[error("the executable is invalid: function `{function}`: {rule}")]
    Function {
        /// The function.
        function: String,
        /// The rule, and how it is broken.
        rule: String,
    },
    /// A rule of the verifier is broken by an instruction.
    #[error("the executable is invalid: function `{function}`, instruction {instruction}: {rule}")]
    Instruction {
        /// The function.
        function: String,
        /// The instruction, counted from the function's first.
        instruction: usize,
        /// The rule, and how it is broken.
        rule: String,
    },
}
