//! A checksum that follows an executable in a separate file. TVM's reader stops at the end of the executable and
//! ignores it; TVM's own files have none.
//!
//! | bytes, from the end | contents |
//! |---|---|
//! | 16..8 | magic `hmkcode\0` |
//! | 8..4 | CRC-32 of everything before the magic |
//! | 4..0 | zero |
use super::ExecutableError;
use crate::bytes::Put;

const MAGIC: &[u8; 8] = b"hmkcode\0";

/// Appends a checksum to an executable.
pub(super) fn append(bytes: &mut Vec<u8>) {
    let checksum = crc32fast::hash(bytes);
    bytes.put(MAGIC);
    bytes.put_u32(checksum);
    bytes.put_u32(0);
}

/// Verifies the checksum, if there is one, and returns the bytes of the executable.
pub(super) fn check(bytes: &[u8]) -> Result<&[u8], ExecutableError> {
    let Some((executable, [magic @ .., a, b, c, d, 0, 0, 0, 0])) = bytes.split_last_chunk::<16>() else {
        return Ok(bytes);
    };
    match magic == MAGIC {
        true if crc32fast::hash(executable) == u32::from_le_bytes([*a, *b, *c, *d]) => Ok(executable),
        true => Err(ExecutableError::Checksum),
        false => Ok(bytes),
    }
}
