//! Heap strings and byte strings.
use super::index;
use super::object::{Cell, Ref};
use std::fmt;
use std::ops::Deref;

/// tvm-ffi's byte array: address and number of the bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ByteArray {
    /// Address of the first byte.
    pub data: *const u8,
    /// Number of bytes.
    pub len: usize,
}

impl ByteArray {
    /// The bytes.
    ///
    /// # Safety
    /// The array refers to memory that stays live and unchanged for `'a`.
    pub unsafe fn as_slice<'a>(self) -> &'a [u8] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: as the caller promises.
        unsafe { std::slice::from_raw_parts(self.data, self.len) }
    }
}

/// The cell of string objects (index 65) and byte-string objects (index 66).
#[repr(transparent)]
pub struct BytesCell<const INDEX: i32>(ByteArray);

// SAFETY: tvm-ffi fixes this layout for index 65; the bytes are never written after construction.
unsafe impl Cell for BytesCell<{ index::STR }> {
    const TYPE_INDEX: i32 = index::STR;
}

// SAFETY: as above, for index 66.
unsafe impl Cell for BytesCell<{ index::BYTES }> {
    const TYPE_INDEX: i32 = index::BYTES;
}

impl<const INDEX: i32> BytesCell<INDEX>
where
    BytesCell<INDEX>: Cell,
{
    /// An object with a copy of `bytes`, followed by a NUL byte for C readers.
    fn allocate(bytes: &[u8]) -> Ref<BytesCell<INDEX>> {
        Ref::allocate::<(), u8>(bytes.len() + 1, |tail| {
            // SAFETY: the tail has room for the bytes and the NUL.
            unsafe {
                tail.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
                tail.add(bytes.len()).write(0);
            }
            (BytesCell(ByteArray { data: tail, len: bytes.len() }), ())
        })
    }

    fn as_slice(&self) -> &[u8] {
        // SAFETY: the cell refers to bytes that live and do not change while the object lives.
        unsafe { self.0.as_slice() }
    }
}

/// A string value. Cheap to clone; dereferences to `str`.
///
/// A string created by other code may contain invalid UTF-8; it reads as the longest valid prefix.
#[derive(Clone)]
#[repr(transparent)]
pub struct Str(pub(super) Ref<BytesCell<{ index::STR }>>);

impl Str {
    /// A string object with a copy of `text`.
    pub fn new(text: &str) -> Str {
        Str(BytesCell::allocate(text.as_bytes()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        valid_prefix(self.0.as_slice())
    }
}

/// A byte string. Cheap to clone.
#[derive(Clone)]
#[repr(transparent)]
pub struct Bytes(pub(super) Ref<BytesCell<{ index::BYTES }>>);

impl Bytes {
    /// A byte-string object with a copy of `bytes`.
    pub fn new(bytes: &[u8]) -> Bytes {
        Bytes(BytesCell::allocate(bytes))
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        self.0.as_slice()
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
