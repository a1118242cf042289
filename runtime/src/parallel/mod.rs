//! The fork-join pool that kernels call: one per process, its threads started on first use.
//!
//! A *region* is a range of work cut into chunks. The calling thread works too; helpers enter the region if they are
//! awake and leave it when no chunk is left. The caller closes the region and waits only for helpers inside, so a
//! sleeping helper costs only its wake-up call. A region inside a region, or one opened while another
//! thread's is running, runs inline.
//!
//! Idle helpers spin for about half a millisecond, which keeps the start of a region at a fifth of a microsecond
//! within a model, then sleep.
#[cfg(loom)]
mod models;
mod pool;

use crate::ffi::{self, Error, kind};
use crate::memory::meter::Account;
use crate::memory::workspace::Workspace;
use crate::sync::atomic::{AtomicBool, AtomicI64, Ordering::*};
use crate::sync::{Mutex, thread_local};
use pool::{POOL, Pool};
use std::cell::Cell;
use std::ffi::c_void;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::AtomicUsize;
use std::sync::{OnceLock, PoisonError};
use std::thread;

/// Work on part of a region: 0, or -1 with an error raised.
pub type Body = unsafe extern "C" fn(context: *mut c_void, begin: i64, end: i64) -> i32;

/// Chunks per thread: enough to even out a core that is slow or taken by others.
const CHUNKS_PER_THREAD: i64 = 4;
/// Beyond this, the counter of chunks could overflow; nothing that long ever ends.
const MAX_EXTENT: i64 = 1 << 48;
/// A region under way; lives on the caller's stack until it is closed and empty.
struct Region {
    body: Body,
    context: *mut c_void,
    extent: i64,
    chunk: i64,
    next: AtomicI64,
    failed: AtomicBool,
    error: Mutex<Option<Error>>,
    /// On whose behalf the work is done.
    account: Account,
}

/// Threads a region may use; 0 stands for "as many as the machine has".
static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static INSIDE_REGION: Cell<bool> = const { Cell::new(false) };
}

/// How many threads a region may use, the caller included.
pub fn threads() -> usize {
    match THREADS.load(Relaxed) {
        0 => machine_threads(),
        count => count,
    }
}

/// Sets how many threads a region may use, the caller included; 0 for as many as the machine has.
pub fn set_threads(count: usize) {
    THREADS.store(count.min(1024), Relaxed);
}

fn machine_threads() -> usize {
    static COUNT: OnceLock<usize> = OnceLock::new();
    *COUNT.get_or_init(|| thread::available_parallelism().map_or(1, usize::from))
}

/// Starts or wakes the helpers, so that a region opened soon finds them ready.
pub fn wake() {
    if threads() > 1 {
        POOL.wake(threads() - 1);
    }
}

/// Runs `body` over `0..extent` in chunks of at least `grain`, on several threads if that leaves more than one chunk.
pub fn for_each<F: Fn(Range<i64>) + Sync>(extent: i64, grain: i64, body: F) {
    type Panic = Box<dyn std::any::Any + Send>;
    struct Context<F>(F, Mutex<Option<Panic>>);

    unsafe extern "C" fn call<F: Fn(Range<i64>) + Sync>(context: *mut c_void, begin: i64, end: i64) -> i32 {
        // SAFETY: `for_each` passes its own context, which outlives the region.
        let Context(body, panicked) = unsafe { &*context.cast::<Context<F>>() };
        let Err(panic) = catch_unwind(AssertUnwindSafe(|| body(begin..end))) else { return 0 };
        *panicked.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic);
        ffi::raise(Error::new(kind::INTERNAL, "parallel work panicked"))
    }

    let context = Context(body, Mutex::new(None));
    // SAFETY: `call` is made for this context, and `F` may be called from several threads.
    let outcome = unsafe { run(&POOL, call::<F>, (&raw const context).cast_mut().cast(), extent, grain) };
    if let (Err(_), Some(panic)) = (outcome, context.1.into_inner().unwrap_or_else(PoisonError::into_inner)) {
        resume_unwind(panic);
    }
}

/// The same for compiled kernels: 0, or -1 with the first error raised again on the calling thread.
///
/// # Safety
/// `body` may be called with `context` from several threads at once, on parts of `0..extent`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_parallel_for(body: Body, context: *mut c_void, extent: i64, grain: i64) -> i32 {
    // SAFETY: as the caller promises.
    match unsafe { run(&POOL, body, context, extent, grain) } {
        Ok(()) => 0,
        Err(error) => ffi::raise(error),
    }
}

/// # Safety
/// As for [`hammock_parallel_for`].
unsafe fn run(pool: &'static Pool, body: Body, context: *mut c_void, extent: i64, grain: i64) -> Result<(), Error> {
    if extent <= 0 {
        return Ok(());
    }
    let threads = threads() as i64;
    let chunk = grain.max(extent / (threads * CHUNKS_PER_THREAD) + 1);
    let chunks = (extent - 1) / chunk + 1;
    let alone = threads == 1 || extent > MAX_EXTENT || chunks == 1 || INSIDE_REGION.with(Cell::get) || !pool.claim();
    if alone {
        // SAFETY: as the caller promises.
        return if unsafe { body(context, 0, extent) } == 0 { Ok(()) } else { Err(ffi::take_raised()) };
    }
    let (next, failed, error) = (AtomicI64::new(0), AtomicBool::new(false), Mutex::new(None));
    let account = Account::for_helpers();
    let region = Region { body, context, extent, chunk, next, failed, error, account };
    pool.fork_join(&region, threads as usize - 1, threads.min(chunks) as usize - 1);
    match region.error.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

impl Region {
    /// Helps a thread that opened the region.
    fn help(&self) {
        // SAFETY: who opened the region waits until it is empty, and works for the account meanwhile.
        let _account = unsafe { self.account.enter() };
        Workspace::new().within(|| self.work());
    }

    /// Takes chunks until none is left or one failed.
    fn work(&self) {
        INSIDE_REGION.with(|inside| inside.set(true));
        while !self.failed.load(Relaxed) {
            let begin = self.next.fetch_add(self.chunk, Relaxed);
            if begin >= self.extent {
                break;
            }
            let end = begin.saturating_add(self.chunk).min(self.extent);
            // SAFETY: whoever opened the region promised that its body may run on any part from several threads.
            if unsafe { (self.body)(self.context, begin, end) } != 0 {
                self.failed.store(true, Relaxed);
                let error = ffi::take_raised();
                self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            }
        }
        INSIDE_REGION.with(|inside| inside.set(false));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn sum(extent: i64, grain: i64) -> i64 {
        let total = AtomicI64::new(0);
        for_each(extent, grain, |range| {
            total.fetch_add(range.sum(), Relaxed);
        });
        total.into_inner()
    }

    #[test]
    fn covers_every_index_once() {
        for (extent, grain) in [(0, 1), (-5, 1), (1, 1), (7, 100), (1000, 1), (1000, 7), (1000, 0)] {
            assert_eq!(sum(extent, grain), (0..extent).sum::<i64>());
        }
        for _ in 0..2000 {
            assert_eq!(sum(64, 1), 2016);
        }
    }

    #[test]
    fn regions_inside_and_beside_each_other_run_inline() {
        let count = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for_each(8, 1, |outer| {
                        for _ in outer {
                            for_each(8, 1, |inner| {
                                count.fetch_add(inner.count(), Relaxed);
                            });
                        }
                    });
                });
            }
        });
        assert_eq!(count.into_inner(), 4 * 64);
    }

    #[test]
    fn the_first_error_reaches_the_caller() {
        unsafe extern "C" fn fail(_: *mut c_void, begin: i64, _: i64) -> i32 {
            if begin == 0 { ffi::raise(Error::value("the first chunk is bad")) } else { 0 }
        }
        // SAFETY: the body ignores its context.
        let status = unsafe { hammock_parallel_for(fail, std::ptr::null_mut(), 100, 1) };
        assert_eq!(status, -1);
        assert_eq!(ffi::take_raised().message(), "the first chunk is bad");
        assert_eq!(sum(100, 1), 4950);
    }

    #[test]
    fn panics_reach_the_caller() {
        let outcome = catch_unwind(|| for_each(100, 1, |range| assert!(!range.contains(&50))));
        assert!(outcome.is_err());
        assert_eq!(sum(100, 1), 4950);
    }

    #[test]
    fn sleepers_wake_up() {
        for _ in 0..5 {
            assert_eq!(sum(100, 1), 4950);
            thread::sleep(Duration::from_millis(2));
        }
    }
}
