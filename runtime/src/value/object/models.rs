//! Loom models of reference counting: an object is destroyed once, after all accesses to it.
use super::{BOTH_ONE, Cell, DELETE_WEAK, Ref, WEAK_ONE};
use crate::sync::atomic::Ordering::*;
use crate::sync::thread;
use loom::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

/// A value that is read through references, and written by its destructor or its only owner.
struct Watched {
    value: UnsafeCell<u32>,
    /// Number of destroyed values; not part of the model.
    ended: Arc<AtomicUsize>,
}

// SAFETY: no other type has this index, and loom checks the accesses to the cell.
unsafe impl Cell for Watched {
    const TYPE_INDEX: i32 = 1 << 20;
}

impl Watched {
    fn read(&self) -> u32 {
        // SAFETY: loom checks that nobody writes at the same time.
        self.value.with(|value| unsafe { *value })
    }

    fn write(&self) {
        // SAFETY: loom checks that nobody else refers to the value.
        self.value.with_mut(|value| unsafe { *value += 1 });
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.write();
        self.ended.fetch_add(1, Relaxed);
    }
}

/// A new object, and the number of destroyed objects of its type.
fn object() -> (Ref<Watched>, Arc<AtomicUsize>) {
    let ended = Arc::new(AtomicUsize::new(0));
    let cell = Watched { value: UnsafeCell::new(0), ended: ended.clone() };
    (Ref::allocate(0, |_: *mut u8| (cell, ())), ended)
}

#[test]
fn the_last_of_three_ends_it() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let (first, ended) = object();
        let others = [(); 2].map(|()| {
            let other = first.clone();
            thread::spawn(move || assert_eq!(other.read(), 0))
        });
        assert_eq!(first.clone().read(), 0);
        drop(first);
        others.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(ended.load(Relaxed), 1);
    });
}

#[test]
fn references_are_passed_on() {
    loom::model(|| {
        let (first, ended) = object();
        let thread = thread::spawn(move || {
            let second = first.clone();
            let thread = thread::spawn(move || assert_eq!(second.read(), 0));
            assert_eq!(first.read(), 0);
            drop(first);
            thread.join().unwrap();
        });
        thread.join().unwrap();
        assert_eq!(ended.load(Relaxed), 1);
    });
}

#[test]
fn an_only_owner_may_write() {
    loom::model(|| {
        let (first, ended) = object();
        let second = first.clone();
        let thread = thread::spawn(move || {
            second.read();
            drop(second);
        });
        // Lets loom explore the case in which the other thread is done.
        thread::yield_now();
        if first.is_unique() {
            first.write();
        }
        drop(first);
        thread.join().unwrap();
        assert_eq!(ended.load(Relaxed), 1);
    });
}

/// Releases a weak reference, as other runtimes do.
fn release_weak(object: std::ptr::NonNull<super::Header>) {
    // SAFETY: the reference keeps the block alive.
    let header = unsafe { object.as_ref() };
    if header.counts.fetch_sub(WEAK_ONE, Release) == WEAK_ONE {
        header.counts.load(Acquire);
        // SAFETY: the last reference of either kind is gone.
        unsafe { header.deleter.unwrap()(object.as_ptr().cast(), DELETE_WEAK) };
    }
}

#[test]
fn weak_references_keep_the_block_only() {
    loom::model(|| {
        let (first, ended) = object();
        let header = first.as_header();
        // SAFETY: the object lives.
        assert_eq!(unsafe { header.as_ref() }.counts.fetch_add(WEAK_ONE, Relaxed), BOTH_ONE);
        let address = header.as_ptr().expose_provenance();
        let thread = thread::spawn(move || {
            release_weak(std::ptr::NonNull::new(std::ptr::with_exposed_provenance_mut(address)).unwrap());
        });
        first.read();
        drop(first);
        assert_eq!(ended.load(Relaxed), 1, "weak references do not keep the contents");
        thread.join().unwrap();
    });
}
