//! Opaque objects: Rust values that only their creator understands, such as a builtin's state between calls.
use super::object::{Cell, Ref};
use super::{Nested, index};
use std::any::{Any as RustAny, TypeId};
use std::fmt;

/// The cell of an opaque object.
pub struct OpaqueCell {
    /// Path of the value's type.
    type_name: &'static str,
    value: Nested<Box<dyn RustAny + Send + Sync>>,
}

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
        let cell = OpaqueCell { type_name: std::any::type_name::<T>(), value: Nested::new(Box::new(value)) };
        Opaque(Ref::allocate::<(), u8>(0, |_| (cell, ())))
    }

    /// Type of the value.
    pub fn type_id(&self) -> TypeId {
        (**self.0.value).type_id()
    }

    /// The value, if it is a `T`.
    pub fn downcast<T: RustAny>(&self) -> Option<&T> {
        self.0.value.downcast_ref()
    }
}

/// Formats the name of the value's type.
impl fmt::Debug for Opaque {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.type_name.rsplit("::").next().unwrap_or_default())
    }
}
