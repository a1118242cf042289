//! Shape values: immutable lists of 64-bit sizes.
use super::index;
use super::object::{Cell, Ref};
use std::fmt;
use std::ops::Deref;

/// tvm-ffi's shape cell: address and number of the sizes.
#[repr(C)]
pub struct ShapeCell {
    data: *const i64,
    len: usize,
}

// SAFETY: tvm-ffi fixes this layout for index 69; the sizes are never written after construction.
unsafe impl Cell for ShapeCell {
    const TYPE_INDEX: i32 = index::SHAPE;
}

/// A shape value. Cheap to clone; dereferences to `[i64]`.
#[derive(Clone)]
#[repr(transparent)]
pub struct Shape(pub(super) Ref<ShapeCell>);

impl Shape {
    /// Creates a shape with the given sizes.
    pub fn new(sizes: &[i64]) -> Shape {
        Shape::with_len(sizes.len(), |i| sizes[i])
    }

    /// Creates a shape of `len` sizes, calling `size` once for each, in order.
    pub fn with_len(len: usize, mut size: impl FnMut(usize) -> i64) -> Shape {
        Shape(Ref::allocate::<(), i64>(len, |tail| {
            for i in 0..len {
                // SAFETY: the tail has room for `len` sizes.
                unsafe { tail.add(i).write(size(i)) };
            }
            (ShapeCell { data: tail, len }, ())
        }))
    }

    /// The sizes.
    pub fn as_slice(&self) -> &[i64] {
        if self.0.len == 0 {
            return &[];
        }
        // SAFETY: the cell refers to sizes that live and do not change while the object lives.
        unsafe { std::slice::from_raw_parts(self.0.data, self.0.len) }
    }
}

impl Deref for Shape {
    type Target = [i64];

    fn deref(&self) -> &[i64] {
        self.as_slice()
    }
}

impl From<&[i64]> for Shape {
    fn from(sizes: &[i64]) -> Shape {
        Shape::new(sizes)
    }
}

impl PartialEq for Shape {
    fn eq(&self, other: &Shape) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for Shape {}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_sizes(self, f)
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Shape{self}")
    }
}

/// Formats sizes as a Python tuple: `()`, `(3,)`, `(2, 3)`.
pub(crate) fn write_sizes(sizes: &[i64], f: &mut dyn fmt::Write) -> fmt::Result {
    f.write_char('(')?;
    for (i, size) in sizes.iter().enumerate() {
        write!(f, "{}{size}", if i > 0 { ", " } else { "" })?;
    }
    f.write_str(if sizes.len() == 1 { ",)" } else { ")" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_its_sizes_and_prints_as_a_tuple() {
        for (sizes, text) in [(&[][..], "()"), (&[3], "(3,)"), (&[2, -1], "(2, -1)")] {
            let shape = Shape::new(sizes);
            assert_eq!(&*shape.clone(), sizes);
            assert_eq!(shape.to_string(), text);
        }
    }
}
