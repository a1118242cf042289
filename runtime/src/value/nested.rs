//! Dropping of nested values without recursion.
//!
//! Chains of values (a closure that holds a closure, …) can be as long as memory allows; the native stack is smaller.
//! So every container of arbitrary values drops them with [`drop_nested`], or as [`Nested`].
use super::Any;
use std::any::Any as RustAny;
use std::cell::{Cell, RefCell};
use std::mem::{ManuallyDrop, needs_drop};
use std::ops::Deref;

/// Maximum depth of nested drops; the rest is dropped iteratively.
const MAX_DEPTH: u32 = 64;

/// A deferred drop.
enum Pending {
    Value(Any),
    Other(Box<dyn RustAny>),
}

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static PENDING: RefCell<Vec<Pending>> = const { RefCell::new(Vec::new()) };
}

/// Drops the contents of a value or, at a great depth, defers the drop.
pub(crate) fn drop_nested(values: impl Iterator<Item = Any>) {
    if DEPTH.get() < MAX_DEPTH {
        return nested_drop(|| values.for_each(drop));
    }
    // Without the list, while a thread exits, leaking the rest of a deep chain is the safe choice.
    let values = values.filter(Any::is_object).map(Pending::Value);
    let _ = PENDING.try_with(|pending| pending.borrow_mut().extend(values));
}

/// Runs drops one level nested_drop.
fn nested_drop(drops: impl FnOnce()) {
    let depth = DEPTH.get();
    DEPTH.set(depth + 1);
    drops();
    if depth == 0 {
        drop_pending();
    }
    DEPTH.set(depth);
}

fn drop_pending() {
    while let Ok(Some(next)) = PENDING.try_with(|pending| pending.borrow_mut().pop()) {
        match next {
            Pending::Value(value) => drop(value),
            Pending::Other(other) => drop(other),
        }
    }
}

/// Defers a drop; without the list, while a thread exits, the value is leaked.
#[cold]
fn defer(other: Box<dyn RustAny>) {
    let mut pending = Some(Pending::Other(other));
    if PENDING.try_with(|list| list.borrow_mut().extend(pending.take())).is_err() {
        std::mem::forget(pending);
    }
}

/// A container of arbitrary values whose drop may be deferred.
#[repr(transparent)]
pub(crate) struct Nested<T: 'static>(ManuallyDrop<T>);

impl<T: 'static> Nested<T> {
    pub(crate) const fn new(value: T) -> Nested<T> {
        Nested(ManuallyDrop::new(value))
    }
}

impl<T: 'static> Deref for Nested<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: 'static> Drop for Nested<T> {
    fn drop(&mut self) {
        if !needs_drop::<T>() {
            return;
        }
        // SAFETY: only this takes the value, and it runs once.
        let value = unsafe { ManuallyDrop::take(&mut self.0) };
        if DEPTH.get() < MAX_DEPTH { nested_drop(|| drop(value)) } else { defer(Box::new(value)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{Closure, Function, Opaque, Tensor, Tuple};

    const LEVELS: usize = if cfg!(miri) { 300 } else { 200_000 };

    /// Every kind of value that can contain arbitrary values.
    #[test]
    fn chains_of_any_length_are_dropped() {
        let kinds: [fn(Any) -> Any; 5] = [
            |value| Function::new(move |_| Ok(value.clone())).into(),
            |value| Opaque::new(value).into(),
            |value| Tuple::from_iter([value]).into(),
            |value| Closure::new(0, 0, vec![value]).into(),
            |value| crate::Adt::new(0, [value].into_iter()).into(),
        ];
        for kind in kinds {
            drop((0..LEVELS).fold(Any::NONE, |value, _| kind(value)));
        }
        drop((0..LEVELS).fold(Any::NONE, |value, i| kinds[i % kinds.len()](value)));
    }

    #[test]
    fn chains_of_loans_are_dropped() {
        let mut tensor = Tensor::from_slice(&[2], &[1i32, 2]).unwrap();
        for _ in 0..LEVELS {
            // SAFETY: the DLPack tensor was created for this.
            tensor = unsafe { Tensor::from_dlpack(tensor.to_dlpack().unwrap().as_ptr()) }.unwrap();
        }
        assert_eq!(tensor.as_slice::<i32>().unwrap(), [1, 2]);
    }

    #[test]
    fn deferred_values_are_dropped() {
        let last = std::sync::Arc::new(());
        let first = Any::from(Opaque::new(last.clone()));
        drop((0..1000).fold(first, |value, _| Opaque::new(value).into()));
        assert_eq!(std::sync::Arc::strong_count(&last), 1);
    }
}
