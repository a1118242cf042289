//! Parallel regions on a thread pool of the host program.
use super::Body;
use super::region::Region;
use crate::ffi::{Error, kind};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI64, AtomicPtr, Ordering::*};

/// Calls `part(region, begin, end)` on ranges that partition `0..extent`, on any threads, before it returns. Ranges of
/// fewer than `grain` iterations are not worth a thread's time. `part` returns 0, or -1 on failure; then the remaining
/// ranges may be skipped.
pub type Runner = unsafe extern "C" fn(pool: *mut c_void, part: Body, region: *mut c_void, extent: i64, grain: i64);

/// A thread pool of the host program.
pub(super) struct HostPool {
    runner: Runner,
    pool: *mut c_void,
}

/// The pool in use; null for the runtime's own.
static HOST_POOL: AtomicPtr<HostPool> = AtomicPtr::new(null_mut());

/// Runs all regions that are opened from now on through `runner`, with `pool` as its first argument; `None` restores
/// the runtime's own threads. Regions that need only one thread and nested regions run on the calling thread.
///
/// # Safety
/// `runner` conforms to [`Runner`], with `pool`, from any thread that runs kernels, until the process ends.
pub unsafe fn set_host_pool(runner: Option<Runner>, pool: *mut c_void) {
    // Never freed: other threads may be using it.
    let lent = runner.map_or(null_mut(), |runner| Box::into_raw(Box::new(HostPool { runner, pool })));
    HOST_POOL.store(lent, Release);
}

/// The pool that was set.
pub(super) fn pool() -> Option<&'static HostPool> {
    // SAFETY: pools are never freed.
    unsafe { HOST_POOL.load(Acquire).as_ref() }
}

/// A region that a host pool runs.
struct Parts<'a> {
    region: &'a Region,
    extent: i64,
    /// Number of completed iterations.
    done: AtomicI64,
}

impl HostPool {
    pub(super) fn run(&self, region: Region, extent: i64, grain: i64) -> Result<(), Error> {
        let parts = Parts { region: &region, extent, done: AtomicI64::new(0) };
        // SAFETY: `set_host_pool`'s caller promised it; `part` accepts this context.
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
    // SAFETY: `run` passes its own context, which lives until the runner returns.
    let parts = unsafe { &*parts.cast::<Parts>() };
    if begin < 0 || begin >= end || end > parts.extent {
        return if begin == end { 0 } else { -1 };
    }
    parts.done.fetch_add(end - begin, Relaxed);
    if parts.region.part(begin..end) { 0 } else { -1 }
}
