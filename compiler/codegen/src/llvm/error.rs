//! Why kernels cannot be compiled.

use hammock_ir::{DType, Name};
use thiserror::Error;

/// Why kernels cannot be compiled to machine code.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LlvmError {
    /// A kernel uses what has no native form.
    #[error("kernel `{kernel}`: {what}")]
    Kernel {
        /// The kernel's symbol.
        kernel: String,
        /// What it uses.
        what: Unsupported,
    },
    /// LLVM knows no processor of that name.
    #[error("LLVM knows no x86-64 processor `{0}`")]
    UnknownCpu(String),
    /// LLVM does not accept the generated text: a mistake of the code generator.
    #[error("LLVM does not accept the generated code: {0}")]
    Invalid(String),
    /// LLVM failed to optimise or emit.
    #[error("LLVM failed: {0}")]
    Failed(String),
}

/// What has no native form.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Unsupported {
    /// Values of a dtype.
    #[error("values of dtype {0} have no native form")]
    DType(DType),
    /// A function that is not an intrinsic of native code, or not for arguments like these.
    #[error("`T.{0}` of these arguments cannot be compiled for this processor")]
    Intrinsic(Name),
    /// A statement or expression that lowering should have removed, or that makes no sense where it stands.
    #[error("{0}")]
    Form(&'static str),
    /// A variable that nothing binds.
    #[error("variable `{0}` has no value")]
    Unbound(Name),
}
