//! The program that runs on this thread, which builtins need in addition to their arguments.
use super::host_check;
use super::interrupt::{self, Flag, NEVER};
use super::program::{Program, Programs};
use crate::device::launch::CallSite;
use crate::ffi::{Error, TraceEntry, kind, launch};
use crate::memory::meter::Account;
use crate::parallel::ProgramWork;
use crate::value::Any;
use std::cell::Cell;
use std::sync::atomic::AtomicU8;

/// Maximum nesting depth of native code that a program calls and that calls back into it. Such calls, unlike those
/// between a program's own functions, use the native stack: 10 KB each in unoptimized builds, of the 2 MB of a thread.
const MAX_NESTING: u32 = 128;
/// Begins the end of the names of functions that RewriteCUDAGraph lifts.
const CAPTURE: &str = "_cuda_graph_capture";

thread_local! {
    static CURRENT: Cell<Current> = const { Cell::new(Current { program: std::ptr::null(), nesting: 0, flag: &NEVER }) };
}

#[derive(Clone, Copy)]
struct Current {
    program: *const Program,
    nesting: u32,
    /// Interrupts the call.
    flag: Flag,
}

/// Runs `body` with `program` as the current one. `body` receives the interrupt flag: the one given, or that of the
/// enclosing call. Memory that the thread allocates counts towards the program's limit, and the program's
/// floating-point state is set.
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
    let (flag, is_new): (Flag, bool) = match flag {
        Some(flag) => (flag, true),
        None if outer.program.is_null() => (&own, true),
        None => (outer.flag, false),
    };
    CURRENT.set(Current { program, nesting: outer.nesting + 1, flag });
    // SAFETY: the flag given lives until this function returns, and so do its own and that of the enclosing call.
    let flag = unsafe { &*flag };
    // SAFETY: as above.
    let _watched = is_new.then(|| unsafe { host_check::watch(flag) });
    // SAFETY: so do the program's allocators.
    let _work = unsafe { ProgramWork::enter(Account::new(program.host(), flag)) };
    let _float_state = program.options.float_state().enter();
    body(flag)
}

/// Runs a call from outside of a program. It ends when the program's devices have done its work, so that an error of
/// that work is an error of the call.
pub(super) fn finishing<R>(program: &Program, call: impl FnOnce() -> Result<R, Error>) -> Result<R, Error> {
    if !program.is_on_device {
        return call();
    }
    let outer = launch::set_site(None);
    let _graphs = program.graphs.enter(program.id);
    let result = call();
    // An error of the devices comes first: it may be why the call failed.
    let result = program.synchronize().and(result);
    launch::set_site(outer);
    result
}

/// Sets the call that device functions are launched by from now on: what is queued there may fail after it returned.
#[inline]
pub(super) fn set_site(program: &Program, function: u32, instruction: u32) {
    launch::set_site(Some(CallSite { program: program.id, function, instruction, describe }));
}

fn describe(site: &CallSite) -> Option<TraceEntry> {
    let program = Programs::find(site.program)?;
    let location = program.image.sources.locate(site.instruction as usize);
    // The name of the function that a graph's calls were lifted out of.
    let name = program.name(site.function);
    let name = name.split_once(CAPTURE).map_or(name, |(lifted_from, _)| lifted_from);
    Some(TraceEntry { function: name.to_owned(), location })
}

/// Passes the current program to `body`.
pub(super) fn with<R>(body: impl FnOnce(&Program) -> Result<R, Error>) -> Result<R, Error> {
    let program = CURRENT.get().program;
    // SAFETY: `within` sets the address only while it borrows the program.
    match unsafe { program.as_ref() } {
        Some(program) => body(program),
        None => Err(Error::runtime("no program is running on this thread")),
    }
}

/// Fails if the current call on this thread is interrupted, and makes the host's check if that is requested: for
/// long-running native functions.
///
/// # Errors
/// The reason of the interruption.
pub fn check_interrupt() -> Result<(), Error> {
    // SAFETY: `within` sets the address only while it borrows the flag.
    interrupt::poll(unsafe { &*CURRENT.get().flag })
}

/// Calls a function, or a closure of the current program: for native functions that receive functions as arguments.
pub fn invoke(callee: &Any, args: &[Any]) -> Result<Any, Error> {
    with(|program| program.invoke(callee, args, None))
}
