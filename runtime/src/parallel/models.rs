//! Loom models of the pool: regions in every interleaving.
use super::*;
use crate::sync::{UnsafeCell, thread};
use loom::model::Builder;

/// Chunks of a region; each one sets its own cell when it runs.
struct Chunks(Vec<UnsafeCell<u32>>);

// SAFETY: loom checks that no two threads access a cell at the same time.
unsafe impl Sync for Chunks {}

unsafe extern "C" fn note(chunks: *mut c_void, begin: i64, end: i64) -> i32 {
    // SAFETY: these regions have this context.
    let chunks = unsafe { &*chunks.cast::<Chunks>() };
    for i in begin..end {
        // SAFETY: every chunk is run by one thread; loom checks it.
        unsafe { *chunks.0[i as usize].get() += 1 };
    }
    0
}

/// Runs a region with one chunk per thread.
fn region(pool: &'static Pool) {
    let chunks = Chunks((0..threads()).map(|_| UnsafeCell::default()).collect());
    // SAFETY: `note` accepts this context.
    unsafe { run(pool, note, (&raw const chunks).cast_mut().cast(), threads() as i64, 1) }.unwrap();
    // SAFETY: the region is over, so nobody else accesses the cells; loom checks it.
    chunks.0.iter().for_each(|chunk| assert_eq!(unsafe { *chunk.get() }, 1, "a chunk runs once"));
}

/// Explores all interleavings of `threads` threads that use a pool, with a bounded number of involuntary switches.
fn check(threads: usize, switches: usize, model: impl Fn(&'static Pool) + Sync + Send + 'static) {
    // The number of threads is global, so the models run one after the other.
    static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    set_threads(threads);
    let mut builder = Builder::new();
    builder.preemption_bound = Some(switches);
    builder.check(move || {
        let pool: &'static Pool = Box::leak(Box::default());
        model(pool);
        pool.end();
    });
}

#[test]
fn chunks_run_once_and_regions_end_after_them() {
    check(2, 3, region);
}

#[test]
fn sleepers_wake_up_for_the_next_region() {
    check(2, 2, |pool| {
        region(pool);
        region(pool);
    });
}

#[test]
fn callers_share_the_pool() {
    check(2, 1, |pool| {
        let other = thread::spawn(move || region(pool));
        region(pool);
        other.join().unwrap();
    });
}

#[test]
fn two_workers_share_the_work() {
    check(3, 2, region);
}

#[test]
fn failures_end_a_region() {
    unsafe extern "C" fn fail(_: *mut c_void, _: i64, _: i64) -> i32 {
        ffi::raise(Error::value("the chunk is bad"))
    }
    check(2, 2, |pool| {
        // SAFETY: `fail` ignores its context.
        assert!(unsafe { run(pool, fail, std::ptr::null_mut(), 2, 1) }.is_err());
    });
}
