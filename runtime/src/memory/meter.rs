//! Memory that a call uses beyond its allocators' blocks: tensors that builtins make, and objects. All of it counts
//! towards the limit of the program's host memory.
//!
//! While a thread works for a program, its meter knows the allocator of that memory, from which the scratch memory of
//! kernels comes as well ([`super::workspace`]). Tensors are counted exactly, before they are allocated ([`reserve`]). Objects are too many and too small for that: a thread counts
//! the memory that it takes from the system for them and returns, reserves more room from the allocator in steps, and
//! tells the call to stop when there is none. Objects count until the call is over; after that they are the caller's.
use super::allocator::{Allocator, AllocatorKind, Reservation};
use super::workspace::Workspace;
use crate::ffi::Error;
use crate::parallel;
use crate::value::Device;
use crate::vm::EXHAUSTED;
use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::ptr::null;
use std::sync::atomic::{AtomicU8, Ordering};

/// Bytes of objects that a thread takes before it asks, and gets when it asks.
const STEP: isize = 256 << 10;

/// On whose behalf a thread works. Valid while the work that it was started for goes on.
#[derive(Clone, Copy)]
pub(crate) struct Account {
    allocator: *const Allocator,
    /// What stops the call.
    flag: *const AtomicU8,
    /// Does the thread help another with a parallel loop?
    is_helper: bool,
}

/// Nobody's.
const NOBODY: Account = Account { allocator: null(), flag: null(), is_helper: false };

struct Meter {
    account: Cell<Account>,
    /// Bytes of objects that this thread took from the system and did not give back.
    taken: Cell<isize>,
    /// How many it may have taken before it asks.
    allowed: Cell<isize>,
    /// How many it was given for the call under way.
    charged: Cell<usize>,
    /// The stack of scratch memory that kernels work on; null for the thread's own.
    workspace: Cell<*const Workspace>,
    /// Empty whenever no kernel runs.
    own_workspace: ManuallyDrop<Workspace>,
}

thread_local! {
    static METER: Meter = const {
        Meter {
            account: Cell::new(NOBODY),
            taken: Cell::new(0),
            allowed: Cell::new(isize::MAX),
            charged: Cell::new(0),
            workspace: Cell::new(null()),
            own_workspace: ManuallyDrop::new(Workspace::new()),
        }
    };
}

impl Account {
    /// Of a call that `flag` stops and whose host memory comes from `allocator`.
    pub(crate) fn new(allocator: &Allocator, flag: &AtomicU8) -> Account {
        Account { allocator, flag, is_helper: false }
    }

    /// The one that this thread works for.
    pub(crate) fn current() -> Account {
        METER.with(|meter| meter.account.get())
    }

    /// The same for threads that help this one.
    pub(crate) fn for_helpers() -> Account {
        Account { is_helper: true, ..Account::current() }
    }

    /// Is no program's work done?
    pub(crate) fn is_nobodys(self) -> bool {
        self.allocator.is_null()
    }

    pub(super) fn is_helper(self) -> bool {
        self.is_helper
    }

    /// Where the memory comes from; none if nobody's work is done.
    ///
    /// # Safety
    /// The result is used during that work only.
    pub(super) unsafe fn allocator<'a>(self) -> Option<&'a Allocator> {
        // SAFETY: allocators live as long as the work for them.
        unsafe { self.allocator.as_ref() }
    }

    /// Makes this thread work for the account until the result is dropped.
    ///
    /// # Safety
    /// The allocator and the flag live until then, and the result is dropped on this thread before those made earlier.
    #[must_use]
    pub(crate) unsafe fn enter(self) -> Option<Outer> {
        METER.with(|meter| {
            if std::ptr::eq(meter.account.get().allocator, self.allocator) {
                return None;
            }
            Some(Outer {
                account: meter.account.replace(self),
                allowed: meter.allowed.replace(meter.taken.get().saturating_add(STEP)),
                charged: meter.charged.replace(0),
                workspace: meter.workspace.replace(null()),
            })
        })
    }
}

/// What the meter goes back to.
pub(crate) struct Outer {
    account: Account,
    allowed: isize,
    charged: usize,
    workspace: *const Workspace,
}

impl Drop for Outer {
    fn drop(&mut self) {
        METER.with(|meter| {
            let charged = meter.charged.replace(self.charged);
            meter.allowed.set(self.allowed);
            meter.workspace.set(self.workspace);
            if self.account.is_nobodys() {
                parallel::leave();
            }
            // SAFETY: the account is still that of `enter`.
            if let Some(allocator) = unsafe { meter.account.replace(self.account).allocator.as_ref() } {
                allocator.discharge(charged);
            }
        });
    }
}

/// Runs work that no program does; host memory that this thread takes for tensors meanwhile counts towards a limit of its own.
///
/// # Errors
/// When there is no device for the host.
pub fn within_limit<R>(limit: usize, work: impl FnOnce() -> R) -> Result<R, Error> {
    let allocator = Allocator::new(Device::CPU, AllocatorKind::Naive, limit)?;
    let flag = AtomicU8::default();
    // SAFETY: allocator and flag live until the work is done; accounts that it enters are left before.
    let _account = unsafe { Account::new(&allocator, &flag).enter() };
    Ok(work())
}

/// Counts memory that is about to be taken, as long as the reservation lives; nothing where no program is at work on
/// this thread.
///
/// # Errors
/// When the program may not take so much.
pub fn reserve(bytes: usize) -> Result<Option<Reservation>, Error> {
    // SAFETY: the work goes on.
    unsafe { Account::current().allocator() }.map(|allocator| allocator.reserve(bytes)).transpose()
}

/// Memory of an object that grows with what programs ask of it, counted towards the limits of those at work when it does.
#[derive(Default)]
pub(crate) struct Growth {
    bytes: usize,
    /// Few: each is at least half of those before it together.
    reservations: Vec<Reservation>,
}

impl Growth {
    /// Counts the object as one of so many bytes, unless it is counted as a larger one.
    pub(crate) fn cover(&mut self, bytes: usize) -> Result<(), Error> {
        if bytes > self.bytes {
            let more = (bytes - self.bytes).max(self.bytes / 2);
            self.reservations.extend(reserve(more)?);
            self.bytes += more;
        }
        Ok(())
    }
}

/// Gives `f` this thread's stack of scratch memory, if one is set, and its own.
#[inline]
pub(super) fn workspace<R>(f: impl FnOnce(&Cell<*const Workspace>, &Workspace) -> R) -> R {
    METER.with(|meter| f(&meter.workspace, &meter.own_workspace))
}

/// Counts memory that was taken for an object.
#[inline]
pub(crate) fn take(bytes: usize) {
    METER.with(|meter| {
        let taken = meter.taken.get() + bytes as isize;
        meter.taken.set(taken);
        if taken > meter.allowed.get() {
            meter.ask(taken);
        }
    });
}

/// Counts memory of an object that was given back.
#[inline]
pub(crate) fn give(bytes: usize) {
    METER.with(|meter| meter.taken.set(meter.taken.get() - bytes as isize));
}

impl Meter {
    /// Asks for room for what was taken and one step more. Without, the call is told to stop, and may go on until then.
    #[cold]
    fn ask(&self, taken: isize) {
        let Account { allocator, flag, .. } = self.account.get();
        let more = taken - self.allowed.get() + STEP;
        // SAFETY: allocator and flag live as long as the work for them.
        let Some((allocator, flag)) = (unsafe { allocator.as_ref().zip(flag.as_ref()) }) else { return };
        if allocator.charge(more as usize) {
            self.charged.set(self.charged.get() + more as usize);
            self.allowed.set(self.allowed.get() + more);
        } else {
            flag.store(EXHAUSTED, Ordering::Relaxed);
            self.allowed.set(isize::MAX);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::AllocatorKind;
    use crate::value::{Any, Device, Tuple};

    #[test]
    fn objects_count_while_a_call_runs() {
        let allocator = Allocator::new(Device::CPU, AllocatorKind::Pooled, 4 << 20).unwrap();
        let flag = AtomicU8::new(0);
        let list = |count: usize| (0..count).fold(Any::NONE, |list, _| Tuple::new([list].into_iter()).into());
        let account = Account::new(&allocator, &flag);
        // SAFETY: allocator and flag outlive what is entered, one thing after the other.
        let enter = || unsafe { account.enter() };
        let call = enter();
        let kept = list(20_000);
        drop(call);
        assert!(allocator.alloc((4 << 20) - 4096).is_ok(), "what the call returned is its caller's");
        let call = enter();
        let more = list(20_000);
        assert!(allocator.alloc((4 << 20) - 4096).is_err(), "what it holds counts");
        drop(call);
        assert_eq!(flag.load(Ordering::Relaxed), 0);
        let call = enter();
        drop(list(200_000));
        drop(call);
        assert_eq!(flag.load(Ordering::Relaxed), EXHAUSTED);
        drop((kept, more));
    }

    #[test]
    fn memory_of_tensors_counts_as_long_as_they_live() {
        use crate::value::{DType, Tensor};
        let allocator = Allocator::new(Device::CPU, AllocatorKind::Pooled, 10_000).unwrap();
        let flag = AtomicU8::new(0);
        let tensor = || Tensor::empty(DType::INT8, &[6000], Device::CPU);
        // SAFETY: allocator and flag outlive what is entered.
        let call = unsafe { Account::new(&allocator, &flag).enter() };
        let (first, second) = (tensor(), tensor());
        drop(call);
        let error = second.unwrap_err().to_string();
        assert_eq!(error, "6000 bytes on cpu:0 would exceed the limit of 10000 (6000 are in use)");
        assert!(allocator.alloc(6000).is_err());
        assert!(first.unwrap().as_bytes_mut().is_ok());
        assert!(allocator.alloc(6000).is_ok());
        assert!(tensor().is_ok(), "no program is at work");
    }
}
