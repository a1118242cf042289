//! A thread's work for a program, during which it holds a slot of the pool, from its first parallel loop on.
use super::pool::leave;
use crate::memory::meter::{Account, AccountGuard};

/// A thread's work for a program. Dropping it restores the previous account and, if there was none, releases the slot.
pub(crate) struct ProgramWork(Option<AccountGuard>);

impl ProgramWork {
    /// Begins work for the program with this account.
    ///
    /// # Safety
    /// As for [`Account::enter`].
    #[must_use]
    pub(crate) unsafe fn enter(account: Account) -> ProgramWork {
        // SAFETY: as the caller promises.
        ProgramWork(unsafe { account.enter() })
    }
}

impl Drop for ProgramWork {
    fn drop(&mut self) {
        if self.0.as_ref().is_some_and(AccountGuard::is_outermost) {
            leave();
        }
    }
}
