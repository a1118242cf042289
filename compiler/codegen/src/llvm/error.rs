//! Errors of kernel code generation.

use hammock_ir::{DType, Name};
use hammock_target::Family;
use thiserror::Error;

/// Errors of kernel code generation.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LlvmError {
    /// A kernel uses an unsupported operation.
    #[error("kernel `{kernel}`: {what}")]
    Kernel {
        /// Symbol of the kernel.
        kernel: String,
        /// The operation.
        what: Unsupported,
    },
    /// LLVM does not know the processor.
    #[error("LLVM knows no {} processor `{cpu}`", family.name())]
    UnknownCpu {
        /// Processor family.
        family: Family,
        /// Name of the processor.
        cpu: String,
    },
    /// LLVM rejects the generated text: a bug of the code generator.
    #[error("LLVM does not accept the generated code: {0}")]
    Invalid(String),
    /// LLVM failed to optimize or emit.
    #[error("LLVM failed: {0}")]
    Failed(String),
}

/// An unsupported operation.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Unsupported {
    /// Values of a dtype.
    #[error("values of dtype {0} have no native form")]
    DType(DType),
    /// An intrinsic that is unsupported for these arguments.
    #[error("`T.{0}` of these arguments cannot be compiled for this processor")]
    Intrinsic(Name),
    /// A statement or expression that lowering should have removed, or that is invalid in its context.
    #[error("{0}")]
    Form(&'static str),
    /// An unbound variable.
    #[error("variable `{0}` has no value")]
    Unbound(Name),
}
