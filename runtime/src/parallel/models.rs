//! Models of the pool: regions in every order of its threads' steps.
use super::*;
use crate::sync::{UnsafeCell, thread};
use loom::model::Builder;

/// Chunks of a region that stand for themselves: each notes in its own cell that it ran.
struct Chunks(Vec<UnsafeCell<u32>>);

// SAFETY: the cells are checked; that no two threads touch one at a time is what the models are about.
unsafe impl Sync for Chunks {}

unsafe extern "C" fn note(chunks: *mut c_void, begin: i64, end: i64) -> i32 {
    // SAFETY: the context of these regions.
    let chunks = unsafe { &*chunks.cast::<Chunks>() };
    for i in begin..end {
        // SAFETY: every chunk is given to one thread; loom checks it.
        unsafe { *chunks.0[i as usize].get() += 1 };
    }
    0
}

/// Runs a region with a chunk for every thread.
fn region(pool: &'static Pool) {
    let chunks = Chunks((0..threads()).map(|_| UnsafeCell::default()).collect());
    // SAFETY: `note` is for this context.
    unsafe { run(pool, note, (&raw const chunks).cast_mut().cast(), threads() as i64, 1) }.unwrap();
    // SAFETY: the region is over, so that nobody else refers to the cells; loom checks it.
    chunks.0.iter().for_each(|chunk| assert_eq!(unsafe { *chunk.get() }, 1, "a chunk runs once"));
}

/// Checks what `threads` threads do with a pool in every order with at most so many involuntary switches.
fn check(threads: usize, switches: usize, model: impl Fn(&'static Pool) + Sync + Send + 'static) {
    // The number of threads is the process's, so the models take turns.
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
fn two_helpers_share_the_work() {
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
