//! The error of a thread's last failed call, stored until the thread's next call of a function that can fail.
use hammock_runtime::Error;
use hammock_runtime::ffi::{TraceEntry, kind};
use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// An error as C reads it.
struct Failure {
    error: Error,
    kind: CString,
    message: CString,
    text: CString,
    trace: Vec<Frame>,
}

/// A frame of a failed call's stack trace.
struct Frame {
    function: CString,
    /// File and text of the source line, if the model has them.
    source: Option<(CString, CString)>,
    line: u32,
    column: u32,
}

/// A trace frame for C: pointers into the thread's error.
#[repr(C)]
pub struct hammock_trace_entry {
    function: *const c_char,
    file: *const c_char,
    line: u32,
    column: u32,
    text: *const c_char,
}

thread_local! {
    static LAST: RefCell<Option<Failure>> = const { RefCell::new(None) };
}

/// Runs the body of an API function and returns its status code.
pub(crate) fn status(body: impl FnOnce() -> Result<(), Error>) -> c_int {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => 0,
        Ok(Err(error)) => set_error(error),
        Err(panic) => set_panic(panic),
    }
}

#[cold]
#[inline(never)]
fn set_panic(panic: Box<dyn Any + Send>) -> c_int {
    drop(catch_unwind(AssertUnwindSafe(|| drop(panic))));
    set_error(Error::new(kind::INTERNAL, "the runtime panicked; it has printed why"))
}

/// Runs a body that cannot fail. A panic has already been printed, so it is not reported.
pub(crate) fn infallible(body: impl FnOnce()) {
    let _ = catch_unwind(AssertUnwindSafe(body));
}

/// Stores an error for the thread and returns -1.
pub(crate) fn set_error(error: Error) -> c_int {
    let failure = Failure::new(error);
    // During thread exit the slot is already destroyed, and nobody can read the error any more.
    let _ = LAST.try_with(|last| last.replace(Some(failure)));
    -1
}

/// Takes the thread's error, if it has one.
pub(crate) fn take_error() -> Option<Error> {
    LAST.try_with(RefCell::take).ok().flatten().map(|failure| failure.error)
}

impl Failure {
    fn new(error: Error) -> Failure {
        Failure {
            kind: c_text(error.kind()),
            message: c_text(error.message()),
            text: c_text(&format!("{error:#}")),
            trace: error.trace().iter().map(Frame::new).collect(),
            error,
        }
    }
}

impl Frame {
    fn new(TraceEntry { function, location }: &TraceEntry) -> Frame {
        Frame {
            function: c_text(function),
            source: location.as_ref().map(|at| (c_text(&at.file), c_text(&at.text))),
            line: location.as_ref().map_or(0, |at| at.line),
            column: location.as_ref().map_or(0, |at| at.column),
        }
    }
}

/// Converts a text to a C string.
pub(crate) fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "")).unwrap_or_default()
}

fn read<R>(body: impl FnOnce(Option<&Failure>) -> R) -> Option<R> {
    LAST.try_with(|last| last.try_borrow().ok().map(|last| body(last.as_ref()))).ok().flatten()
}

fn read_text(field: fn(&Failure) -> &CStr) -> *const c_char {
    read(|failure| failure.map_or(c"".as_ptr(), |failure| field(failure).as_ptr())).unwrap_or(c"".as_ptr())
}

/// The version of the runtime.
#[unsafe(no_mangle)]
pub extern "C" fn hammock_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// The kind of the thread's last error; empty if there was none.
#[unsafe(no_mangle)]
pub extern "C" fn hammock_error_kind() -> *const c_char {
    read_text(|failure| &failure.kind)
}

/// The message of the thread's last error.
#[unsafe(no_mangle)]
pub extern "C" fn hammock_error_message() -> *const c_char {
    read_text(|failure| &failure.message)
}

/// Kind, message and stack trace, formatted for people.
#[unsafe(no_mangle)]
pub extern "C" fn hammock_error_text() -> *const c_char {
    read_text(|failure| &failure.text)
}

/// Number of frames in the stack trace.
#[unsafe(no_mangle)]
pub extern "C" fn hammock_error_trace_size() -> usize {
    read(|failure| failure.map_or(0, |failure| failure.trace.len())).unwrap_or(0)
}

/// Frame `index` of the trace, innermost first. Returns -1 and leaves the error unchanged if there is no such frame.
///
/// # Safety
/// `entry` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_error_trace(index: usize, entry: *mut hammock_trace_entry) -> c_int {
    let found = read(|failure| {
        let frame = failure?.trace.get(index)?;
        let (file, text) = frame
            .source
            .as_ref()
            .map_or((std::ptr::null(), std::ptr::null()), |(file, text)| (file.as_ptr(), text.as_ptr()));
        let (line, column) = (frame.line, frame.column);
        Some(hammock_trace_entry { function: frame.function.as_ptr(), file, line, column, text })
    });
    match found.flatten() {
        Some(found) if !entry.is_null() => {
            // SAFETY: it is not null, and the caller guarantees that it is valid for writes.
            unsafe { entry.write(found) };
            0
        }
        _ => -1,
    }
}

/// Stores an error for the thread; the calling C function then returns -1.
///
/// # Safety
/// Both are null or C strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_fail(kind: *const c_char, message: *const c_char) -> c_int {
    let text = |text: *const c_char, missing: &str| match text.is_null() {
        true => missing.to_owned(),
        // SAFETY: the caller passes a C string.
        false => unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned(),
    };
    let body = || Err(Error::new(text(kind, kind::RUNTIME), text(message, "no message")));
    status(body)
}
