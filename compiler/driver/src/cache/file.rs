//! The files of a cache: a mark with the format's version, the key, the content, and a checksum of all of it.

use super::Key;

const MARK: &[u8; 16] = b"hammock kernel 1";
const CHECKSUM: usize = blake3::OUT_LEN;

/// A file's bytes.
pub fn sealed(key: &Key, content: &[u8]) -> Vec<u8> {
    let mut bytes = [MARK, key.as_bytes().as_slice(), content].concat();
    let checksum = blake3::hash(&bytes);
    bytes.extend(checksum.as_bytes());
    bytes
}

/// The content of a file, if it is what was written for that key.
pub fn content(key: &Key, mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    let end = bytes.len().checked_sub(CHECKSUM)?;
    let is_whole = blake3::hash(&bytes[..end]).as_bytes().as_slice() == &bytes[end..];
    bytes.truncate(end);
    let content = bytes.strip_prefix(MARK)?.strip_prefix(key.as_bytes())?;
    is_whole.then(|| content.to_vec())
}
