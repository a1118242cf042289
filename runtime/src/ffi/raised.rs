//! The error of a thread's last failed call.
use super::error::{Error, kind};
use std::cell::RefCell;

thread_local! {
    static RAISED: RefCell<Option<Error>> = const { RefCell::new(None) };
}

/// Raises an error for the thread; returns -1, which the failing function returns.
pub fn raise(error: Error) -> i32 {
    // During thread exit the slot is already destroyed, and nobody can read the error any more.
    let _ = RAISED.try_with(|raised| raised.replace(Some(error)));
    -1
}

/// Takes the error that the thread's last failed call raised.
pub fn take_raised() -> Error {
    let raised = RAISED.try_with(RefCell::take).ok().flatten();
    raised.unwrap_or_else(|| Error::new(kind::INTERNAL, "the call failed without saying why"))
}
