//! Tuples: sequences of values, tvm-ffi's `Array`. They do not change, except that fields can be emptied.
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

// SAFETY: tvm-ffi fixes this layout for index 71; `Tuple::take` alone writes to arrays that are shared, and leaves it to
// its callers that nobody reads them meanwhile.
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

    /// Empties field `position`, if there is one, for all who have the tuple; gives what it held.
    ///
    /// # Safety
    /// Nobody has a reference to the field or looks at it meanwhile, on this thread or another.
    pub unsafe fn take(&self, position: usize) -> Option<Any> {
        // SAFETY: the field is one of those that the cell describes, and it is the caller's alone.
        (position < self.len()).then(|| unsafe { self.0.data.add(position).replace(Any::NONE) })
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
        let copy = tuple.clone();
        drop(tuple);
        assert_eq!((copy[0].get(), copy[1].as_str(), copy.len()), (Some(1i64), Some("a long enough string"), 3));
    }

    #[test]
    fn a_field_is_emptied_for_all_who_have_the_tuple() {
        let held: Any = Tuple::new([].into_iter()).into();
        let tuple = Tuple::new([held.clone(), Any::from(2i64)].into_iter());
        let other = tuple.clone();
        // SAFETY: nobody else looks at the tuple.
        let taken = unsafe { [tuple.take(0), tuple.take(0), tuple.take(2)] };
        assert_eq!(taken.map(|field| field.map(|field| field.address())), [Some(held.address()), Some(None), None]);
        assert!(other[0].is_none() && other[1].get() == Some(2i64));
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
