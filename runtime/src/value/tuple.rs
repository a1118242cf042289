//! Tuples: immutable sequences of values, tvm-ffi's `Array`.
use super::object::{Cell, Ref};
use super::{Any, drop_nested, index};
use std::ffi::c_void;
use std::fmt;
use std::ops::Deref;

/// tvm-ffi's sequence cell.
#[repr(C)]
pub struct SeqCell {
    data: *mut Any,
    len: i64,
    capacity: i64,
    data_deleter: Option<unsafe extern "C" fn(*mut c_void)>,
}

// SAFETY: tvm-ffi fixes this layout for index 71; arrays are not written while shared.
unsafe impl Cell for SeqCell {
    const TYPE_INDEX: i32 = index::ARRAY;
}

/// Values that lie behind an object's cell; drops them with it.
pub(super) struct Items {
    data: *mut Any,
    len: usize,
}

impl Items {
    /// Writes values to `data`, where there must be room for as many as the iterator says it has.
    pub(super) fn write(data: *mut Any, values: impl ExactSizeIterator<Item = Any>) -> Items {
        let (room, mut len) = (values.len(), 0);
        for value in values.take(room) {
            // SAFETY: `len` is below the number of values there is room for.
            unsafe { data.add(len).write(value) };
            len += 1;
        }
        Items { data, len }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }
}

impl Drop for Items {
    fn drop(&mut self) {
        // SAFETY: the items were written on construction and are moved out here, once each.
        drop_nested((0..self.len).map(|i| unsafe { self.data.add(i).read() }));
    }
}

/// A tuple value. Cheap to clone; dereferences to its fields.
#[derive(Clone)]
#[repr(transparent)]
pub struct Tuple(pub(super) Ref<SeqCell>);

impl Tuple {
    /// A tuple of the given fields.
    pub fn new(fields: impl ExactSizeIterator<Item = Any>) -> Tuple {
        let capacity = fields.len();
        Tuple(Ref::allocate::<Items, Any>(capacity, |data| {
            let items = Items::write(data, fields);
            let cell = SeqCell { data, len: items.len() as i64, capacity: capacity as i64, data_deleter: None };
            (cell, items)
        }))
    }

    /// The fields.
    pub fn as_slice(&self) -> &[Any] {
        if self.0.len <= 0 {
            return &[];
        }
        // SAFETY: the cell describes values that live and stay as they are while the object is shared.
        unsafe { std::slice::from_raw_parts(self.0.data, self.0.len as usize) }
    }

    /// The same tuple with field `position` emptied.
    pub fn without(&self, position: usize) -> Tuple {
        let keep = |(i, field): (usize, &Any)| if i == position { Any::NONE } else { field.clone() };
        Tuple::new(self.iter().enumerate().map(keep))
    }
}

impl Deref for Tuple {
    type Target = [Any];

    fn deref(&self) -> &[Any] {
        self.as_slice()
    }
}

impl FromIterator<Any> for Tuple {
    fn from_iter<I: IntoIterator<Item = Any>>(fields: I) -> Tuple {
        Tuple::new(fields.into_iter().collect::<Vec<_>>().into_iter())
    }
}

impl fmt::Debug for Tuple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Closure;

    #[test]
    fn holds_fields_of_any_kind() {
        let tuple: Tuple = [Any::from(1i64), Any::from("a long enough string"), Any::NONE].into_iter().collect();
        let copy = tuple.without(0);
        drop(tuple);
        assert!(copy[0].is_none());
        assert_eq!(copy[1].as_str(), Some("a long enough string"));
        assert_eq!(copy.len(), 3);
    }

    #[test]
    fn drops_long_chains_without_recursion() {
        let mut chain = Any::NONE;
        for _ in 0..if cfg!(miri) { 300 } else { 200_000 } {
            chain = Tuple::new([chain].into_iter()).into();
            chain = Closure::new(0, 0, vec![chain]).into();
        }
    }
}
