//! Types for state that threads share: std's types, or loom's in the models of concurrency (`--cfg loom`), which run
//! a program in every order that its threads' steps can take.
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

/// Loom's cell with std's interface: every access is checked against all that did not happen before it.
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

/// Loom's, for values that are constants.
#[cfg(loom)]
macro_rules! constant_local {
    (static $name:ident: $ty:ty = const $value:block;) => {
        loom::thread_local! { static $name: $ty = $value; }
    };
}
#[cfg(loom)]
pub(crate) use constant_local as thread_local;
