//! A region: a range of iterations, and its distribution over threads.
//!
//! Every thread has a *share* of the range and takes chunks of decreasing size from it (guided scheduling); then it
//! steals chunks from other shares. So threads mostly write to cache lines of their own, iterations stay on the thread
//! that ran them the last time, whose cache has their data, and a thread that is slow, late or absent leaves its share
//! to others. Results do not depend on it: iterations know nothing of chunks.
use super::Body;
use crate::ffi::{self, Error};
use crate::float_state::FloatState;
use crate::memory::meter::Account;
use crate::memory::workspace::Workspace;
use crate::sync::atomic::{AtomicBool, AtomicI64, Ordering::*};
use crate::sync::{Mutex, thread_local};
use std::cell::Cell;
use std::ffi::c_void;
use std::ops::Range;
use std::sync::PoisonError;

/// Maximum number of shares; further threads only steal.
const SHARES: usize = if cfg!(loom) { 2 } else { 16 };
/// Divisor of a share's remaining iterations that gives the chunk size, so that threads wait for little work at the
/// end.
const CHUNKS: i64 = 4;

thread_local! {
    static INSIDE_REGION: Cell<bool> = const { Cell::new(false) };
}

/// Returns true if this thread works on a region.
pub(super) fn is_inside() -> bool {
    INSIDE_REGION.with(Cell::get)
}

/// Marks this thread as working on a region while `body` runs.
fn within<R>(body: impl FnOnce() -> R) -> R {
    INSIDE_REGION.with(|inside| inside.set(true));
    let result = body();
    INSIDE_REGION.with(|inside| inside.set(false));
    result
}

/// An open region; lives on the stack of the thread that opened it until it is closed and empty.
pub(super) struct Region {
    body: Body,
    context: *mut c_void,
    grain: i64,
    /// Number of shares.
    count: usize,
    shares: [Share; SHARES],
    failed: AtomicBool,
    error: Mutex<Option<Error>>,
    /// The program for which the region runs.
    account: Account,
    /// Floating-point state of the thread that opened it, for all threads.
    float_state: FloatState,
}

/// Remaining iterations of a share.
#[repr(align(64))]
struct Share {
    next: AtomicI64,
    end: i64,
}

impl Region {
    /// A region over `0..extent` in chunks of at least `grain`, for `threads` threads.
    pub(super) fn new(body: Body, context: *mut c_void, extent: i64, grain: i64, threads: usize) -> Region {
        let count = threads.clamp(1, SHARES);
        let (each, more) = (extent / count as i64, extent % count as i64);
        let start = |share: usize| {
            let share = share.min(count) as i64;
            each * share + more.min(share)
        };
        let shares = std::array::from_fn(|n| Share { next: AtomicI64::new(start(n)), end: start(n + 1) });
        let (failed, error) = (AtomicBool::new(false), Mutex::new(None));
        let (account, float_state) = (Account::for_workers(), FloatState::current());
        Region { body, context, grain, count, shares, failed, error, account, float_state }
    }

    /// Works on the region as a worker; returns true if no iterations are left.
    pub(super) fn help(&self, share: usize, leaves: impl Fn() -> bool) -> bool {
        self.on_its_behalf(|| self.work(share, leaves))
    }

    /// Runs iterations that belong to no share; returns true on success.
    pub(super) fn part(&self, iterations: Range<i64>) -> bool {
        self.on_its_behalf(|| within(|| self.run(iterations)));
        !self.failed.load(Relaxed)
    }

    fn on_its_behalf<R>(&self, body: impl FnOnce() -> R) -> R {
        // SAFETY: the thread that opened the region waits until it is empty, and works for the account during that
        // time.
        let _account = unsafe { self.account.enter() };
        let _float_state = self.float_state.enter();
        Workspace::new().within(body)
    }

    /// Takes chunks, first from one share, until none is left, one failed, or the thread has to leave; returns true if
    /// no iterations are left.
    pub(super) fn work(&self, share: usize, leaves: impl Fn() -> bool) -> bool {
        let mut shares = (0..self.count).map(|n| &self.shares[(share + n) % self.count]);
        within(|| shares.all(|share| self.finish(share, &leaves)))
    }

    /// Takes chunks of one share; returns true if none of its iterations are left.
    fn finish(&self, share: &Share, leaves: &impl Fn() -> bool) -> bool {
        while let Some(chunk) = share.take(self.grain) {
            self.run(chunk);
            if leaves() {
                return false;
            }
        }
        true
    }

    /// Runs some iterations, unless some failed before.
    fn run(&self, Range { start, end }: Range<i64>) {
        // SAFETY: the opener promised that the body may run on any range from several threads.
        if !self.failed.load(Relaxed) && unsafe { (self.body)(self.context, start, end) } != 0 {
            self.failed.store(true, Relaxed);
            let error = ffi::take_raised();
            self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    }

    /// Returns true if the thread that opened it works for a program.
    pub(super) fn is_for_a_program(&self) -> bool {
        !self.account.is_none()
    }

    /// Result of the region.
    pub(super) fn outcome(self) -> Result<(), Error> {
        match self.error.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

impl Share {
    /// Takes some of the remaining iterations.
    fn take(&self, grain: i64) -> Option<Range<i64>> {
        let mut begin = self.next.load(Relaxed);
        while begin < self.end {
            let left = self.end - begin;
            let size = (left / CHUNKS).max(grain);
            // A remainder below the minimum chunk size joins the last chunk.
            let end = if left - size < grain { self.end } else { begin + size };
            match self.next.compare_exchange(begin, end, Relaxed, Relaxed) {
                Ok(_) => return Some(begin..end),
                Err(now) => begin = now,
            }
        }
        None
    }
}
