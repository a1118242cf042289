//! Fields of tuples that were created by appending to one another.
//!
//! Each tuple of such a chain has a prefix of one growing array. An index is written once, by the tuple that ends
//! there, before that tuple exists; so readers of other tuples never see a change, and no lock is needed.
use super::{Any, drop_nested, free_list};
use std::alloc::{Layout, handle_alloc_error};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Minimum capacity of an array.
const MIN_CAPACITY: usize = 8;

/// A reference to an array of fields, which lives as long as any tuple that has a prefix of it.
pub(super) struct SharedPrefix(Arc<Array>);

struct Array {
    data: NonNull<Any>,
    capacity: usize,
    /// Number of indices that are written, or about to be. It only grows.
    len: AtomicUsize,
}

// SAFETY: each index is written once, by the thread that claimed it, before another thread knows of it.
unsafe impl Send for Array {}
// SAFETY: as above.
unsafe impl Sync for Array {}

impl SharedPrefix {
    /// A new array with copies of `fields`, then `last`.
    pub(super) fn of(fields: &[Any], last: Any) -> SharedPrefix {
        let array = Array::new((fields.len() + 1).next_power_of_two().max(MIN_CAPACITY));
        for field in fields.iter().cloned().chain([last]) {
            array.push(array.len.load(Ordering::Relaxed), field).unwrap_or_else(|_| unreachable!("it has capacity"));
        }
        SharedPrefix(Arc::new(array))
    }

    /// The array with `field` after the first `len` fields: this one, or a copy if it is full or goes on differently.
    pub(super) fn appended(&self, len: usize, field: Any) -> SharedPrefix {
        match self.0.push(len, field) {
            Ok(()) => SharedPrefix(self.0.clone()),
            // SAFETY: a tuple has the first `len` fields, so they are written.
            Err(field) => SharedPrefix::of(unsafe { std::slice::from_raw_parts(self.as_ptr(), len) }, field),
        }
    }

    /// Address of the first field.
    pub(super) fn as_ptr(&self) -> *mut Any {
        self.0.data.as_ptr()
    }
}

impl Array {
    fn new(capacity: usize) -> Array {
        let layout = layout(capacity);
        let Some(data) = NonNull::new(free_list::allocate(layout).cast()) else { handle_alloc_error(layout) };
        Array { data, capacity, len: AtomicUsize::new(0) }
    }

    /// Writes a field at index `len`; returns the field if the index is written already or beyond the capacity.
    fn push(&self, len: usize, field: Any) -> Result<(), Any> {
        let claim = || self.len.compare_exchange(len, len + 1, Ordering::Relaxed, Ordering::Relaxed);
        if len == self.capacity || claim().is_err() {
            return Err(field);
        }
        // SAFETY: the index is in the block, and nobody else has claimed it.
        unsafe { self.data.add(len).write(field) };
        Ok(())
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        let fields = 0..*self.len.get_mut();
        // SAFETY: claimed indices are written, and moved out here, once each.
        drop_nested(fields.map(|index| unsafe { self.data.add(index).read() }));
        // SAFETY: the block was allocated with this layout, and no tuple refers to it any more.
        unsafe { free_list::free(self.data.as_ptr().cast(), layout(self.capacity)) }
    }
}

fn layout(capacity: usize) -> Layout {
    Layout::array::<Any>(capacity).expect("an array of fields fits the address space")
}
