//! The error a thread's last failed call left behind.
use super::error::{Error, kind};
use std::cell::RefCell;

thread_local! {
    static RAISED: RefCell<Option<Error>> = const { RefCell::new(None) };
}

/// Leaves an error with the thread; the -1 is what the failing function returns.
pub fn raise(error: Error) -> i32 {
    // The thread may be on its way out, with nobody left to ask.
    let _ = RAISED.try_with(|raised| raised.replace(Some(error)));
    -1
}

/// Takes the error that the thread's last failed call left.
pub fn take_raised() -> Error {
    let raised = RAISED.try_with(RefCell::take).ok().flatten();
    raised.unwrap_or_else(|| Error::new(kind::INTERNAL, "the call failed without saying why"))
}
