//! The pool's workers: how they enter and leave regions, sleep and wake up.
use super::region::Region;
use super::threads;
#[cfg(not(loom))]
use crate::fork::{self, ForkHandler, Stage};
use crate::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering::*};
use crate::sync::thread::{self, Thread};
use crate::sync::{Mutex, thread_local};
use std::cell::Cell;
use std::hint::spin_loop;
use std::ops::Deref;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

/// Time that an idle worker spins before it sleeps.
const SPIN: Duration = Duration::from_micros(if cfg!(loom) { 0 } else { 500 });
/// Time that the caller spins for workers inside before it yields.
const JOIN_SPIN: Duration = Duration::from_micros(if cfg!(loom) { 0 } else { 20 });
/// Number of spins between reads of the clock.
const SPINS: u32 = if cfg!(loom) { 1 } else { 64 };
/// Maximum number of open regions; further callers work alone.
const SLOTS: usize = if cfg!(loom) { 2 } else { 16 };
/// Layout of a slot's `state`: number of workers inside, maximum number of workers, the bits "open" and "taken", and
/// the region's number in the high bits.
const INSIDE: u64 = WANTED - 1;
const WANTED: u64 = 1 << 12;
const OPEN: u64 = WANTED << 12;
const TAKEN: u64 = OPEN << 1;
const NUMBER: u64 = TAKEN << 1;
/// Layout of the pool's `counts`: number of sleeping workers, and the number of started workers in the high bits.
const STARTED: u64 = 1 << 32;
const ASLEEP: u64 = STARTED - 1;

// The slot of the process's pool that this thread holds.
thread_local! {
    static HELD_SLOT: Cell<Option<usize>> = const { Cell::new(None) };
}

/// A value on a cache line of its own, and also apart from the line that the adjacent-line prefetcher loads.
#[repr(align(128))]
#[cfg_attr(loom, derive(Default))]
struct Line<T>(T);

impl<T> Deref for Line<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

struct Worker {
    number: usize,
    thread: Thread,
    asleep: AtomicBool,
}

#[cfg_attr(loom, derive(Default))]
pub(super) struct Pool {
    slots: [Line<Slot>; SLOTS],
    /// Number of slots after the first that have ever been used.
    more: Line<AtomicUsize>,
    /// Numbers of workers that a caller needs; usually, they tell that nothing has to be woken.
    counts: Line<AtomicU64>,
    workers: Mutex<Vec<&'static Worker>>,
}

/// Storage for a region.
#[cfg_attr(loom, derive(Default))]
struct Slot {
    state: AtomicU64,
    region: AtomicPtr<Region>,
}

/// A slot in use, as read by a worker.
struct SlotState {
    slot: usize,
    state: u64,
}

/// Result of a worker's search.
enum SearchResult {
    Nothing,
    /// There are regions, but enough threads work already.
    Saturated,
    Region(SlotState),
}

/// The pool of the process, unless it was forked by one with a pool.
#[cfg(not(loom))]
static FIRST: Pool = Pool::new();

/// The pool of a forked process; null for `FIRST`.
#[cfg(not(loom))]
static OWN: AtomicPtr<Pool> = AtomicPtr::new(std::ptr::null_mut());

/// The process's pool.
#[cfg(not(loom))]
#[inline]
pub(super) fn pool() -> &'static Pool {
    // SAFETY: pools are never freed.
    unsafe { OWN.load(Acquire).as_ref() }.unwrap_or(&FIRST)
}

/// Not used: every model creates its own pool.
#[cfg(loom)]
pub(super) fn pool() -> &'static Pool {
    static POOL: std::sync::LazyLock<Pool> = std::sync::LazyLock::new(Pool::default);
    &POOL
}

#[cfg(not(loom))]
impl ForkHandler for Pool {
    /// Abandons the parent's pool, whose workers do not exist in this process.
    fn reset_in_child(&self) {
        OWN.store(Box::into_raw(Box::new(Pool::new())), Release);
        HELD_SLOT.with(|held| held.set(None));
    }
}

impl Pool {
    #[cfg(not(loom))]
    const fn new() -> Pool {
        Pool {
            slots: [const { Line(Slot { state: AtomicU64::new(0), region: AtomicPtr::new(std::ptr::null_mut()) }) };
                SLOTS],
            more: Line(AtomicUsize::new(0)),
            counts: Line(AtomicU64::new(0)),
            workers: Mutex::new(Vec::new()),
        }
    }

    /// Takes a slot for a region of this thread, if one is free; `fork_join` releases it.
    pub(super) fn claim(&self) -> Option<usize> {
        HELD_SLOT.with(Cell::get).or_else(|| self.take())
    }

    fn take(&self) -> Option<usize> {
        let take = |slot: &Line<Slot>| {
            let state = slot.state.load(Relaxed);
            state & TAKEN == 0 && slot.state.compare_exchange(state, state | TAKEN, Acquire, Relaxed).is_ok()
        };
        let slot = self.slots.iter().position(take)?;
        if slot > self.more.load(Relaxed) {
            self.more.fetch_max(slot, AcqRel);
        }
        Some(slot)
    }

    fn release_slot(&self, slot: usize) {
        self.slots[slot].state.fetch_and(!TAKEN, Release);
    }

    /// Opens the region to up to `wanted` workers, takes part, closes it, and waits for workers inside. A thread that
    /// works for a program holds the slot until that is over, so that others count it among the working threads.
    pub(super) fn fork_join(&'static self, slot: usize, region: &Region, wanted: usize) {
        let Slot { state, region: opened } = &*self.slots[slot];
        opened.store(std::ptr::from_ref(region).cast_mut(), Relaxed);
        // Nobody is inside: the previous region was closed and left before this one was created.
        let number = (state.load(Relaxed) & !(NUMBER - 1)).wrapping_add(NUMBER);
        state.store(number | TAKEN | OPEN | (wanted as u64 * WANTED), Release);
        self.call(wanted);
        region.work(0, || false);
        state.fetch_and(!OPEN, AcqRel);
        let mut deadline = SpinDeadline::new(JOIN_SPIN);
        while state.load(Acquire) & INSIDE != 0 {
            if deadline.is_over() {
                thread::yield_now();
            }
        }
        if region.is_for_a_program() {
            HELD_SLOT.with(|held| held.set(Some(slot)));
        } else {
            self.release_slot(slot);
        }
    }

    /// Ensures that `wanted` workers are awake, or as many as may work.
    fn call(&'static self, wanted: usize) {
        // A read-modify-write: workers that fall asleep after it see what was opened before it, and it sees those
        // before.
        let counts = self.counts.fetch_add(0, AcqRel);
        if counts & ASLEEP != 0 || counts / STARTED < wanted as u64 {
            let (callers, inside) = self.taken().fold((0, 0), |(n, inside), slot| (n + 1, inside + slot.inside()));
            self.wake((inside + wanted).min(threads().saturating_sub(callers)));
        }
    }

    /// Wakes sleeping workers, and starts new ones, up to `count`.
    #[cold]
    fn wake(&'static self, count: usize) {
        #[cfg(not(loom))]
        {
            static REGISTERED: AtomicBool = AtomicBool::new(false);
            fork::register(&REGISTERED, Stage::Tables, &FIRST);
        }
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        while workers.len() < count {
            let Ok(handle) = thread::Builder::new().name("hammock-worker".into()).spawn(move || self.serve()) else {
                break;
            };
            let number = workers.len();
            let worker = Worker { number, thread: handle.thread().clone(), asleep: AtomicBool::new(false) };
            let worker: &'static Worker = Box::leak(Box::new(worker));
            workers.push(worker);
            self.counts.fetch_add(STARTED, AcqRel);
        }
        for worker in workers.iter().take(count) {
            if self.mark_awake(worker) {
                worker.thread.unpark();
            }
        }
    }

    /// Marks a sleeping worker as awake; returns true if it was asleep.
    fn mark_awake(&self, worker: &Worker) -> bool {
        let slept = worker.asleep.swap(false, AcqRel);
        if slept {
            self.counts.fetch_sub(1, AcqRel);
        }
        slept
    }

    /// Main loop of a worker.
    fn serve(&'static self) {
        let me = self.find_self();
        let mut done = [0; SLOTS];
        while !self.is_over() {
            let mut deadline = SpinDeadline::new(SPIN);
            loop {
                match self.find(&done) {
                    SearchResult::Region(region) => {
                        self.enter(me.number, &region, &mut done);
                        deadline = SpinDeadline::new(SPIN);
                        continue;
                    }
                    SearchResult::Saturated => thread::yield_now(),
                    SearchResult::Nothing => {}
                }
                if deadline.is_over() {
                    break;
                }
            }
            // Counted first: whoever finds it asleep subtracts it from the count.
            self.counts.fetch_add(1, AcqRel);
            me.asleep.swap(true, AcqRel);
            // The opener of a region that was opened before `asleep` was seen sent no wake-up call.
            if self.is_over() || matches!(self.find(&done), SearchResult::Region(_)) {
                self.mark_awake(me);
                continue;
            }
            while me.asleep.load(Acquire) {
                thread::park();
            }
        }
    }

    /// The entry that `wake` added for the current thread; its lock is held until the entry exists.
    fn find_self(&self) -> &'static Worker {
        let id = thread::current().id();
        loop {
            let workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(worker) = workers.iter().find(|worker| worker.thread.id() == id) {
                return worker;
            }
        }
    }

    /// Returns true if no more regions will be opened. A model's pool ends; the process's never does.
    fn is_over(&self) -> bool {
        cfg!(loom) && self.more.load(Relaxed) >= SLOTS
    }

    /// Stops the workers: a model ends when all its threads do.
    #[cfg(loom)]
    pub(super) fn end(&'static self) {
        self.more.fetch_max(SLOTS, AcqRel);
        let counts = self.counts.fetch_add(0, AcqRel);
        self.wake((counts / STARTED) as usize);
    }

    /// The slots of threads that have work for workers, or had some recently.
    fn taken(&self) -> impl Iterator<Item = SlotState> {
        let used = (self.more.load(Acquire) + 1).min(SLOTS);
        let seen = |(slot, state): (usize, &Line<Slot>)| SlotState { slot, state: state.state.load(Acquire) };
        self.slots[..used].iter().enumerate().map(seen).filter(|slot| slot.state & TAKEN != 0)
    }

    /// The region with the fewest workers among those that accept one more.
    fn find(&self, done: &[u64; SLOTS]) -> SearchResult {
        let (mut busy, mut best) = (0, None::<SlotState>);
        for region in self.taken() {
            busy += 1 + region.inside();
            let has_work = region.has_room() && region.number() != done[region.slot];
            if has_work && best.as_ref().is_none_or(|best| region.inside() < best.inside()) {
                best = Some(region);
            }
        }
        match best {
            Some(region) if busy < threads() => SearchResult::Region(region),
            Some(_) => SearchResult::Saturated,
            None => SearchResult::Nothing,
        }
    }

    /// Enters a region and works on it, unless the slot has just changed.
    fn enter(&self, me: usize, region: &SlotState, done: &mut [u64; SLOTS]) {
        let slot = &self.slots[region.slot];
        if slot.state.compare_exchange(region.state, region.state + 1, AcqRel, Relaxed).is_ok() {
            // SAFETY: the region was open when we were counted in, and its owner waits until we are counted out.
            let opened = unsafe { &*slot.region.load(Relaxed) };
            if opened.help(me + 1, || self.should_leave(region.slot)) {
                done[region.slot] = region.number();
            }
            slot.state.fetch_sub(1, Release);
        }
    }

    /// Returns true if a worker should leave the region: another one has two fewer workers, or too many threads work.
    fn should_leave(&self, slot: usize) -> bool {
        if self.more.load(Relaxed) == 0 {
            return false;
        }
        let (mut busy, mut here, mut fewest) = (0, 0, usize::MAX);
        for region in self.taken() {
            busy += 1 + region.inside();
            if region.slot == slot {
                here = region.inside();
            } else if region.has_room() {
                fewest = fewest.min(region.inside());
            }
        }
        busy > threads() || here > fewest.saturating_add(1)
    }
}

impl SlotState {
    /// Number of the region in its slot.
    fn number(&self) -> u64 {
        self.state / NUMBER
    }

    fn inside(&self) -> usize {
        (self.state & INSIDE) as usize
    }

    /// Returns true if it accepts one more worker.
    fn has_room(&self) -> bool {
        self.state & OPEN != 0 && (self.state & INSIDE) < self.state / WANTED % WANTED
    }
}

/// Releases the slot that this thread holds.
pub(super) fn leave() {
    if let Some(slot) = HELD_SLOT.with(Cell::get) {
        HELD_SLOT.with(|held| held.set(None));
        pool().release_slot(slot);
    }
}

/// A deadline that only reads the clock every few spins.
struct SpinDeadline {
    spins: u32,
    limit: Duration,
    begin: Option<Instant>,
}

impl SpinDeadline {
    fn new(limit: Duration) -> SpinDeadline {
        SpinDeadline { spins: 0, limit, begin: None }
    }

    /// Spins once; returns true if the time is over.
    fn is_over(&mut self) -> bool {
        spin_loop();
        self.spins += 1;
        if !self.spins.is_multiple_of(SPINS) {
            return false;
        }
        self.begin.get_or_insert_with(Instant::now).elapsed() >= self.limit
    }
}
