//! The fork-join pool that kernels use: one per process, its threads started at first use.
//!
//! A *region* is a range of iterations cut into chunks (`region.rs`). The calling thread takes part; *workers*
//! enter the region if they are awake and leave it when no chunk is left. The caller closes the region and
//! waits only for workers inside, so a sleeping worker costs only its wake-up call. A nested region runs inline.
//!
//! Several threads may have regions open at once, such as threads that call different virtual machines. Together they
//! use no more threads than the process may use: workers stay out while there are enough callers, and otherwise enter
//! the region with the fewest workers (`pool.rs`).
//!
//! Idle workers spin for about half a millisecond, which keeps the overhead of a region within a model below half a
//! microsecond (`benches/regions.rs`), then sleep. A host program with a thread pool of its own can run regions on it
//! (`host_pool.rs`).
mod host_pool;
#[cfg(loom)]
mod models;
mod pool;
mod program_work;
mod region;

use crate::ffi::{self, Error, kind};
use crate::fork::LazyNumber;
use crate::sync::Mutex;
pub use host_pool::{Runner, set_host_pool};
use pool::{Pool, pool};
pub(crate) use program_work::ProgramWork;
use region::Region;
use std::ffi::c_void;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

/// Body of a region, for a range of iterations: returns 0, or -1 after raising an error.
pub type Body = unsafe extern "C" fn(context: *mut c_void, begin: i64, end: i64) -> i32;

/// Number of threads of a region; 0 stands for the number of CPUs.
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// Number of threads that a region may use, including the caller. More threads than CPUs would wait for each other.
pub fn threads() -> usize {
    limited(THREADS.load(Relaxed), machine_threads())
}

/// Limits a number of threads to that of the CPUs; 0 stands for it.
fn limited(count: usize, cpus: usize) -> usize {
    match count {
        0 => cpus,
        // The models need as many threads as they say.
        _ if cfg!(loom) => count,
        _ => count.min(cpus),
    }
}

/// Sets the number of threads that a region may use, including the caller; 0 for the number of CPUs, which is also the
/// maximum.
pub fn set_threads(count: usize) {
    THREADS.store(count.min(1024), Relaxed);
}

fn machine_threads() -> usize {
    static COUNT: LazyNumber = LazyNumber::new();
    COUNT.get(|| thread::available_parallelism().map_or(1, usize::from))
}

/// Runs `body` over `0..extent` in chunks of at least `grain` iterations, on several threads if there are several
/// chunks.
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
    // SAFETY: `call` accepts this context, and `F` may be called from several threads.
    let outcome = unsafe { run(pool(), call::<F>, (&raw const context).cast_mut().cast(), extent, grain) };
    if let (Err(_), Some(panic)) = (outcome, context.1.into_inner().unwrap_or_else(PoisonError::into_inner)) {
        resume_unwind(panic);
    }
}

/// Like [`for_each`], for compiled kernels. Returns 0, or -1 after raising the first error on the calling thread.
///
/// # Safety
/// `body` may be called with `context` from several threads at once, on parts of `0..extent`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_parallel_for(body: Body, context: *mut c_void, extent: i64, grain: i64) -> i32 {
    // SAFETY: as the caller promises.
    match unsafe { run(pool(), body, context, extent, grain) } {
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
    let grain = grain.max(1);
    let useful = threads().min(usize::try_from(extent / grain).unwrap_or(usize::MAX));
    if useful > 1 && !region::is_inside() {
        if let Some(lent) = host_pool::pool() {
            return lent.run(Region::new(body, context, extent, grain, useful), extent, grain);
        }
        if let Some(slot) = pool.claim() {
            let region = Region::new(body, context, extent, grain, useful);
            pool.fork_join(slot, &region, useful - 1);
            return region.outcome();
        }
    }
    // SAFETY: as the caller promises.
    if unsafe { body(context, 0, extent) } == 0 { Ok(()) } else { Err(ffi::take_raised()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicI64;
    use std::time::{Duration, Instant};

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
    fn any_number_of_threads_covers_every_index_once() {
        for threads in [1, 2, 3, 8, 40] {
            set_threads(threads);
            for extent in [1, 2, 3, 7, 64, 1001] {
                let counts: Vec<AtomicUsize> = (0..extent).map(|_| AtomicUsize::new(0)).collect();
                for_each(extent, 1, |range| {
                    range.for_each(|i| {
                        counts[i as usize].fetch_add(1, Relaxed);
                    });
                });
                assert!(counts.iter().all(|count| count.load(Relaxed) == 1), "{extent} on {threads} threads");
            }
        }
        set_threads(0);
    }

    #[test]
    fn there_are_no_more_threads_than_cpus() {
        assert_eq!([0, 1, 4, 1000].map(|count| limited(count, 4)), [4, 1, 4, 4]);
    }

    #[test]
    fn chunks_have_at_least_grain_iterations() {
        let smallest = AtomicI64::new(i64::MAX);
        for extent in [20, 100, 1009] {
            for_each(extent, 10, |range| {
                smallest.fetch_min(range.end - range.start, Relaxed);
            });
        }
        assert!(smallest.into_inner() >= 10);
    }

    #[test]
    fn bounds_of_the_range_are_handled() {
        let count = AtomicI64::new(0);
        for_each(i64::MAX, i64::MAX / 7, |range| {
            count.fetch_add(range.end - range.start, Relaxed);
        });
        assert_eq!(count.into_inner(), i64::MAX);
    }

    #[test]
    fn a_worker_that_is_late_leaves_its_share_to_others() {
        let (slow, taken) = (AtomicI64::new(0), AtomicI64::new(0));
        let caller = thread::current().id();
        let late = Instant::now() + Duration::from_mins(1);
        for_each(64, 1, |range| {
            let size = range.end - range.start;
            taken.fetch_add(size, Relaxed);
            if thread::current().id() != caller {
                slow.fetch_add(size, Relaxed);
                while taken.load(Relaxed) < 64 && Instant::now() < late {
                    thread::yield_now();
                }
            }
        });
        // The first chunks of the shares, but not all of the shares.
        assert!(slow.into_inner() <= 8 * (threads() as i64 - 1).max(1));
    }

    #[test]
    fn regions_inside_each_other_run_inline_and_those_beside_each_other_do_not_mix() {
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
