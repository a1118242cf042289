//! Opaque objects: Rust values that only their creator understands, such as a builtin's state between calls.
use super::object::{Cell, Ref};
use super::{Nested, index};
use std::any::{Any as RustAny, TypeId};
use std::fmt;

/// The cell of an opaque object.
pub struct OpaqueCell(Nested<Box<dyn RustAny + Send + Sync>>);

// SAFETY: the type index belongs to Hammock, and only `Opaque::new` creates such objects.
unsafe impl Cell for OpaqueCell {
    const TYPE_INDEX: i32 = index::OPAQUE;
}

/// A Rust value behind a reference-counted handle.
#[derive(Clone)]
#[repr(transparent)]
pub struct Opaque(pub(super) Ref<OpaqueCell>);

impl Opaque {
    /// Wraps a value.
    pub fn new<T: RustAny + Send + Sync>(value: T) -> Opaque {
        Opaque(Ref::allocate::<(), u8>(0, |_| (OpaqueCell(Nested::new(Box::new(value))), ())))
    }

    /// Type of the value.
    pub fn type_id(&self) -> TypeId {
        (**self.0.0).type_id()
    }

    /// The value, if it is a `T`.
    pub fn downcast<T: RustAny>(&self) -> Option<&T> {
        self.0.0.downcast_ref()
    }
}

impl fmt::Debug for Opaque {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Object")
    }
}
