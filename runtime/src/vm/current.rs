//! The program running on this thread, which builtins need beyond their arguments.
use super::interrupt::{self, Flag, NEVER};
use super::program::Program;
use crate::ffi::{Error, kind};
use crate::memory::meter::Account;
use crate::value::Any;
use std::cell::Cell;
use std::sync::atomic::AtomicU8;

/// How often native code called by a program may call back into it, one call within the other. Such calls, unlike
/// those between a program's own functions, take native stack: 10 KB each where nothing is optimized, of the 2 MB that
/// threads have.
const MAX_NESTING: u32 = 128;

thread_local! {
    static CURRENT: Cell<Current> = const { Cell::new(Current { program: std::ptr::null(), nesting: 0, flag: &NEVER }) };
}

#[derive(Clone, Copy)]
struct Current {
    program: *const Program,
    nesting: u32,
    /// What stops the call.
    flag: Flag,
}

/// Runs `body` while `program` is the current one. It gets the flag that stops it: the one given, or that of the call
/// around it. What the thread takes meanwhile counts towards the program's limit, and it computes as the program's options
/// say.
pub(super) fn within<R>(
    program: &Program,
    flag: Option<&AtomicU8>,
    body: impl FnOnce(&AtomicU8) -> Result<R, Error>,
) -> Result<R, Error> {
    struct Restore(Current);
    impl Drop for Restore {
        fn drop(&mut self) {
            CURRENT.set(self.0);
        }
    }
    let outer = CURRENT.get();
    if outer.nesting >= MAX_NESTING {
        let message = format!("calls from native code are nested more than {MAX_NESTING} deep");
        return Err(Error::new(kind::RECURSION, message));
    }
    let _restore = Restore(outer);
    let own = AtomicU8::default();
    let flag: Flag = match flag {
        Some(flag) => flag,
        None if outer.program.is_null() => &own,
        None => outer.flag,
    };
    CURRENT.set(Current { program, nesting: outer.nesting + 1, flag });
    // SAFETY: the flag given lives until this function returns, and so do its own and that of the call around it.
    let flag = unsafe { &*flag };
    // SAFETY: so do the program's allocators.
    let _account = unsafe { Account::new(program.host(), flag).enter() };
    let _float_state = program.options.float_state().enter();
    body(flag)
}

/// Gives `body` the current program.
pub(super) fn with<R>(body: impl FnOnce(&Program) -> Result<R, Error>) -> Result<R, Error> {
    let program = CURRENT.get().program;
    // SAFETY: `within` sets the address for the time it borrows the program, and no longer.
    match unsafe { program.as_ref() } {
        Some(program) => body(program),
        None => Err(Error::runtime("no program is running on this thread")),
    }
}

/// Gives up what a machine of the current program's that is at rest keeps for reuse; says whether there was any.
pub(crate) fn trim() -> bool {
    with(|program| Ok(program.trim_machine())).unwrap_or(false)
}

/// Fails once the call that this thread is at work on is to stop: for native functions that take long.
///
/// # Errors
/// Why it is to stop.
pub fn go_on() -> Result<(), Error> {
    // SAFETY: `within` sets the address for the time it borrows the flag, and no longer.
    let flag = unsafe { &*CURRENT.get().flag };
    if interrupt::is_set(flag) { Err(interrupt::reason(flag)) } else { Ok(()) }
}

/// Calls a function, or a closure of the program that runs on this thread: for native functions that programs call
/// with functions as arguments.
pub fn invoke(callee: &Any, args: &[Any]) -> Result<Any, Error> {
    with(|program| program.invoke(callee, args))
}
