//! The pool's threads: how they enter a region, leave it, sleep and wake.
use super::Region;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering::*};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// How long an idle helper spins before it sleeps.
const SPIN: Duration = Duration::from_micros(500);
/// How long the caller spins for helpers inside before it lets other threads run.
const JOIN_SPIN: Duration = Duration::from_micros(50);
/// `state`: number of helpers inside, a bit that says "open", and the region's number above.
const OPEN: u64 = 1 << 16;
const INSIDE: u64 = OPEN - 1;
const NEXT_REGION: u64 = OPEN << 1;

#[repr(align(128))]
struct Line<T>(T);

struct Helper {
    number: usize,
    thread: Thread,
    asleep: AtomicBool,
}

pub(super) struct Pool {
    state: Line<AtomicU64>,
    region: Line<AtomicPtr<Region>>,
    /// Helpers from this number on stay out of the region.
    allowed: Line<AtomicUsize>,
    busy: Line<AtomicBool>,
    helpers: Mutex<Vec<&'static Helper>>,
}

pub(super) static POOL: Pool = Pool {
    state: Line(AtomicU64::new(0)),
    region: Line(AtomicPtr::new(std::ptr::null_mut())),
    allowed: Line(AtomicUsize::new(0)),
    busy: Line(AtomicBool::new(false)),
    helpers: Mutex::new(Vec::new()),
};

impl Pool {
    /// Reserves the pool for one region; `fork_join` releases it.
    pub(super) fn claim(&self) -> bool {
        !self.busy.0.swap(true, Acquire)
    }

    /// Opens the region, works, closes it, waits for helpers inside. The caller has claimed the pool.
    pub(super) fn fork_join(&'static self, region: &Region, allowed: usize, wanted: usize) {
        self.region.0.store(std::ptr::from_ref(region).cast_mut(), Relaxed);
        self.allowed.0.store(allowed, Relaxed);
        // Nobody is inside: the last region was closed and left before `busy` was cleared.
        let number = (self.state.0.load(Relaxed) & !(OPEN | INSIDE)).wrapping_add(NEXT_REGION);
        self.state.0.store(number | OPEN, SeqCst);
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
            let Ok(handle) = thread::Builder::new().name("hammock-worker".into()).spawn(|| POOL.help()) else { break };
            let number = helpers.len();
            let helper = Helper { number, thread: handle.thread().clone(), asleep: AtomicBool::new(false) };
            let helper: &'static Helper = Box::leak(Box::new(helper));
            helpers.push(helper);
        }
        for helper in helpers.iter().take(count) {
            if helper.asleep.swap(false, SeqCst) {
                helper.thread.unpark();
            }
        }
    }

    /// A helper's life.
    fn help(&'static self) -> ! {
        let me = self.find_self();
        let mut seen = 0;
        loop {
            let mut patience = Patience::new(SPIN);
            while !patience.is_over() {
                if self.enter(me.number, &mut seen) {
                    patience = Patience::new(SPIN);
                }
            }
            me.asleep.store(true, SeqCst);
            // A region opened before `asleep` was seen would have sent no wake-up call.
            if self.has_news(seen) {
                me.asleep.store(false, SeqCst);
                continue;
            }
            while me.asleep.load(SeqCst) {
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
        let state = self.state.0.load(SeqCst);
        state & OPEN != 0 && state & !(OPEN | INSIDE) != seen
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
            unsafe { &*self.region.0.load(Relaxed) }.work();
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
        if !self.spins.is_multiple_of(64) {
            return false;
        }
        self.begin.get_or_insert_with(Instant::now).elapsed() >= self.limit
    }
}
