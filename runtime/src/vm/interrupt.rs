//! Interruption of calls: by other threads, or by a timeout.
use super::host_check;
use crate::ffi::{Error, kind};
use crate::fork::{self, ForkHandler, Guards, Stage};
use crate::memory::meter::EXHAUSTED;
use crate::sorted_map::SortedMap;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

pub(super) const RUNNING: u8 = 0;
const CANCELLED: u8 = 1;
const TIMED_OUT: u8 = 2;
// 3 is `EXHAUSTED`.
pub(super) const CHECK_REQUESTED: u8 = 4;

/// Interrupts calls that are started with it ([`super::Vm::call_with`]). Clones share their state.
///
/// A call polls before every kernel, function call and backward jump. A running kernel is not interrupted.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    flag: Arc<AtomicU8>,
    /// Flags of calls that have a timeout as well.
    timed: Mutex<Vec<Weak<AtomicU8>>>,
}

impl Interrupt {
    /// Creates an interrupt that is not cancelled.
    pub fn new() -> Interrupt {
        Interrupt::default()
    }

    /// Interrupts the calls, present and future, with a `CancelledError`.
    pub fn cancel(&self) {
        self.0.flag.store(CANCELLED, Relaxed);
        let timed = self.0.timed.lock().unwrap_or_else(PoisonError::into_inner);
        timed.iter().filter_map(Weak::upgrade).for_each(|flag| flag.store(CANCELLED, Relaxed));
    }

    /// Returns true if it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.flag.load(Relaxed) == CANCELLED
    }

    /// Also interrupts a call with a flag of its own.
    fn link(&self, flag: &Arc<AtomicU8>) {
        let mut timed = self.0.timed.lock().unwrap_or_else(PoisonError::into_inner);
        timed.retain(|other| other.strong_count() > 0);
        timed.push(Arc::downgrade(flag));
        // Under the lock, so that a concurrent cancellation is not lost.
        flag.store(self.0.flag.load(Relaxed), Relaxed);
    }
}

/// The flag that a call polls. Valid during the call: it is the call's own, or its caller's.
pub(super) type Flag = *const AtomicU8;

/// The flag of calls that cannot be interrupted.
pub(super) static NEVER: AtomicU8 = AtomicU8::new(RUNNING);

/// Fails if a call is interrupted. Makes the host's check if that is requested.
#[inline(always)]
pub(super) fn poll(flag: &AtomicU8) -> Result<(), Error> {
    if flag.load(Relaxed) == RUNNING { Ok(()) } else { attend(flag) }
}

#[cold]
fn attend(flag: &AtomicU8) -> Result<(), Error> {
    match flag.compare_exchange(CHECK_REQUESTED, RUNNING, Relaxed, Relaxed) {
        Ok(_) => host_check::run(),
        Err(RUNNING) => Ok(()),
        Err(CANCELLED) => Err(Error::new(kind::CANCELLED, "the call was cancelled")),
        Err(EXHAUSTED) => Err(Error::new(kind::MEMORY, "the values that the call made would exceed its memory limit")),
        Err(_) => Err(timed_out()),
    }
}

fn timed_out() -> Error {
    Error::new(kind::TIMEOUT, "the call exceeded its time limit")
}

/// Calls with a timeout, by deadline. One thread waits for the first of them.
struct Watchdog {
    calls: Mutex<Calls>,
    changed: Condvar,
}

#[derive(Default)]
struct Calls {
    by_deadline: SortedMap<(Instant, u64), Weak<AtomicU8>>,
    count: u64,
    /// The process, by its number, in which the thread runs.
    watched_in: Option<u32>,
}

static WATCHDOG: Watchdog = Watchdog { calls: Mutex::new(Calls::new()), changed: Condvar::new() };

/// Number of forks between the program's first process and this one: threads do not survive a fork.
static PROCESS: AtomicU32 = AtomicU32::new(0);

impl ForkHandler for Watchdog {
    fn take_locks(&'static self, guards: &mut Guards) {
        guards.push(self.lock());
    }

    /// The watchdog's thread does not run in the child yet.
    fn reset_in_child(&self) {
        PROCESS.fetch_add(1, Relaxed);
    }
}

impl Calls {
    const fn new() -> Calls {
        Calls { by_deadline: SortedMap::new(), count: 0, watched_in: None }
    }
}

/// Interrupts one call after a timeout or through an interrupt, until it is dropped.
pub(super) struct Deadline {
    flag: Arc<AtomicU8>,
    key: Option<(Instant, u64)>,
}

impl Deadline {
    /// Creates a flag that is set after `timeout`, or by `interrupt`.
    pub(super) fn start(interrupt: Option<&Interrupt>, timeout: Duration) -> Result<Deadline, Error> {
        let flag = Arc::default();
        interrupt.into_iter().for_each(|interrupt| interrupt.link(&flag));
        let Some(end) = Instant::now().checked_add(timeout) else { return Ok(Deadline { flag, key: None }) };
        let mut calls = WATCHDOG.lock();
        calls.count += 1;
        let key = (end, calls.count);
        calls.by_deadline.insert(key, Arc::downgrade(&flag));
        let process = PROCESS.load(Relaxed);
        if calls.watched_in != Some(process) {
            let thread = std::thread::Builder::new().name("hammock-watchdog".into()).spawn(|| WATCHDOG.watch());
            thread.map_err(|error| Error::runtime(format!("cannot start a thread to watch the time: {error}")))?;
            calls.watched_in = Some(process);
        }
        WATCHDOG.changed.notify_one();
        Ok(Deadline { flag, key: Some(key) })
    }

    pub(super) fn flag(&self) -> &AtomicU8 {
        &self.flag
    }

    /// Fails if the timeout has passed, even if the flag was not polled.
    pub(super) fn check(&self) -> Result<(), Error> {
        match self.key {
            Some((end, _)) if Instant::now() >= end => Err(timed_out()),
            _ => Ok(()),
        }
    }
}

impl Drop for Deadline {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            WATCHDOG.lock().by_deadline.remove(&key);
        }
    }
}

impl Watchdog {
    fn lock(&'static self) -> MutexGuard<'static, Calls> {
        static REGISTERED: AtomicBool = AtomicBool::new(false);
        fork::register(&REGISTERED, Stage::Tables, self);
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watch(&'static self) {
        let mut calls = self.lock();
        loop {
            let now = Instant::now();
            while let Some((key, flag)) = calls.by_deadline.first().filter(|((end, _), _)| *end <= now) {
                flag.upgrade().into_iter().for_each(|flag| flag.store(TIMED_OUT, Relaxed));
                let key = *key;
                calls.by_deadline.remove(&key);
            }
            let wait = calls.by_deadline.first().map(|((end, _), _)| end.duration_since(now));
            calls = match wait {
                Some(wait) => self.changed.wait_timeout(calls, wait).unwrap_or_else(PoisonError::into_inner).0,
                None => self.changed.wait(calls).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}
