//! Keys of the cache: hashes of everything that determines an entry.

use std::{fmt, hash::Hasher};

/// A hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key(blake3::Hash);

impl Key {
    /// The key of these facts.
    pub fn of(facts: &Bytes) -> Key {
        Key(blake3::hash(&facts.0))
    }

    /// The hash.
    pub fn as_bytes(&self) -> &[u8; blake3::OUT_LEN] {
        self.0.as_bytes()
    }

    /// Returns true if a file name has the form of a key.
    pub fn is_name(name: &str) -> bool {
        let is_digit = |c: u8| c.is_ascii_digit() || (b'a'..=b'f').contains(&c);
        name.len() == 2 * blake3::OUT_LEN && name.bytes().all(is_digit)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The bytes that a key hashes, one fact after another.
#[derive(Clone, Default)]
pub struct Bytes(Vec<u8>);

impl Bytes {
    /// Adds a text.
    pub fn text(&mut self, text: &str) {
        self.write_usize(text.len());
        self.write(text.as_bytes());
    }
}

/// Collects the bytes that structural hashing writes.
impl Hasher for Bytes {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        let hash = blake3::hash(&self.0);
        hash.as_bytes().first_chunk().map_or(0, |first| u64::from_le_bytes(*first))
    }
}
