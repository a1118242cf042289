//! Ends a command that exceeds its limits and does not stop on its own.
//!
//! A call checks its time limit between kernels. Kernels, reading arguments and writing results do not check it, so the
//! watchdog ends the process shortly after the limit. Passes and code generators check neither time nor memory: while a
//! model is compiled, the watchdog checks the memory of the process, too.
use crate::output::{temporary::abandon, terminal::report_fatal};
use hammock_runtime::ffi::{Error, kind};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Time that a call gets to notice the limit itself.
const GRACE: Duration = Duration::from_millis(250);

/// Polling interval of the process's memory.
const EACH: Duration = Duration::from_millis(10);

/// Limits of the current work.
#[derive(Clone, Copy, Default)]
pub(super) struct Bounds {
    /// Deadline.
    pub end: Option<Instant>,
    /// Maximum anonymous resident memory of the process in bytes.
    pub memory: Option<usize>,
    /// Name of the work in messages.
    pub what: &'static str,
}

impl Bounds {
    /// Combines these limits with those of the enclosing work.
    fn within(self, outer: Bounds) -> Bounds {
        let earliest = |a: Option<Instant>, b: Option<Instant>| a.into_iter().chain(b).min();
        Bounds { end: earliest(self.end, outer.end), memory: self.memory.or(outer.memory), what: self.what }
    }

    /// The error, if a limit is exceeded.
    fn exceeded(&self, now: Instant) -> Option<Error> {
        let what = self.what;
        if self.end.is_some_and(|end| now >= end) {
            let message = format!("{what} exceeded its time limit and did not stop by itself");
            return Some(Error::new(kind::TIMEOUT, message));
        }
        let max = self.memory?;
        let resident = resident().filter(|resident| *resident > max)?;
        let message = format!("{what} takes {resident} bytes of memory, more than its limit allows ({max})");
        Some(Error::new(kind::MEMORY, message))
    }

    /// Time until the next check; `None` if there is no limit.
    fn pause(&self, now: Instant) -> Option<Duration> {
        let left = self.end.map(|end| end.saturating_duration_since(now));
        left.into_iter().chain(self.memory.map(|_| EACH)).min()
    }
}

/// Anonymous resident memory of the process in bytes.
fn resident() -> Option<usize> {
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    let mut pages = pages.split_whitespace().skip(1).map(|count| count.parse::<usize>().ok());
    let (all, of_files) = (pages.next()??, pages.next()??);
    Some(all.saturating_sub(of_files).saturating_mul(PAGE))
}

/// Size of a page.
const PAGE: usize = 4096;

/// Limits of the current work.
static BOUNDS: Mutex<Bounds> = Mutex::new(Bounds { end: None, memory: None, what: "it" });
static CHANGED: Condvar = Condvar::new();
static REPORT: OnceLock<Box<dyn Fn(Error) + Send + Sync>> = OnceLock::new();

/// Sets the function that reports the error before the process exits with status 1. By default the error is written to
/// standard error.
pub fn set_timeout_handler(report: impl Fn(Error) + Send + Sync + 'static) {
    let _ = REPORT.set(Box::new(report));
}

/// Runs work with a time limit, if there is one. The process ends if it is exceeded.
///
/// # Errors
/// If the watchdog's thread cannot be started.
pub(crate) fn within<R>(timeout: Option<Duration>, work: impl FnOnce() -> R) -> Result<R, Error> {
    let end = timeout.and_then(|timeout| Instant::now().checked_add(timeout)?.checked_add(GRACE));
    bounded(Bounds { end, memory: None, what: "it" }, work)
}

/// Runs work with limits. The process ends if they are exceeded.
///
/// # Errors
/// If the watchdog's thread cannot be started.
pub(super) fn bounded<R>(inner: Bounds, work: impl FnOnce() -> R) -> Result<R, Error> {
    static STARTED: OnceLock<bool> = OnceLock::new();
    struct Restore(Bounds);
    impl Drop for Restore {
        fn drop(&mut self) {
            *bounds() = self.0;
        }
    }
    if inner.end.is_none() && inner.memory.is_none() {
        return Ok(work());
    }
    let start = || thread::Builder::new().name("hammock-timeout".into()).spawn(|| watch()).is_ok();
    if !STARTED.get_or_init(start) {
        return Err(Error::runtime("cannot start a thread to watch the time"));
    }
    let outer = {
        let mut now = bounds();
        let outer = *now;
        *now = inner.within(outer);
        outer
    };
    CHANGED.notify_one();
    let _restore = Restore(outer);
    Ok(work())
}

fn bounds() -> MutexGuard<'static, Bounds> {
    BOUNDS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn watch() -> ! {
    let mut current = bounds();
    loop {
        let now = Instant::now();
        if let Some(error) = current.exceeded(now) {
            // The lock stays locked, so that work that ends at this moment does not continue.
            end_process(error);
        }
        current = match current.pause(now) {
            None => CHANGED.wait(current).unwrap_or_else(PoisonError::into_inner),
            Some(pause) => CHANGED.wait_timeout(current, pause).unwrap_or_else(PoisonError::into_inner).0,
        };
    }
}

fn end_process(error: Error) -> ! {
    abandon();
    match REPORT.get() {
        Some(report) => report(error),
        None => drop(report_fatal(&error)),
    }
    // SAFETY: nothing is left to do. Other threads are still running, so nothing that they use may be torn down first,
    // as `exit` would.
    unsafe { libc::_exit(1) }
}
