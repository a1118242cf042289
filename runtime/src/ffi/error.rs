//! Errors of calls, with a stack trace in the program's source.
use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

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

/// A frame of a failed call's stack trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceEntry {
    /// The function.
    pub function: String,
    /// Source location, if the executable has one.
    pub location: Option<Location>,
}

/// A location in a model's source.
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
    /// Formats `file:line`.
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
    payload: Option<Payload>,
}

/// A value that is attached to an error, such as the exception of a host language.
pub type Payload = Arc<dyn Any + Send + Sync>;

/// A failed call. `{}` prints kind and message, `{:#}` also the stack trace, innermost frame first, and the cause.
#[derive(Debug)]
pub struct Error(Box<Contents>);

impl Error {
    /// An error of the given [`kind`].
    pub fn new(kind: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Error {
        Error(Box::new(Contents {
            kind: kind.into(),
            message: message.into(),
            trace: Vec::new(),
            cause: None,
            payload: None,
        }))
    }

    /// A `ValueError`: a value has the right type but is invalid.
    pub fn value(message: impl Into<String>) -> Error {
        Error::new(kind::VALUE, message)
    }

    /// A `TypeError`: a value has the wrong type.
    pub fn type_error(message: impl Into<String>) -> Error {
        Error::new(kind::TYPE, message)
    }

    /// A `RuntimeError`.
    pub fn runtime(message: impl Into<String>) -> Error {
        Error::new(kind::RUNTIME, message)
    }

    /// The kind: one of [`kind`], or one that other code defined.
    pub fn kind(&self) -> &str {
        &self.0.kind
    }

    /// The message.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The stack trace, innermost frame first.
    pub fn trace(&self) -> &[TraceEntry] {
        &self.0.trace
    }

    /// The cause of this error.
    pub fn cause(&self) -> Option<&Error> {
        self.0.cause.as_ref()
    }

    /// Returns the error with `cause` as its cause.
    pub fn with_cause(mut self, cause: Error) -> Error {
        self.0.cause = Some(cause);
        self
    }

    /// The value that is attached to this error.
    pub fn payload(&self) -> Option<&Payload> {
        self.0.payload.as_ref()
    }

    /// Returns the error with a value attached.
    pub fn with_payload(mut self, payload: Payload) -> Error {
        self.0.payload = Some(payload);
        self
    }

    /// Appends the next outer frame.
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
    /// Formats the frame as Python does in a backtrace.
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

    /// Parses a backtrace. Lines that have neither file nor function become frames with the line as the function's
    /// name.
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
