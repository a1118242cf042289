//! Errors of the interpreter.

use hammock_ir::{DType, Name, Span, count};
use hammock_runtime::{Error as CallError, TensorError};
use thiserror::Error;

/// Message of a division by zero, which compiled kernels share.
pub const DIVISION_BY_ZERO: &str = "integers are divided by zero";

/// Message of a shift of `bits`-bit integers by an invalid count.
pub fn shift_error(bits: u8) -> String {
    format!("an integer of {bits} bits is shifted by a negative count or by {bits} or more")
}

/// A fault, and the function it happened in.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("in TIR function `{function}`: {fault}")]
pub struct InterpError {
    /// The function's symbol.
    pub function: Name,
    /// Source span of the statement.
    pub span: Span,
    /// The fault.
    #[source]
    pub fault: Fault,
}

/// Run-time faults.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs, reason = "the message says what each is, and fields are named after what they hold")]
pub enum Fault {
    #[error("it takes {expected} arguments, {actual} were given")]
    ArgumentCount { expected: usize, actual: usize },
    #[error("argument `{param}` should be {expected}, {actual} was given")]
    ArgumentKind { param: Name, expected: String, actual: String },
    #[error("argument `{param}`: {what} should be {expected}, it is {actual}")]
    ArgumentShape { param: Name, what: String, expected: i64, actual: i64 },
    #[error("index {index} is outside of dimension {axis} of buffer `{buffer}`, whose size is {extent}")]
    OutOfBounds { buffer: Name, axis: usize, index: i64, extent: i64 },
    #[error(
        "axis `{axis}` of block `{block}` gets value {value}, outside of its domain of {extent} values from {min} on"
    )]
    OutsideDomain { block: Name, axis: Name, value: i64, min: i64, extent: i64 },
    #[error("buffer `{0}` reaches beyond the memory that it is declared over")]
    BeyondMemory(Name),
    #[error("the region `{region}` is not inside of dimension {axis} of buffer `{buffer}`, whose size is {extent}")]
    OutsideRegion { region: Name, buffer: Name, axis: usize, extent: i64 },
    #[error("element {element} of buffer `{buffer}` is outside of its memory of {bytes} bytes")]
    OutsideMemory { buffer: Name, element: i64, bytes: usize },
    #[error("buffer `{buffer}` of {} gets {}", count(*expected, "dimension"), count(*actual, "index"))]
    IndexCount { buffer: Name, expected: usize, actual: usize },
    #[error("memory of buffer `{0}` was used after the end of its scope")]
    Dangling(Name),
    #[error("an allocation of {0} elements is too large")]
    AllocationSize(i64),
    #[error("variable `{0}` has no value")]
    Unbound(Name),
    #[error("{DIVISION_BY_ZERO}")]
    DivisionByZero,
    #[error("an integer overflows {0}")]
    Overflow(DType),
    #[error("{text} {what}{values}")]
    Size { text: String, what: String, values: String },
    #[error("{}", shift_error(*bits))]
    Shift { bits: u8 },
    #[error("{kind}: {message}")]
    Assertion { kind: Name, message: String },
    #[error("the function `{0}` cannot be called by the interpreter")]
    Callee(Name),
    #[error("intrinsic `{name}` takes {expected} arguments, {actual} were given")]
    IntrinsicArguments { name: Name, expected: usize, actual: usize },
    #[error("{what} of dtype {dtype} cannot be interpreted")]
    Unsupported { what: &'static str, dtype: DType },
    #[error("expected {expected}, found {found}")]
    Mismatch { expected: &'static str, found: String },
    #[error("{0} and {1} access element {3} of buffer `{2}` without a barrier between them, and one of them stores")]
    Race(String, String, Name, i64),
    #[error("not all threads of a block reach {0}")]
    Divergent(&'static str),
    #[error("loop step is zero")]
    ZeroStep,
    #[error("{kind}: {message}")]
    Stopped { kind: String, message: String },
    #[error(transparent)]
    Tensor(#[from] TensorError),
}

impl Fault {
    /// Returns the kind of error that compiled kernels report.
    pub fn kind(&self) -> &str {
        match self {
            Fault::OutOfBounds { .. } | Fault::OutsideRegion { .. } | Fault::OutsideMemory { .. } => "IndexError",
            Fault::OutsideDomain { .. } | Fault::BeyondMemory(_) => "IndexError",
            Fault::DivisionByZero | Fault::Shift { .. } => "ValueError",
            Fault::Assertion { kind, .. } => kind,
            Fault::Stopped { kind, .. } => kind,
            _ => "RuntimeError",
        }
    }
}

/// The call that runs the interpreter is interrupted, or is out of memory.
impl From<CallError> for Fault {
    fn from(error: CallError) -> Self {
        Fault::Stopped { kind: error.kind().to_owned(), message: error.message().to_owned() }
    }
}
