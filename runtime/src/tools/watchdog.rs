//! Ends a command that exceeds its time limit and does not stop by itself.
//!
//! A call checks its time limit between kernels. Kernels, reading arguments and writing results do not check it, so the
//! watchdog ends the process a little after the limit.
use super::{last_words, temporary::abandon};
use crate::ffi::{Error, kind};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a call may take to notice that its time is over.
const GRACE: Duration = Duration::from_millis(250);

/// When the work under way is stopped.
static DEADLINE: Mutex<Option<Instant>> = Mutex::new(None);
static CHANGED: Condvar = Condvar::new();
static REPORT: OnceLock<Box<dyn Fn(Error) + Send + Sync>> = OnceLock::new();

/// Sets how it is said before the process ends with status 1 why it does. By default the error is written to standard
/// error.
pub fn at_timeout(report: impl Fn(Error) + Send + Sync + 'static) {
    let _ = REPORT.set(Box::new(report));
}

/// Does something that may take `timeout`, if that is given. When it takes longer, the process ends.
///
/// # Errors
/// When no thread can be started to look at the time.
pub(super) fn within<R>(timeout: Option<Duration>, work: impl FnOnce() -> R) -> Result<R, Error> {
    static STARTED: OnceLock<bool> = OnceLock::new();
    struct Disarm;
    impl Drop for Disarm {
        fn drop(&mut self) {
            *deadline() = None;
        }
    }
    let end = timeout.and_then(|timeout| Instant::now().checked_add(timeout)?.checked_add(GRACE));
    let Some(end) = end else { return Ok(work()) };
    let start = || thread::Builder::new().name("hammock-timeout".into()).spawn(|| watch()).is_ok();
    if !STARTED.get_or_init(start) {
        return Err(Error::runtime("cannot start a thread to watch the time"));
    }
    *deadline() = Some(end);
    CHANGED.notify_one();
    let _disarm = Disarm;
    Ok(work())
}

fn deadline() -> MutexGuard<'static, Option<Instant>> {
    DEADLINE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn watch() -> ! {
    let mut end = deadline();
    loop {
        let now = Instant::now();
        end = match *end {
            None => CHANGED.wait(end).unwrap_or_else(PoisonError::into_inner),
            Some(at) if now < at => CHANGED.wait_timeout(end, at - now).unwrap_or_else(PoisonError::into_inner).0,
            // The lock stays taken, so that work that is done just now does not go on to what comes after it.
            Some(_) => end_process(),
        };
    }
}

fn end_process() -> ! {
    abandon();
    let error = Error::new(kind::TIMEOUT, "it exceeded its time limit and did not stop by itself");
    match REPORT.get() {
        Some(report) => report(error),
        None => drop(last_words(&error)),
    }
    // SAFETY: nothing is left to do. Other threads are in the middle of their work, so nothing that they use may be
    // taken down before them, as `exit` would.
    unsafe { libc::_exit(1) }
}
