//! The pool's threads: how they enter a region, leave it, sleep and wake.
use super::Region;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering::*};
use crate::sync::thread::{self, Thread};
use std::hint::spin_loop;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

/// How long an idle helper spins before it sleeps.
const SPIN: Duration = Duration::from_micros(if cfg!(loom) { 0 } else { 500 });
/// How long the caller spins for helpers inside before it lets other threads run.
const JOIN_SPIN: Duration = Duration::from_micros(if cfg!(loom) { 0 } else { 50 });
/// How often to spin between looks at the clock.
const SPINS: u32 = if cfg!(loom) { 2 } else { 64 };
/// `state`: number of helpers inside, a bit that says "open", and the region's number above.
const OPEN: u64 = 1 << 16;
const INSIDE: u64 = OPEN - 1;
const NEXT_REGION: u64 = OPEN << 1;

#[repr(align(128))]
#[cfg_attr(loom, derive(Default))]
struct Line<T>(T);

struct Helper {
    number: usize,
    thread: Thread,
    asleep: AtomicBool,
}

#[cfg_attr(loom, derive(Default))]
pub(super) struct Pool {
    state: Line<AtomicU64>,
    region: Line<AtomicPtr<Region>>,
    /// Helpers from this number on stay out of the region.
    allowed: Line<AtomicUsize>,
    busy: Line<AtomicBool>,
    helpers: Mutex<Vec<&'static Helper>>,
}

/// The process's pool.
#[cfg(not(loom))]
pub(super) static POOL: Pool = Pool {
    state: Line(AtomicU64::new(0)),
    region: Line(AtomicPtr::new(std::ptr::null_mut())),
    allowed: Line(AtomicUsize::new(0)),
    busy: Line(AtomicBool::new(false)),
    helpers: Mutex::new(Vec::new()),
};

/// Not used: every model makes a pool of its own.
#[cfg(loom)]
pub(super) static POOL: std::sync::LazyLock<Pool> = std::sync::LazyLock::new(Pool::default);

impl Pool {
    /// Reserves the pool for one region; `fork_join` releases it.
    pub(super) fn claim(&self) -> bool {
        self.busy.0.compare_exchange(false, true, Acquire, Relaxed).is_ok()
    }

    /// Opens the region, works, closes it, waits for helpers inside. The caller has claimed the pool.
    pub(super) fn fork_join(&'static self, region: &Region, allowed: usize, wanted: usize) {
        self.region.0.store(std::ptr::from_ref(region).cast_mut(), Relaxed);
        self.allowed.0.store(allowed, Relaxed);
        // Nobody is inside: the last region was closed and left before `busy` was cleared.
        let number = (self.state.0.load(Relaxed) & !(OPEN | INSIDE)).wrapping_add(NEXT_REGION);
        self.state.0.store(number | OPEN, Release);
        self.wake(wanted);
        region.work();
        self.state.0.fetch_and(!OPEN, AcqRel);
        self.wait_until_empty();
        self.busy.0.store(false, Release);
    }

    fn wait_until_empty(&self) {
        let mut patience = Patience::new(JOIN_SPIN);
        while self.state.0.load(Acquire) & INSIDE != 0 {
            if patience.is_over() {
                thread::yield_now();
            }
        }
    }

    /// Wakes sleeping helpers, and starts missing ones, up to `count`.
    pub(super) fn wake(&'static self, count: usize) {
        let mut helpers = self.helpers.lock().unwrap_or_else(PoisonError::into_inner);
        while helpers.len() < count {
            let Ok(handle) = thread::Builder::new().name("hammock-worker".into()).spawn(move || self.help()) else {
                break;
            };
            let number = helpers.len();
            let helper = Helper { number, thread: handle.thread().clone(), asleep: AtomicBool::new(false) };
            let helper: &'static Helper = Box::leak(Box::new(helper));
            helpers.push(helper);
        }
        for helper in helpers.iter().take(count) {
            if helper.asleep.swap(false, AcqRel) {
                helper.thread.unpark();
            }
        }
    }

    /// A helper's life.
    fn help(&'static self) {
        let me = self.find_self();
        let mut seen = 0;
        while !self.is_over() {
            let mut patience = Patience::new(SPIN);
            while !patience.is_over() {
                if self.enter(me.number, &mut seen) {
                    patience = Patience::new(SPIN);
                }
            }
            // Every change of `asleep` is a swap: one that comes after a swap of `wake`'s sees all before that too.
            me.asleep.swap(true, AcqRel);
            // A region opened before `asleep` was seen would have sent no wake-up call.
            if self.has_news(seen) {
                me.asleep.swap(false, AcqRel);
                continue;
            }
            while me.asleep.load(Acquire) {
                thread::park();
            }
        }
    }

    /// The entry that `wake` made for the current thread; its lock is held until the entry is there.
    fn find_self(&self) -> &'static Helper {
        let id = thread::current().id();
        loop {
            let helpers = self.helpers.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(helper) = helpers.iter().find(|helper| helper.thread.id() == id) {
                return helper;
            }
        }
    }

    fn has_news(&self, seen: u64) -> bool {
        let state = self.state.0.load(Acquire);
        self.is_over() || state & OPEN != 0 && state & !(OPEN | INSIDE) != seen
    }

    /// Was the last region opened? A model's pool ends; the process's never does.
    fn is_over(&self) -> bool {
        cfg!(loom) && self.allowed.0.load(Relaxed) == usize::MAX
    }

    /// Works on the open region, if there is one this helper has not been in.
    fn enter(&self, me: usize, seen: &mut u64) -> bool {
        let state = self.state.0.load(Acquire);
        let number = state & !(OPEN | INSIDE);
        if state & OPEN == 0 || number == *seen {
            return false;
        }
        if me >= self.allowed.0.load(Relaxed) {
            *seen = number;
            return false;
        }
        if self.state.0.compare_exchange(state, state + 1, AcqRel, Relaxed).is_ok() {
            *seen = number;
            // SAFETY: the region was open when we were counted in, and its owner waits until we are counted out.
            unsafe { &*self.region.0.load(Relaxed) }.help();
            self.state.0.fetch_sub(1, Release);
        }
        true
    }
}

/// A deadline that looks at the clock only now and then.
struct Patience {
    spins: u32,
    limit: Duration,
    begin: Option<Instant>,
}

impl Patience {
    fn new(limit: Duration) -> Patience {
        Patience { spins: 0, limit, begin: None }
    }

    /// Spins once; is the time over?
    fn is_over(&mut self) -> bool {
        spin_loop();
        self.spins += 1;
        if !self.spins.is_multiple_of(SPINS) {
            return false;
        }
        self.begin.get_or_insert_with(Instant::now).elapsed() >= self.limit
    }
}
