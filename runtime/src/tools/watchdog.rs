//! Ends a command that exceeds its limits and does not stop by itself.
//!
//! A call checks its time limit between kernels. Kernels, reading arguments and writing results do not check it, so the
//! watchdog ends the process a little after the limit. Passes and code generators check neither time nor memory: while a
//! model is compiled, the watchdog looks at the memory of the process, too.
use super::{last_words, temporary::abandon};
use crate::ffi::{Error, kind};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a call may take to notice that its time is over.
const GRACE: Duration = Duration::from_millis(250);

/// How often the memory of the process is looked at.
const EACH: Duration = Duration::from_millis(10);

/// What the work under way may take.
#[derive(Clone, Copy, Default)]
pub(super) struct Bounds {
    /// When it is stopped.
    pub end: Option<Instant>,
    /// The most bytes of the process that are resident and belong to no file.
    pub memory: Option<usize>,
    /// What the work is called.
    pub what: &'static str,
}

impl Bounds {
    /// Both these bounds and those of the work that this is a part of.
    fn within(self, outer: Bounds) -> Bounds {
        let least = |a: Option<Instant>, b: Option<Instant>| a.into_iter().chain(b).min();
        Bounds { end: least(self.end, outer.end), memory: self.memory.or(outer.memory), what: self.what }
    }

    /// What is exceeded.
    fn exceeded(&self, now: Instant) -> Option<Error> {
        let what = self.what;
        if self.end.is_some_and(|end| now >= end) {
            let message = format!("{what} exceeded its time limit and did not stop by itself");
            return Some(Error::new(kind::TIMEOUT, message));
        }
        let most = self.memory?;
        let resident = resident().filter(|resident| *resident > most)?;
        let message = format!("{what} takes {resident} bytes of memory, more than its limit allows ({most})");
        Some(Error::new(kind::MEMORY, message))
    }

    /// How long to wait before looking again; none if nothing is bounded.
    fn pause(&self, now: Instant) -> Option<Duration> {
        let left = self.end.map(|end| end.saturating_duration_since(now));
        left.into_iter().chain(self.memory.map(|_| EACH)).min()
    }
}

/// Bytes of the process that are resident and belong to no file.
fn resident() -> Option<usize> {
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    let mut pages = pages.split_whitespace().skip(1).map(|count| count.parse::<usize>().ok());
    let (all, of_files) = (pages.next()??, pages.next()??);
    Some(all.saturating_sub(of_files).saturating_mul(PAGE))
}

/// Bytes of a page of memory.
const PAGE: usize = 4096;

/// The bounds of the work under way.
static BOUNDS: Mutex<Bounds> = Mutex::new(Bounds { end: None, memory: None, what: "it" });
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
    let end = timeout.and_then(|timeout| Instant::now().checked_add(timeout)?.checked_add(GRACE));
    bounded(Bounds { end, memory: None, what: "it" }, work)
}

/// Does something that is bounded. When it takes more, the process ends.
///
/// # Errors
/// When no thread can be started to look.
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
            // The lock stays taken, so that work that is done just now does not go on to what comes after it.
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
        None => drop(last_words(&error)),
    }
    // SAFETY: nothing is left to do. Other threads are in the middle of their work, so nothing that they use may be
    // taken down before them, as `exit` would.
    unsafe { libc::_exit(1) }
}
