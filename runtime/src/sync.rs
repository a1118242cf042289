//! Synchronization types: std's, or loom's in models of concurrency (`--cfg loom`), which explore every interleaving of
//! a program's threads.
#[cfg(not(loom))]
pub(crate) use std::{
    cell::UnsafeCell,
    sync::{Mutex, atomic},
    thread, thread_local,
};

#[cfg(loom)]
pub(crate) use loom::{
    sync::{Mutex, atomic},
    thread,
};

/// Loom's cell with std's interface: accesses without a happens-before order are errors.
#[cfg(loom)]
#[derive(Default)]
pub(crate) struct UnsafeCell<T>(loom::cell::UnsafeCell<T>);

#[cfg(loom)]
impl<T> UnsafeCell<T> {
    pub(crate) fn new(value: T) -> UnsafeCell<T> {
        UnsafeCell(loom::cell::UnsafeCell::new(value))
    }

    pub(crate) fn get(&self) -> *mut T {
        self.0.with_mut(|value| value)
    }
}

/// Loom's version, for constant initial values.
#[cfg(loom)]
macro_rules! constant_local {
    (static $name:ident: $ty:ty = const $value:block;) => {
        loom::thread_local! { static $name: $ty = $value; }
    };
}
#[cfg(loom)]
pub(crate) use constant_local as thread_local;

/// Returns true if this is the process's only thread. Then plain loads and stores are sufficient, and several times as
/// fast as atomic operations. A new thread sees everything that its creator wrote.
#[inline(always)]
pub(crate) fn is_only_thread() -> bool {
    #[cfg(all(target_os = "linux", target_env = "gnu", not(any(miri, loom))))]
    {
        unsafe extern "C" {
            /// glibc's: nonzero while the process has one thread.
            static __libc_single_threaded: std::sync::atomic::AtomicU8;
        }
        // SAFETY: glibc defines it as a byte, which only it writes.
        unsafe { __libc_single_threaded.load(atomic::Ordering::Relaxed) != 0 }
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu", not(any(miri, loom)))))]
    false
}
