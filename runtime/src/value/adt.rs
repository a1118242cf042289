//! Tagged unions (algebraic data types): a constructor's tag and its fields.
use super::object::{Cell, Ref};
use super::tuple::Items;
use super::{Any, index};
use std::fmt;

/// The cell of an ADT value: the tag, followed by the fields.
pub struct AdtCell {
    data: *const Any,
    len: usize,
    tag: i64,
}

// SAFETY: the type index belongs to Hammock, only `Adt::new` creates such objects, and fields are never written after
// that.
unsafe impl Cell for AdtCell {
    const TYPE_INDEX: i32 = index::ADT;
}

/// A value of an algebraic data type: the tag identifies the constructor.
///
/// Only the program knows the meaning of tags and the number of fields. Cheap to clone; dropping a list of any length
/// does not overflow the native stack.
#[derive(Clone)]
#[repr(transparent)]
pub struct Adt(pub(super) Ref<AdtCell>);

impl Adt {
    /// Creates a value with the given tag and fields.
    pub fn new(tag: i64, fields: impl ExactSizeIterator<Item = Any>) -> Adt {
        Adt(Ref::allocate::<Items, Any>(fields.len(), |data| {
            let items = Items::write(data, fields);
            (AdtCell { data, len: items.len(), tag }, items)
        }))
    }

    /// The constructor's tag.
    pub fn tag(&self) -> i64 {
        self.0.tag
    }

    /// The constructor's fields.
    pub fn fields(&self) -> &[Any] {
        // SAFETY: the cell refers to values that live and do not change while the object lives.
        unsafe { std::slice::from_raw_parts(self.0.data, self.0.len) }
    }
}

impl fmt::Debug for Adt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Adt {} of {}", self.tag(), self.fields().len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_a_tag_and_fields() {
        let leaf = Adt::new(0, [].into_iter());
        let node = Adt::new(-1, [leaf.clone().into(), Any::from(7i64)].into_iter());
        assert_eq!((leaf.tag(), leaf.fields().len()), (0, 0));
        assert_eq!((node.tag(), node.fields()[1].get::<i64>()), (-1, Some(7)));
        assert_eq!(node.fields()[0].get::<&Adt>().unwrap().tag(), 0);
        assert_eq!(Any::from(node).to_string(), "Adt -1 of 2");
    }

    #[test]
    fn long_lists_are_dropped_without_recursion() {
        let nil = Any::from(Adt::new(0, [].into_iter()));
        let list = (0..if cfg!(miri) { 300 } else { 200_000i64 })
            .fold(nil, |rest, i| Adt::new(1, [Any::from(i), rest].into_iter()).into());
        drop(list);
    }
}
