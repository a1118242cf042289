//! Heap strings and byte strings.
use super::index;
use super::object::{Cell, Ref};
use std::fmt;
use std::ops::Deref;

/// tvm-ffi's byte array: where the bytes are and how many.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ByteArray {
    /// The first byte.
    pub data: *const u8,
    /// The number of bytes.
    pub len: usize,
}

impl ByteArray {
    /// The bytes.
    ///
    /// # Safety
    /// The array describes memory that stays live and unchanged for `'a`.
    pub unsafe fn as_slice<'a>(self) -> &'a [u8] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: as the caller promises.
        unsafe { std::slice::from_raw_parts(self.data, self.len) }
    }
}

/// The cell of a string object.
#[repr(transparent)]
pub struct StrCell(ByteArray);

// SAFETY: tvm-ffi fixes this layout for index 65; the bytes are never written after construction.
unsafe impl Cell for StrCell {
    const TYPE_INDEX: i32 = index::STR;
    const NAME: &'static str = "String";
}

/// A string value. Cheap to clone; dereferences to `str`.
///
/// A string made by other code may hold bytes that are not UTF-8; it reads as the longest valid prefix.
#[derive(Clone)]
#[repr(transparent)]
pub struct Str(pub(super) Ref<StrCell>);

impl Str {
    /// A string object with a copy of `text`, followed by a NUL byte for C readers.
    pub fn new(text: &str) -> Str {
        Str(Ref::allocate::<(), u8>(text.len() + 1, |tail| {
            // SAFETY: the tail has room for the text and the NUL.
            unsafe {
                tail.copy_from_nonoverlapping(text.as_ptr(), text.len());
                tail.add(text.len()).write(0);
            }
            (StrCell(ByteArray { data: tail, len: text.len() }), ())
        }))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        // SAFETY: the cell describes bytes that live and stay as they are while the object lives.
        valid_prefix(unsafe { self.0.0.as_slice() })
    }
}

pub(super) fn valid_prefix(bytes: &[u8]) -> &str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    }
}

impl Deref for Str {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl From<&str> for Str {
    fn from(text: &str) -> Str {
        Str::new(text)
    }
}

impl PartialEq for Str {
    fn eq(&self, other: &Str) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Str {}

impl fmt::Display for Str {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl fmt::Debug for Str {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_its_text() {
        for text in ["", "hello", "größer als sieben"] {
            assert_eq!(Str::new(text).clone().as_str(), text);
        }
        assert_eq!(valid_prefix(b"ok\xff"), "ok");
    }
}
