//! Error objects: errors as values of the C ABI.
use super::object::{Cell, Ref};
use super::string::valid_prefix;
use super::{Any, ByteArray, drop_nested, index};
use crate::ffi::{Error, Payload, TraceEntry};
use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

/// tvm-ffi's error cell.
#[repr(C)]
pub struct ErrorCell {
    kind: ByteArray,
    message: ByteArray,
    /// One frame per line, innermost first. Only `update_backtrace` writes it.
    backtrace: UnsafeCell<ByteArray>,
    update_backtrace: Option<UpdateBacktrace>,
    cause: Option<ErrorObject>,
    /// An object from other code with more information; we never set it.
    extra_context: *mut c_void,
}

// SAFETY: tvm-ffi fixes this layout for index 67. The backtrace of an error is only written by those who pass the error
// on, one after the other; everything else is never written.
unsafe impl Cell for ErrorCell {
    const TYPE_INDEX: i32 = index::ERROR;
}

type UpdateBacktrace = unsafe extern "C" fn(object: *mut c_void, backtrace: *const ByteArray, mode: i32);

/// The mode of [`UpdateBacktrace`] that appends; mode 0 replaces.
const APPEND: i32 = 1;

/// Maximum length of a chain of causes.
const MAX_CAUSES: usize = 64;

/// The texts that our cells point to, and the value attached to the error. Texts are `String`s because moving a box
/// would invalidate pointers to its contents.
struct Texts {
    _kind: String,
    _message: String,
    /// The backtrace, and its previous versions, which readers may still use.
    backtraces: Mutex<Vec<String>>,
    payload: Option<Payload>,
}

impl Drop for ErrorCell {
    fn drop(&mut self) {
        drop_nested(self.cause.take().map(Any::from).into_iter());
    }
}

/// An [`Error`] as a value. Cheap to clone.
#[derive(Clone)]
#[repr(transparent)]
pub struct ErrorObject(pub(super) Ref<ErrorCell>);

impl ErrorObject {
    /// Creates a value from `error`.
    pub fn new(error: &Error) -> ErrorObject {
        let causes: Vec<_> = std::iter::successors(error.cause(), |cause| cause.cause()).take(MAX_CAUSES).collect();
        let innermost = causes.into_iter().rev().fold(None, |cause, error| Some(ErrorObject::with_cause(error, cause)));
        ErrorObject::with_cause(error, innermost)
    }

    fn with_cause(error: &Error, cause: Option<ErrorObject>) -> ErrorObject {
        let backtrace: String = error.trace().iter().map(TraceEntry::to_backtrace).collect();
        let (kind, message) = (error.kind().to_owned(), error.message().to_owned());
        let backtraces = Mutex::new(vec![backtrace]);
        ErrorObject(Ref::allocate::<Texts, u8>(0, |_| {
            // The texts do not move when the structure that owns them does.
            let cell = ErrorCell {
                kind: bytes_of(&kind),
                message: bytes_of(&message),
                backtrace: UnsafeCell::new(bytes_of(&backtraces.lock().unwrap_or_else(PoisonError::into_inner)[0])),
                update_backtrace: Some(update_backtrace),
                cause,
                extra_context: std::ptr::null_mut(),
            };
            (cell, Texts { _kind: kind, _message: message, backtraces, payload: error.payload().cloned() })
        }))
    }

    /// Its kind, as Python names exceptions.
    pub fn kind(&self) -> &str {
        // SAFETY: the cell describes texts that live and stay as they are while the object lives.
        valid_prefix(unsafe { self.0.kind.as_slice() })
    }

    /// The message.
    pub fn message(&self) -> &str {
        // SAFETY: as above.
        valid_prefix(unsafe { self.0.message.as_slice() })
    }

    /// The stack trace, one frame per line, innermost first.
    pub fn backtrace(&self) -> &str {
        // SAFETY: as above. Backtraces of our objects that were replaced live on, and nobody replaces one while the
        // lock is held.
        unsafe {
            let _lock = self.0.is_ours().then(|| self.0.extra::<Texts>().backtraces.lock());
            valid_prefix((*self.0.backtrace.get()).as_slice())
        }
    }

    /// The value that is attached to the error.
    fn payload(&self) -> Option<&Payload> {
        // SAFETY: our objects have these texts, which stay as they are.
        self.0.is_ours().then(|| unsafe { self.0.extra::<Texts>() })?.payload.as_ref()
    }

    /// The cause of the error.
    pub fn cause(&self) -> Option<&ErrorObject> {
        self.0.cause.as_ref()
    }

    /// Converts the value to an [`Error`].
    pub fn to_error(&self) -> Error {
        let chain: Vec<_> = std::iter::successors(Some(self), |error| error.cause()).take(MAX_CAUSES).collect();
        let error = chain.into_iter().rev().fold(None, |cause, object| {
            let mut error = Error::new(object.kind().to_owned(), object.message());
            TraceEntry::of_backtrace(object.backtrace()).for_each(|entry| error.push_trace(entry));
            if let Some(payload) = object.payload() {
                error = error.with_payload(payload.clone());
            }
            Some(match cause {
                Some(cause) => error.with_cause(cause),
                None => error,
            })
        });
        error.unwrap_or_else(|| Error::runtime(""))
    }
}

fn bytes_of(text: &str) -> ByteArray {
    ByteArray { data: text.as_ptr(), len: text.len() }
}

unsafe extern "C" fn update_backtrace(object: *mut c_void, backtrace: *const ByteArray, mode: i32) {
    let (Some(object), Some(backtrace)) = (NonNull::new(object.cast()), NonNull::new(backtrace.cast_mut())) else {
        return;
    };
    // SAFETY: the caller passes the object whose cell has this function, which `with_cause` created, and a text.
    unsafe {
        let error = ManuallyDrop::new(Ref::<ErrorCell>::from_header(object));
        let added = String::from_utf8_lossy(backtrace.as_ref().as_slice());
        let mut all = error.extra::<Texts>().backtraces.lock().unwrap_or_else(PoisonError::into_inner);
        let before = if mode == APPEND { all.last().map_or("", |text| text) } else { "" };
        let text = format!("{before}{added}");
        *error.backtrace.get() = bytes_of(&text);
        all.push(text);
    }
}

impl From<Error> for Any {
    fn from(error: Error) -> Any {
        ErrorObject::new(&error).into()
    }
}

impl fmt::Debug for ErrorObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind(), self.message())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ffi::Location;
    use std::mem::offset_of;

    fn sample() -> Error {
        let mut error = Error::value("bad size").with_cause(Error::new("KeyError", "no such key"));
        let location = Location { file: "m.py".into(), line: 9, column: 0, text: "x = f(y)".into() };
        error.push_trace(TraceEntry { function: "main".into(), location: Some(location) });
        error.push_trace(TraceEntry { function: "outer".into(), location: None });
        error
    }

    #[test]
    fn errors_keep_everything_on_the_way() {
        let value = Any::from(sample());
        let object = value.get::<ErrorObject>().unwrap();
        assert_eq!((object.kind(), object.message()), ("ValueError", "bad size"));
        assert_eq!(object.backtrace().lines().next(), Some("  File \"m.py\", line 9, in main"));
        let back = object.to_error();
        assert_eq!(format!("{back:#}"), format!("{:#}", sample()));
        assert_eq!(back.cause().unwrap().kind(), "KeyError");
    }

    #[test]
    fn the_cell_is_tvm_ffis() {
        assert_eq!((size_of::<ErrorCell>(), offset_of!(ErrorCell, update_backtrace)), (72, 48));
        assert_eq!(offset_of!(ErrorCell, cause), 56);
    }

    #[test]
    fn others_may_add_to_the_backtrace() {
        let object = ErrorObject::new(&sample());
        let before = object.backtrace();
        let update = object.0.update_backtrace.unwrap();
        let added = bytes_of("  File \"host.c\", line 3, in call\n");
        // SAFETY: the object's own function.
        unsafe { update(object.0.as_header().as_ptr().cast(), &added, APPEND) };
        assert!(before.ends_with("in outer\n"));
        assert_eq!(object.to_error().trace()[2].function, "call");
        // SAFETY: as above.
        unsafe { update(object.0.as_header().as_ptr().cast(), &added, 0) };
        assert_eq!(object.to_error().trace().len(), 1);
    }

    #[test]
    fn long_chains_of_causes_end() {
        let chain = (0..if cfg!(miri) { 50 } else { 100_000 })
            .fold(None, |cause, _| Some(ErrorObject::with_cause(&sample(), cause)));
        assert!(chain.unwrap().to_error().cause().is_some());
    }
}
