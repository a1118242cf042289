//! Regions on threads of the program that hosts the runtime, instead of the runtime's own.
use super::Body;
use super::region::Region;
use crate::ffi::{Error, kind};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI64, AtomicPtr, Ordering::*};

/// Calls `part(region, begin, end)` for parts of `0..extent` that together are all of it, each iteration once, on any
/// threads and at any time until it returns. Parts of fewer than `grain` iterations are not worth a thread's time. A part
/// returns 0, or -1 if it failed: then further parts need not be called.
pub type Runner = unsafe extern "C" fn(pool: *mut c_void, part: Body, region: *mut c_void, extent: i64, grain: i64);

/// A pool of the program that hosts the runtime.
pub(super) struct Lent {
    runner: Runner,
    pool: *mut c_void,
}

/// The pool to use; null for the runtime's.
static LENT: AtomicPtr<Lent> = AtomicPtr::new(null_mut());

/// Runs all regions that are opened from now on through `runner`, which is given `pool`; on the runtime's own threads
/// again without one. Regions for which one thread is enough, and those inside others, run where they are opened.
///
/// # Safety
/// `runner` does what [`Runner`] says, with `pool`, from any thread that runs kernels, until the process ends.
pub unsafe fn set_caller_pool(runner: Option<Runner>, pool: *mut c_void) {
    // It stays in memory: other threads may be using it.
    let lent = runner.map_or(null_mut(), |runner| Box::into_raw(Box::new(Lent { runner, pool })));
    LENT.store(lent, Release);
}

/// The pool that was set.
pub(super) fn pool() -> Option<&'static Lent> {
    // SAFETY: those that were set stay in memory.
    unsafe { LENT.load(Acquire).as_ref() }
}

/// A region on a lent pool.
struct Parts<'a> {
    region: &'a Region,
    extent: i64,
    /// How many iterations were run.
    done: AtomicI64,
}

impl Lent {
    pub(super) fn run(&self, region: Region, extent: i64, grain: i64) -> Result<(), Error> {
        let parts = Parts { region: &region, extent, done: AtomicI64::new(0) };
        // SAFETY: `set_caller_pool`'s caller promised it; `part` is for these parts.
        unsafe { (self.runner)(self.pool, part, (&raw const parts).cast_mut().cast(), extent, grain) };
        let done = parts.done.into_inner();
        region.outcome()?;
        if done == extent {
            return Ok(());
        }
        let message = format!("the caller's pool ran {done} of {extent} iterations of a parallel loop");
        Err(Error::new(kind::INTERNAL, message))
    }
}

unsafe extern "C" fn part(parts: *mut c_void, begin: i64, end: i64) -> i32 {
    // SAFETY: `run` passes its own, and they live until the runner returns.
    let parts = unsafe { &*parts.cast::<Parts>() };
    if begin < 0 || begin >= end || end > parts.extent {
        return if begin == end { 0 } else { -1 };
    }
    parts.done.fetch_add(end - begin, Relaxed);
    if parts.region.part(begin..end) { 0 } else { -1 }
}
