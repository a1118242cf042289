//! Checks that the host of calls makes while they run, such as for pending signals.
//!
//! The interpreter of a language that calls programs cannot handle signals before a call returns. So it makes calls
//! [within](HostCheck::within) a check, and [requests](HostCheck::request) the check from another thread from time to
//! time. The call makes it where it polls for interrupts, on its own thread, and ends with the check's error if there
//! is one. A request that comes too late for a call, or between two short calls, is for the next one.
use super::interrupt::{CHECK_REQUESTED, Flag, RUNNING};
use crate::ffi::Error;
use crate::fork::{self, ForkHandler, Guards, Stage};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A check, with the calls in progress that make it on request.
pub struct HostCheck {
    check: fn() -> Result<(), Error>,
    calls: Mutex<Calls>,
    is_registered: AtomicBool,
    /// Number of forks since the program's first process: threads, and their calls, do not survive a fork.
    process: AtomicU32,
}

struct Calls {
    in_progress: Vec<Watched>,
    /// True if no check has been made since the last request.
    is_requested: bool,
}

/// The flag of a call in progress, and the process that it runs in.
struct Watched {
    flag: Flag,
    process: u32,
}

// SAFETY: the flags are atomics, which the guards keep alive and remove under the lock.
unsafe impl Send for Watched {}

thread_local! {
    /// The check of this thread's calls.
    static CHECK: Cell<Option<&'static HostCheck>> = const { Cell::new(None) };
}

impl HostCheck {
    /// A check that calls `check`.
    pub const fn new(check: fn() -> Result<(), Error>) -> HostCheck {
        let (is_registered, process) = (AtomicBool::new(false), AtomicU32::new(0));
        let calls = Mutex::new(Calls { in_progress: Vec::new(), is_requested: false });
        HostCheck { check, calls, is_registered, process }
    }

    /// Runs `body`, whose calls on this thread make the check on request.
    pub fn within<R>(&'static self, body: impl FnOnce() -> R) -> R {
        struct Restore(Option<&'static HostCheck>);
        impl Drop for Restore {
            fn drop(&mut self) {
                CHECK.set(self.0);
            }
        }
        let _restore = Restore(CHECK.replace(Some(self)));
        body()
    }

    /// Requests the check from the calls in progress. Each makes it before its next kernel, function call or backward
    /// jump; if none does, the next call that starts makes it before its first kernel.
    pub fn request(&'static self) {
        let process = self.process.load(Relaxed);
        let mut calls = self.lock();
        calls.is_requested = true;
        for call in calls.in_progress.iter().filter(|call| call.process == process) {
            // SAFETY: the flag lives until the call's guard removes it under the lock.
            request_from(unsafe { &*call.flag });
        }
    }

    fn run(&'static self) -> Result<(), Error> {
        self.lock().is_requested = false;
        (self.check)()
    }

    fn lock(&'static self) -> MutexGuard<'static, Calls> {
        fork::register(&self.is_registered, Stage::Tables, self);
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ForkHandler for HostCheck {
    fn take_locks(&'static self, guards: &mut Guards) {
        guards.push(self.lock());
    }

    fn reset_in_child(&self) {
        self.process.fetch_add(1, Relaxed);
    }
}

/// Has the call that polls `flag` make the check. A call that ends for another reason makes none.
fn request_from(flag: &AtomicU8) {
    let _ = flag.compare_exchange(RUNNING, CHECK_REQUESTED, Relaxed, Relaxed);
}

/// Lists the call that polls `flag` with this thread's check, if it has one, until the result is dropped.
///
/// # Safety
/// The flag lives until then.
#[inline]
pub(super) unsafe fn watch(flag: &AtomicU8) -> Option<WatchGuard> {
    let check = CHECK.get()?;
    let mut calls = check.lock();
    if calls.is_requested {
        request_from(flag);
    }
    calls.in_progress.push(Watched { flag, process: check.process.load(Relaxed) });
    Some(WatchGuard { check, flag })
}

/// Removes a call from its check's list when dropped.
pub(super) struct WatchGuard {
    check: &'static HostCheck,
    flag: Flag,
}

impl Drop for WatchGuard {
    fn drop(&mut self) {
        let calls = &mut self.check.lock().in_progress;
        if let Some(position) = calls.iter().rposition(|call| call.flag == self.flag) {
            calls.remove(position);
        }
    }
}

/// Makes the check of this thread's calls.
#[cold]
pub(super) fn run() -> Result<(), Error> {
    CHECK.get().map_or(Ok(()), HostCheck::run)
}
