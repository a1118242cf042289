//! A region: a range of iterations under way, and who takes which part of it.
//!
//! Every thread has a *share* of the range, takes chunks of what is left of it, smaller and smaller ones, and then goes
//! on with the shares of others. So threads write to lines of their own for most of the time, iterations stay on the
//! thread that ran them the last time, whose cache has what they need, and a thread that is slow, late or does not come
//! leaves its share to the others. No result depends on it: iterations know nothing of chunks.
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

/// The most shares; further threads begin with those of others.
const SHARES: usize = if cfg!(loom) { 2 } else { 16 };
/// A chunk is what is left of a share divided by this: at the end a thread waits for no more than a part of a chunk.
const CHUNKS: i64 = 4;

thread_local! {
    static INSIDE_REGION: Cell<bool> = const { Cell::new(false) };
}

/// Returns true if this thread works on a region.
pub(super) fn is_inside() -> bool {
    INSIDE_REGION.with(Cell::get)
}

/// Works on a region.
fn within<R>(body: impl FnOnce() -> R) -> R {
    INSIDE_REGION.with(|inside| inside.set(true));
    let result = body();
    INSIDE_REGION.with(|inside| inside.set(false));
    result
}

/// A region under way; lives on the stack of the thread that opened it until it is closed and empty.
pub(super) struct Region {
    body: Body,
    context: *mut c_void,
    grain: i64,
    /// How many shares there are.
    count: usize,
    shares: [Share; SHARES],
    failed: AtomicBool,
    error: Mutex<Option<Error>>,
    /// On whose behalf the work is done.
    account: Account,
    /// How the thread that opened it computes, and so all do.
    float_state: FloatState,
}

/// Iterations that no thread has taken yet.
#[repr(align(64))]
struct Share {
    next: AtomicI64,
    end: i64,
}

impl Region {
    /// `0..extent` in chunks of at least `grain`, for so many threads.
    pub(super) fn new(body: Body, context: *mut c_void, extent: i64, grain: i64, threads: usize) -> Region {
        let count = threads.clamp(1, SHARES);
        let (each, more) = (extent / count as i64, extent % count as i64);
        let start = |share: usize| {
            let share = share.min(count) as i64;
            each * share + more.min(share)
        };
        let shares = std::array::from_fn(|n| Share { next: AtomicI64::new(start(n)), end: start(n + 1) });
        let (failed, error) = (AtomicBool::new(false), Mutex::new(None));
        let (account, float_state) = (Account::for_helpers(), FloatState::current());
        Region { body, context, grain, count, shares, failed, error, account, float_state }
    }

    /// Helps the thread that opened the region; says whether nothing is left to do.
    pub(super) fn help(&self, share: usize, leaves: impl Fn() -> bool) -> bool {
        self.on_its_behalf(|| self.work(share, leaves))
    }

    /// Runs some iterations that are in no share; says whether all is well.
    pub(super) fn part(&self, iterations: Range<i64>) -> bool {
        self.on_its_behalf(|| within(|| self.run(iterations)));
        !self.failed.load(Relaxed)
    }

    fn on_its_behalf<R>(&self, body: impl FnOnce() -> R) -> R {
        // SAFETY: who opened the region waits until it is empty, and works for the account meanwhile.
        let _account = unsafe { self.account.enter() };
        let _float_state = self.float_state.enter();
        Workspace::new().within(body)
    }

    /// Takes chunks, first those of a share, until none is left, one failed or the thread is to leave; says whether
    /// nothing is left to do.
    pub(super) fn work(&self, share: usize, leaves: impl Fn() -> bool) -> bool {
        let mut shares = (0..self.count).map(|n| &self.shares[(share + n) % self.count]);
        within(|| shares.all(|share| self.finish(share, &leaves)))
    }

    /// Takes chunks of one share; says whether nothing of it is left to do.
    fn finish(&self, share: &Share, leaves: &impl Fn() -> bool) -> bool {
        while let Some(chunk) = share.take(self.grain) {
            self.run(chunk);
            if leaves() {
                return false;
            }
        }
        true
    }

    /// Runs some iterations, if none failed before.
    fn run(&self, Range { start, end }: Range<i64>) {
        // SAFETY: whoever opened the region promised that its body may run on any part from several threads.
        if !self.failed.load(Relaxed) && unsafe { (self.body)(self.context, start, end) } != 0 {
            self.failed.store(true, Relaxed);
            let error = ffi::take_raised();
            self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    }

    /// Returns true if the thread that opened it works for a program.
    pub(super) fn is_for_a_program(&self) -> bool {
        !self.account.is_nobodys()
    }

    /// What became of it.
    pub(super) fn outcome(self) -> Result<(), Error> {
        match self.error.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

impl Share {
    /// Some of what is left.
    fn take(&self, grain: i64) -> Option<Range<i64>> {
        let mut begin = self.next.load(Relaxed);
        while begin < self.end {
            let left = self.end - begin;
            let size = (left / CHUNKS).max(grain);
            // A rest that is smaller than a chunk may be is no chunk.
            let end = if left - size < grain { self.end } else { begin + size };
            match self.next.compare_exchange(begin, end, Relaxed, Relaxed) {
                Ok(_) => return Some(begin..end),
                Err(now) => begin = now,
            }
        }
        None
    }
}
