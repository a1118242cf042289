//! The program that runs on this thread: what builtins need beyond their arguments.
use super::program::Program;
use crate::ffi::{Error, kind};
use crate::value::Any;
use std::cell::Cell;

/// How often native code called by a program may call back into it, one call within the other. Such calls, unlike
/// those between a program's own functions, take native stack.
const MAX_NESTING: u32 = 200;

thread_local! {
    static CURRENT: Cell<(*const Program, u32)> = const { Cell::new((std::ptr::null(), 0)) };
}

/// Runs `body` while `program` is the current one.
pub(super) fn within<R>(program: &Program, body: impl FnOnce() -> Result<R, Error>) -> Result<R, Error> {
    struct Restore((*const Program, u32));
    impl Drop for Restore {
        fn drop(&mut self) {
            CURRENT.set(self.0);
        }
    }
    let outer = CURRENT.get();
    if outer.1 >= MAX_NESTING {
        let message = format!("calls from native code are nested more than {MAX_NESTING} deep");
        return Err(Error::new(kind::RECURSION, message));
    }
    let _restore = Restore(outer);
    CURRENT.set((program, outer.1 + 1));
    body()
}

/// Gives `body` the current program.
pub(super) fn with<R>(body: impl FnOnce(&Program) -> Result<R, Error>) -> Result<R, Error> {
    let (program, _) = CURRENT.get();
    // SAFETY: `within` sets the address for the time it borrows the program, and no longer.
    match unsafe { program.as_ref() } {
        Some(program) => body(program),
        None => Err(Error::runtime("no program is running on this thread")),
    }
}

/// Calls a function, or a closure of the program that runs on this thread: for native functions that programs call
/// with functions as arguments.
pub fn invoke(callee: &Any, args: &[Any]) -> Result<Any, Error> {
    with(|program| program.invoke(callee, args))
}
