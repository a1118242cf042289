//! Tuples: tvm-ffi's `Array`. They are immutable, except that fields can be taken.
use super::appended::SharedPrefix;
use super::object::{Cell, Ref};
use super::{Any, drop_nested, index};
use std::ffi::c_void;
use std::fmt;
use std::ops::Deref;

/// Maximum number of parts of a value, tuples and their fields, that are named, shown or copied individually.
pub(crate) const MAX_PARTS: usize = 1 << 20;

/// tvm-ffi's sequence cell.
#[repr(C)]
pub struct SeqCell {
    data: *mut Any,
    len: i64,
    capacity: i64,
    data_deleter: Option<unsafe extern "C" fn(*mut c_void)>,
}

// SAFETY: tvm-ffi fixes this layout for index 71; only `Tuple::take` writes to shared arrays, and its callers ensure
// that nobody reads them at the same time.
unsafe impl Cell for SeqCell {
    const TYPE_INDEX: i32 = index::ARRAY;
}

/// Values that follow an object's cell and are dropped with it.
pub(super) struct Items {
    data: *mut Any,
    len: usize,
}

impl Items {
    /// Writes values to `data`, which must have space for all of them.
    pub(super) fn write(data: *mut Any, values: impl ExactSizeIterator<Item = Any>) -> Items {
        let (room, mut len) = (values.len(), 0);
        for value in values.take(room) {
            // SAFETY: `len` is less than the number of values that fit.
            unsafe { data.add(len).write(value) };
            len += 1;
        }
        Items { data, len }
    }

    /// Number of values.
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

/// Mark of tuples whose fields are in a [`SharedPrefix`].
const APPENDED: u8 = 1;

/// A tuple value. Cheap to clone; dereferences to its fields.
#[derive(Clone)]
#[repr(transparent)]
pub struct Tuple(pub(super) Ref<SeqCell>);

impl Tuple {
    /// Creates a tuple of the given fields.
    pub fn new(fields: impl ExactSizeIterator<Item = Any>) -> Tuple {
        let capacity = fields.len();
        Tuple(Ref::allocate::<Items, Any>(capacity, |data| {
            let items = Items::write(data, fields);
            let cell = SeqCell { data, len: items.len() as i64, capacity: capacity as i64, data_deleter: None };
            (cell, items)
        }))
    }

    /// Creates a tuple with one more field at the end. A chain of appended tuples shares the memory of its fields, so
    /// appending takes amortized constant time.
    pub fn appended(&self, field: Any) -> Tuple {
        let fields = match self.shared_prefix() {
            Some(shared) => shared.appended(self.len(), field),
            None => SharedPrefix::of(self, field),
        };
        Tuple(Ref::allocate_marked::<SharedPrefix, Any>(APPENDED, 0, |_| {
            let len = self.len() as i64 + 1;
            (SeqCell { data: fields.as_ptr(), len, capacity: len, data_deleter: None }, fields)
        }))
    }

    fn shared_prefix(&self) -> Option<&SharedPrefix> {
        // SAFETY: only `appended` creates tuples with this mark.
        self.0.is_marked(APPENDED).then(|| unsafe { self.0.extra::<SharedPrefix>() })
    }

    /// The fields.
    pub fn as_slice(&self) -> &[Any] {
        if self.0.len <= 0 {
            return &[];
        }
        // SAFETY: the cell refers to values that live and do not change while the object is shared.
        unsafe { std::slice::from_raw_parts(self.0.data, self.0.len as usize) }
    }

    /// Empties field `position`, if it exists, for all holders of the tuple, and returns its value. Fields that other
    /// tuples share ([`appended`](Tuple::appended)) keep their values.
    ///
    /// # Safety
    /// Nobody has a reference to the field or reads it at the same time, on this thread or another.
    pub unsafe fn take(&self, position: usize) -> Option<Any> {
        if self.shared_prefix().is_some() {
            return self.get(position).cloned();
        }
        // SAFETY: the field is in the cell's range, and only the caller accesses it.
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
        // SAFETY: nobody else accesses the tuple.
        let taken = unsafe { [tuple.take(0), tuple.take(0), tuple.take(2)] };
        assert_eq!(taken.map(|field| field.map(|field| field.address())), [Some(held.address()), Some(None), None]);
        assert!(other[0].is_none() && other[1].get() == Some(2i64));
    }

    #[test]
    fn appended_tuples_share_fields_and_never_change() {
        let held = Tuple::new([].into_iter());
        let mut chain = vec![Tuple::new([].into_iter())];
        for _ in 0..40 {
            chain.push(chain[chain.len() - 1].appended(held.clone().into()));
        }
        assert_eq!(held.0.ref_count(), 1 + 40 + 8 + 16 + 32, "40 fields, and what was copied when capacity doubled");
        assert!(chain.iter().enumerate().all(|(len, tuple)| tuple.len() == len));
        // Appending to the middle of the chain leaves the rest unchanged.
        let other = chain[20].appended(Any::from(7i64));
        assert_eq!((other.len(), other[20].get::<i64>()), (21, Some(7)));
        assert_eq!(chain[40][20].address(), Any::from(held.clone()).address());
        // SAFETY: nobody else accesses the tuples.
        assert!(unsafe { chain[40].take(3) }.is_some() && unsafe { chain[40].take(40) }.is_none());
        assert!(!chain[40][3].is_none(), "other tuples have the field, too");
        drop((chain, other));
        assert_eq!(held.0.ref_count(), 1);
    }

    #[test]
    fn threads_append_to_one_tuple() {
        let start = (0..5i64).fold(Tuple::new([].into_iter()), |tuple, at| tuple.appended(at.into()));
        std::thread::scope(|scope| {
            for thread in 0..4i64 {
                let mut tuple = start.clone();
                scope.spawn(move || {
                    for at in 0..20 {
                        tuple = tuple.appended((thread * 100 + at).into());
                    }
                    let expected = (0..5).chain((0..20).map(|at| thread * 100 + at));
                    assert!(tuple.iter().map(|field| field.get::<i64>().unwrap()).eq(expected));
                });
            }
        });
        assert_eq!(start.len(), 5);
    }

    #[test]
    fn drops_long_chains_without_recursion() {
        let mut chain = Any::NONE;
        for _ in 0..if cfg!(miri) { 300 } else { 200_000 } {
            chain = Tuple::new([chain].into_iter()).into();
            chain = Closure::new(0, 0, vec![chain]).into();
            chain = Tuple::new([].into_iter()).appended(chain).into();
        }
    }
}
