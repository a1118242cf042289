//! A lock for very short critical sections: locking costs one atomic operation, or none while the process has a single
//! thread; unlocking costs none.
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{UnsafeCell, is_only_thread, thread::yield_now};
use std::hint::spin_loop;
use std::ops::{Deref, DerefMut};

/// Number of spins of a waiting thread before it yields.
const SPINS: u32 = if cfg!(loom) { 1 } else { 100 };

/// A value that one thread at a time may use, for a few instructions.
#[derive(Default)]
pub(super) struct Lock<T> {
    held: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the value is only reached through guards, and only one guard exists at a time.
unsafe impl<T: Send> Sync for Lock<T> {}

/// Exclusive access to the value.
pub(super) struct Guard<'a, T>(&'a Lock<T>);

impl<T> Lock<T> {
    pub(super) fn new(value: T) -> Lock<T> {
        Lock { held: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    /// Spins until the lock is free, then takes it.
    #[inline]
    pub(super) fn lock(&self) -> Guard<'_, T> {
        let is_free = match is_only_thread() {
            true => !self.held.load(Ordering::Relaxed),
            false => self.take(),
        };
        if !is_free {
            self.wait();
        }
        self.held.store(true, Ordering::Relaxed);
        Guard(self)
    }

    /// Tries to take the lock.
    #[inline]
    fn take(&self) -> bool {
        self.held.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[cold]
    fn wait(&self) {
        let mut spins = 0;
        while self.held.load(Ordering::Relaxed) || !self.take() {
            spins += 1;
            if spins < SPINS { spin_loop() } else { yield_now() }
        }
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard is the only one.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard is the only one.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.0.held.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_at_a_time() {
        const ROUNDS: u32 = if cfg!(miri) { 10 } else { 1000 };
        let count = Lock::new(0u32);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..ROUNDS).for_each(|_| *count.lock() += 1));
            }
        });
        assert_eq!(*count.lock(), 4 * ROUNDS);
    }
}
