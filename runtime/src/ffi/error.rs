//! Errors of calls: what happened, and where in the program.
use crate::value::TensorError;
use std::borrow::Cow;
use std::fmt;

/// Kinds of errors, named as Python names its exceptions (and tvm-ffi its error kinds).
pub mod kind {
    #![allow(missing_docs, reason = "the names say it")]
    pub const VALUE: &str = "ValueError";
    pub const TYPE: &str = "TypeError";
    pub const INDEX: &str = "IndexError";
    pub const RUNTIME: &str = "RuntimeError";
    pub const ASSERTION: &str = "AssertionError";
    pub const MEMORY: &str = "MemoryError";
    pub const RECURSION: &str = "RecursionError";
    pub const CANCELLED: &str = "CancelledError";
    pub const TIMEOUT: &str = "TimeoutError";
    pub const INTERNAL: &str = "InternalError";
}

/// One function on the call stack of a failed call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceEntry {
    /// The function.
    pub function: String,
    /// Where in its source it stood, if the executable says.
    pub location: Option<Location>,
}

/// A place in a model's source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1; 0 if unknown.
    pub column: u32,
    /// The text of the line.
    pub text: String,
}

impl Location {
    /// `file:line`
    pub fn file_line(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }
}

#[derive(Debug)]
struct Contents {
    kind: Cow<'static, str>,
    message: String,
    trace: Vec<TraceEntry>,
    cause: Option<Error>,
}

/// A failed call. `{}` prints kind and message, `{:#}` the call stack as well, innermost function first, and the cause.
#[derive(Debug)]
pub struct Error(Box<Contents>);

impl Error {
    /// An error of the given [`kind`].
    pub fn new(kind: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Error {
        Error(Box::new(Contents { kind: kind.into(), message: message.into(), trace: Vec::new(), cause: None }))
    }

    /// A value of the right type is not what the callee can work with.
    pub fn value(message: impl Into<String>) -> Error {
        Error::new(kind::VALUE, message)
    }

    /// A value is of the wrong type.
    pub fn type_error(message: impl Into<String>) -> Error {
        Error::new(kind::TYPE, message)
    }

    /// The program cannot go on.
    pub fn runtime(message: impl Into<String>) -> Error {
        Error::new(kind::RUNTIME, message)
    }

    /// One of [`kind`], or what other code called it.
    pub fn kind(&self) -> &str {
        &self.0.kind
    }

    /// What happened.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The functions that were running, innermost first.
    pub fn trace(&self) -> &[TraceEntry] {
        &self.0.trace
    }

    /// The error that led to this one.
    pub fn cause(&self) -> Option<&Error> {
        self.0.cause.as_ref()
    }

    /// The same error, led to by `cause`.
    pub fn with_cause(mut self, cause: Error) -> Error {
        self.0.cause = Some(cause);
        self
    }

    /// Adds the next function outwards.
    pub fn push_trace(&mut self, entry: TraceEntry) {
        self.0.trace.push(entry);
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind(), self.message())?;
        if f.alternate() {
            self.trace().iter().try_for_each(|entry| write!(f, "\n{entry}"))?;
            self.cause().map_or(Ok(()), |cause| write!(f, "\ncaused by {cause:#}"))?;
        }
        Ok(())
    }
}

impl fmt::Display for TraceEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  in {}", self.function)?;
        let Some(at) = &self.location else { return Ok(()) };
        write!(f, " at {}:{}", at.file, at.line)?;
        if at.text.trim().is_empty() { Ok(()) } else { write!(f, "\n      {}", at.text.trim()) }
    }
}

impl TraceEntry {
    /// Its lines in a backtrace, as Python writes them.
    pub(crate) fn to_backtrace(&self) -> String {
        let function = &self.function;
        match &self.location {
            Some(Location { file, line, text, .. }) if text.trim().is_empty() => {
                format!("  File \"{file}\", line {line}, in {function}\n")
            }
            Some(Location { file, line, text, .. }) => {
                format!("  File \"{file}\", line {line}, in {function}\n    {}\n", text.trim())
            }
            None => format!("  in {function}\n"),
        }
    }

    /// The entries of a backtrace. Lines that say neither file nor function stand for a function of that name.
    pub(crate) fn of_backtrace(text: &str) -> impl Iterator<Item = TraceEntry> {
        let mut lines = text.lines().filter(|line| !line.trim().is_empty()).peekable();
        std::iter::from_fn(move || {
            let mut entry = TraceEntry::of_line(lines.next()?.trim());
            if let (Some(location), Some(code)) = (&mut entry.location, lines.next_if(|line| line.starts_with("    ")))
            {
                location.text = code.trim().to_owned();
            }
            Some(entry)
        })
    }

    fn of_line(line: &str) -> TraceEntry {
        let parts = || {
            let (file, rest) = line.strip_prefix("File \"")?.split_once("\", line ")?;
            let (number, function) = rest.split_once(", in ")?;
            let (file, text) = (file.to_owned(), String::new());
            let location = Location { file, line: number.parse().ok()?, column: 0, text };
            Some(TraceEntry { function: function.to_owned(), location: Some(location) })
        };
        let name = line.strip_prefix("in ").unwrap_or(line);
        parts().unwrap_or_else(|| TraceEntry { function: name.to_owned(), location: None })
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause().map(|cause| cause as _)
    }
}

impl From<TensorError> for Error {
    fn from(error: TensorError) -> Error {
        let kind = match error {
            TensorError::OutOfMemory { .. } | TensorError::OverLimit(_) => kind::MEMORY,
            TensorError::WrongDType { .. } => kind::TYPE,
            _ => kind::VALUE,
        };
        Error::new(kind, error.to_string())
    }
}
