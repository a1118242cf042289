//! Parallel loops on a host program's thread pool. The pool is global, so this is a separate test program with one
//! test.
use hammock_runtime::ffi::{self, Error};
use hammock_runtime::parallel::{self, Body};
use std::ffi::c_void;
use std::panic::catch_unwind;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering::Relaxed};
use std::thread;

/// Number of iterations that the runner was asked to run.
static ASKED: AtomicI64 = AtomicI64::new(0);

#[derive(Clone, Copy)]
struct Loop(Body, *mut c_void);
// SAFETY: any thread may run parts of a loop.
unsafe impl Send for Loop {}

impl Loop {
    fn part(self, begin: i64, end: i64) -> i32 {
        // SAFETY: the loop lives while the runner runs.
        unsafe { (self.0)(self.1, begin, end) }
    }
}

/// Runs one part on each of three threads.
unsafe extern "C" fn in_thirds(_: *mut c_void, part: Body, region: *mut c_void, extent: i64, grain: i64) {
    assert!(extent >= 2 * grain);
    ASKED.fetch_add(extent, Relaxed);
    let region = Loop(part, region);
    thread::scope(|scope| {
        for third in 0..3 {
            scope.spawn(move || region.part(extent * third / 3, extent * (third + 1) / 3));
        }
    });
}

/// Skips the last iteration.
unsafe extern "C" fn not_all(_: *mut c_void, part: Body, region: *mut c_void, extent: i64, _: i64) {
    Loop(part, region).part(0, extent - 1);
}

/// Runs iterations beyond the range.
unsafe extern "C" fn too_much(_: *mut c_void, part: Body, region: *mut c_void, extent: i64, _: i64) {
    assert_eq!(Loop(part, region).part(0, extent + 1), -1);
}

unsafe extern "C" fn add(sum: *mut c_void, begin: i64, end: i64) -> i32 {
    // SAFETY: the context of these loops.
    let sum = unsafe { &*sum.cast::<AtomicI64>() };
    sum.fetch_add((begin..end).sum(), Relaxed);
    0
}

unsafe extern "C" fn fail(_: *mut c_void, begin: i64, _: i64) -> i32 {
    if begin > 0 { ffi::raise(Error::value("a part is bad")) } else { 0 }
}

/// The sum that `add` computes in 100 iterations.
fn sum(grain: i64) -> Result<i64, Error> {
    let sum = AtomicI64::new(0);
    // SAFETY: `add` accepts this context, which outlives the loop.
    let status = unsafe { parallel::hammock_parallel_for(add, (&raw const sum).cast_mut().cast(), 100, grain) };
    if status == 0 { Ok(sum.into_inner()) } else { Err(ffi::take_raised()) }
}

#[test]
fn loops_run_on_the_callers_pool() {
    parallel::set_threads(4);
    // SAFETY: the runners conform to the contract or violate it in ways that are detected, on any thread.
    let set = |runner| unsafe { parallel::set_host_pool(runner, null_mut()) };
    set(Some(in_thirds as parallel::Runner));
    assert_eq!((sum(1).unwrap(), ASKED.load(Relaxed)), (4950, 100));
    assert_eq!((sum(100).unwrap(), ASKED.load(Relaxed)), (4950, 100), "a loop for one thread stays where it is");
    let inner = AtomicUsize::new(0);
    parallel::for_each(8, 1, |outer| {
        for _ in outer {
            parallel::for_each(8, 1, |range| {
                inner.fetch_add(range.count(), Relaxed);
            });
        }
    });
    assert_eq!((inner.into_inner(), ASKED.load(Relaxed)), (64, 108), "loops inside loops stay where they are");
    // SAFETY: `fail` ignores its context.
    assert_eq!(unsafe { parallel::hammock_parallel_for(fail, null_mut(), 9, 1) }, -1);
    assert_eq!(ffi::take_raised().message(), "a part is bad");
    assert!(catch_unwind(|| parallel::for_each(9, 1, |range| assert!(!range.contains(&5)))).is_err());

    set(Some(not_all as parallel::Runner));
    let message = sum(1).unwrap_err();
    assert_eq!(message.message(), "the caller's pool ran 99 of 100 iterations of a parallel loop");
    set(Some(too_much as parallel::Runner));
    let message = sum(1).unwrap_err();
    assert_eq!(message.message(), "the caller's pool ran 0 of 100 iterations of a parallel loop");

    set(None);
    let asked = ASKED.load(Relaxed);
    assert_eq!((sum(1).unwrap(), ASKED.load(Relaxed)), (4950, asked));
}
