//! Errors of compiling a function to a kernel.

use crate::schedule::PlanError;
use hammock_ir::{DType, Name, Span, count};
use thiserror::Error;

/// Error in a function.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("TIR function `{function}` cannot be compiled: {reason}")]
pub struct KernelError {
    /// Symbol of the function.
    pub function: Name,
    /// Location in the source.
    pub span: Span,
    /// Reason.
    #[source]
    pub reason: Reason,
}

/// Reason why a function cannot be compiled.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs, reason = "the message says what each is")]
pub enum Reason {
    #[error("variable `{0}` has no value")]
    Free(Name),
    #[error("the size of buffer `{0}` depends on values unknown where it is declared")]
    BufferSize(Name),
    #[error("there is no memory behind buffer `{0}`")]
    NoMemory(Name),
    #[error("elements of dtype {0} are not supported")]
    Element(DType),
    #[error("buffer `{buffer}` of {} gets {}", count(*expected, "dimension"), count(*actual, "index"))]
    IndexCount { buffer: Name, expected: usize, actual: usize },
    #[error("`{0}` works on threads of a GPU only")]
    GpuOnly(Name),
    #[error("{0}")]
    GpuLimit(String),
    #[error("{what} runs on the host only; {help}")]
    HostOnly { what: String, help: &'static str },
    #[error("{0}")]
    Memory(String),
    #[error("`{0}` is no region of its buffer: it has more dimensions, or another dtype")]
    Region(Name),
    #[error("the call of kernel `{callee}` cannot be made: {why}")]
    Call { callee: Name, why: String },
    #[error(
        "kernel `{0}` is called where that may not be evaluated, or more than once; bind its result first: `x: T.int32 = …`"
    )]
    CallPlace(Name),
    #[error("a function is given a tensor where that may not be evaluated; call it in a statement of its own")]
    PackedPlace,
    #[error("its plan cannot be used: {0}")]
    Plan(PlanError),
    #[error("`T.reduce` outside of a compute definition")]
    Reduce,
}
