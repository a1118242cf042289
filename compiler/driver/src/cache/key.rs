//! Keys: hashes of all that decides on something.

use std::{fmt, hash::Hasher};

/// A hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key(blake3::Hash);

impl Key {
    /// Of what decides.
    pub fn of(facts: &Bytes) -> Key {
        Key(blake3::hash(&facts.0))
    }

    /// The hash.
    pub fn as_bytes(&self) -> &[u8; blake3::OUT_LEN] {
        self.0.as_bytes()
    }

    /// Returns true if a file has a name such as keys have.
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

/// What decides on something, one fact after the other.
#[derive(Clone, Default)]
pub struct Bytes(Vec<u8>);

impl Bytes {
    /// Adds a text.
    pub fn text(&mut self, text: &str) {
        self.write_usize(text.len());
        self.write(text.as_bytes());
    }
}

/// Takes what others hash.
impl Hasher for Bytes {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        let hash = blake3::hash(&self.0);
        hash.as_bytes().first_chunk().map_or(0, |first| u64::from_le_bytes(*first))
    }
}
