//! Memory that a call uses in addition to its allocators' blocks: tensors that builtins create, and objects. All of it
//! counts towards the limit of the program's host memory.
//!
//! While a thread works for a program, its meter refers to the allocator of that memory, which also provides the
//! scratch memory of kernels ([`super::workspace`]). Tensors are counted exactly, before they are allocated
//! ([`reserve`]). Objects are too many and too small for that: a thread counts the memory that it takes from the system
//! for them and returns, reserves budget from the allocator in fixed increments, and interrupts the call when there is
//! none. Objects count until the call is over; then they belong to the caller.
use super::allocator::{Allocator, Reservation};
use super::workspace::Workspace;
use crate::ffi::Error;
use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::ptr::null;
use std::sync::atomic::{AtomicU8, Ordering};

/// Value of a call's flag if objects that the call created exceed its memory limit.
pub(crate) const EXHAUSTED: u8 = 3;

/// Budget for objects that a thread starts with, and the increment in which it reserves more.
const STEP: isize = 256 << 10;

/// The program for which a thread works. Valid during that work only.
#[derive(Clone, Copy)]
pub(crate) struct Account {
    allocator: *const Allocator,
    /// Interrupts the call.
    flag: *const AtomicU8,
    /// True if the thread is a worker in another thread's parallel loop.
    is_worker: bool,
}

/// No program.
const NO_PROGRAM: Account = Account { allocator: null(), flag: null(), is_worker: false };

struct Meter {
    account: Cell<Account>,
    /// Bytes of objects that this thread has allocated from the system and not freed.
    taken: Cell<isize>,
    /// Value of `taken` at which it has to reserve more.
    allowed: Cell<isize>,
    /// Bytes that are reserved for the current call.
    charged: Cell<usize>,
    /// The current stack of scratch memory; null for the thread's own.
    workspace: Cell<*const Workspace>,
    /// The thread's own stack, empty whenever no kernel runs.
    own_workspace: ManuallyDrop<Workspace>,
}

thread_local! {
    static METER: Meter = const {
        Meter {
            account: Cell::new(NO_PROGRAM),
            taken: Cell::new(0),
            allowed: Cell::new(isize::MAX),
            charged: Cell::new(0),
            workspace: Cell::new(null()),
            own_workspace: ManuallyDrop::new(Workspace::new()),
        }
    };
}

impl Account {
    /// The account of a call that `flag` interrupts and whose host memory comes from `allocator`.
    pub(crate) fn new(allocator: &Allocator, flag: &AtomicU8) -> Account {
        Account { allocator, flag, is_worker: false }
    }

    /// The current thread's account.
    pub(crate) fn current() -> Account {
        METER.with(|meter| meter.account.get())
    }

    /// The account for workers of this thread's parallel loops.
    pub(crate) fn for_workers() -> Account {
        Account { is_worker: true, ..Account::current() }
    }

    /// Returns true if there is no program.
    pub(crate) fn is_none(self) -> bool {
        self.allocator.is_null()
    }

    pub(super) fn is_worker(self) -> bool {
        self.is_worker
    }

    /// The allocator; `None` if there is no program.
    ///
    /// # Safety
    /// The result is only used during that work.
    pub(super) unsafe fn allocator<'a>(self) -> Option<&'a Allocator> {
        // SAFETY: allocators outlive the work for them.
        unsafe { self.allocator.as_ref() }
    }

    /// Sets the thread's account until the result is dropped.
    ///
    /// # Safety
    /// The allocator and the flag live until then, and results are dropped on this thread in reverse order.
    #[must_use]
    pub(crate) unsafe fn enter(self) -> Option<AccountGuard> {
        METER.with(|meter| {
            if std::ptr::eq(meter.account.get().allocator, self.allocator) {
                return None;
            }
            Some(AccountGuard {
                account: meter.account.replace(self),
                allowed: meter.allowed.replace(meter.taken.get().saturating_add(STEP)),
                charged: meter.charged.replace(0),
                workspace: meter.workspace.replace(null()),
            })
        })
    }
}

/// The meter's previous state, which dropping restores.
pub(crate) struct AccountGuard {
    account: Account,
    allowed: isize,
    charged: usize,
    workspace: *const Workspace,
}

impl AccountGuard {
    /// Returns true if the thread worked for no program before.
    pub(crate) fn is_outermost(&self) -> bool {
        self.account.is_none()
    }
}

impl Drop for AccountGuard {
    fn drop(&mut self) {
        METER.with(|meter| {
            let charged = meter.charged.replace(self.charged);
            meter.allowed.set(self.allowed);
            meter.workspace.set(self.workspace);
            // SAFETY: `enter` set the current account.
            if let Some(allocator) = unsafe { meter.account.replace(self.account).allocator.as_ref() } {
                allocator.discharge(charged);
            }
        });
    }
}

/// Charges memory that is about to be allocated until the reservation is dropped; `None` if this thread works for no
/// program.
///
/// # Errors
/// If that exceeds the program's limit.
pub fn reserve(bytes: usize) -> Result<Option<Reservation>, Error> {
    // SAFETY: only used during the work.
    unsafe { Account::current().allocator() }.map(|allocator| allocator.reserve(bytes)).transpose()
}

/// Charges for an object that grows: its memory counts towards the limit of the program that grows it.
#[derive(Default)]
pub(crate) struct GrowingReservation {
    bytes: usize,
    /// Few: each is at least half of the sum of those before.
    reservations: Vec<Reservation>,
}

impl GrowingReservation {
    /// Charges the object with this size, unless it is charged with a larger one.
    pub(crate) fn cover(&mut self, bytes: usize) -> Result<(), Error> {
        if bytes > self.bytes {
            let more = (bytes - self.bytes).max(self.bytes / 2);
            self.reservations.extend(reserve(more)?);
            self.bytes += more;
        }
        Ok(())
    }
}

/// Passes the thread's current stack of scratch memory, if one is set, and its own stack to `f`.
#[inline]
pub(super) fn workspace<R>(f: impl FnOnce(&Cell<*const Workspace>, &Workspace) -> R) -> R {
    METER.with(|meter| f(&meter.workspace, &meter.own_workspace))
}

/// Counts memory allocated for an object.
#[inline]
pub(crate) fn count_alloc(bytes: usize) {
    METER.with(|meter| {
        let taken = meter.taken.get() + bytes as isize;
        meter.taken.set(taken);
        if taken > meter.allowed.get() {
            meter.reserve_more(taken);
        }
    });
}

/// Counts freed memory of an object.
#[inline]
pub(crate) fn count_free(bytes: usize) {
    METER.with(|meter| meter.taken.set(meter.taken.get() - bytes as isize));
}

impl Meter {
    /// Reserves budget for the memory in use and one more step. If there is none, interrupts the call, which may
    /// continue until it polls.
    #[cold]
    fn reserve_more(&self, taken: isize) {
        let Account { allocator, flag, .. } = self.account.get();
        let more = taken - self.allowed.get() + STEP;
        // SAFETY: allocator and flag outlive the work for them.
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
        // SAFETY: allocator and flag outlive the accounts, which are left in reverse order.
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
        // SAFETY: allocator and flag outlive the account.
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
