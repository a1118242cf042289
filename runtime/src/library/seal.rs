//! Seals: checksums at the end of a file, which detect damage before any of the file is mapped for execution.
//!
//! A seal is the last 64 bytes of a file; the linker writes it with [`seal`]. All numbers are little-endian.
//!
//! | bytes | contents |
//! |---|---|
//! | 0..8 | magic `hmkseal\0` |
//! | 8..12 | version, 1 |
//! | 12..16 | CRC-32 of everything before the seal |
//! | 16..24 | length of the file, the seal included |
//! | 24..60 | zero |
//! | 60..64 | CRC-32 of the 60 bytes before |
//!
//! A stand-alone program is a runner, padding up to a page, a sealed library, and a *footer* of 32 bytes: magic
//! `hmktail\0`, offset and length of the library (8 each), CRC-32 of the preceding 24 bytes (4), zero (4).
use crate::bytes::{Put, Reader, pad_to};
use crate::executable::ConstantData;
use crate::parallel;
use crc32fast::Hasher;
use std::ops::Range;
use std::sync::OnceLock;

const MAGIC: &[u8; 8] = b"hmkseal\0";
const VERSION: u32 = 1;
const SIZE: usize = 64;
const FOOTER_MAGIC: &[u8; 8] = b"hmktail\0";
const FOOTER_SIZE: usize = 32;
/// Number of bytes that one thread checks at a time.
const PART: usize = if cfg!(miri) { 4 << 8 } else { 4 << 20 };
/// Page size: libraries are mapped.
const PAGE: usize = 4096;

/// Reason why a seal is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// There is no seal: the file is not a compiled model, or is truncated.
    #[error("the file is not a compiled model, or is truncated")]
    Missing,
    /// The seal's version is unsupported.
    #[error("the file's seal is of version {0}; this runtime reads version 1")]
    BadVersion(u32),
    /// The bytes have changed since they were sealed.
    #[error("the file is damaged: its checksum does not match")]
    Damaged,
}

/// Seals the bytes of a file.
pub fn seal(bytes: &mut Vec<u8>) {
    let seal = seal_of(checksum(bytes), bytes.len());
    bytes.put(&seal);
}

/// The seal of a file that consists of these parts.
pub fn seal_around(before: &[u8], constants: &ConstantData, after: &[u8]) -> Vec<u8> {
    let mut whole = Hasher::new();
    whole.update(before);
    whole.combine(&constants.checksum());
    let mut rest = Hasher::new();
    rest.update(after);
    whole.combine(&rest);
    seal_of(whole.finalize(), before.len() + constants.len() + after.len())
}

/// The seal of a file of `len` bytes with that CRC-32.
fn seal_of(checksum: u32, len: usize) -> Vec<u8> {
    let mut seal = Vec::with_capacity(SIZE);
    seal.put(MAGIC);
    seal.put_u32(VERSION);
    seal.put_u32(checksum);
    seal.put_u64((len + SIZE) as u64);
    seal.resize(SIZE - 4, 0);
    seal.put_u32(crc32fast::hash(&seal));
    seal
}

/// Verifies that a file's bytes are those that were sealed.
pub fn check(bytes: &[u8]) -> Result<(), SealError> {
    let (contents, seal) = bytes.split_last_chunk::<SIZE>().ok_or(SealError::Missing)?;
    if !seal.starts_with(MAGIC) {
        return Err(SealError::Missing);
    }
    if crc32fast::hash(&seal[..SIZE - 4]).to_le_bytes() != seal[SIZE - 4..] {
        return Err(SealError::Damaged);
    }
    let mut reader = Reader::new(&seal[MAGIC.len()..]);
    let mut field = || reader.u32().map_err(|_| SealError::Missing);
    let (version, sealed) = (field()?, field()?);
    if version != VERSION {
        return Err(SealError::BadVersion(version));
    }
    let len = reader.u64().map_err(|_| SealError::Missing)?;
    if len == bytes.len() as u64 && checksum(contents) == sealed { Ok(()) } else { Err(SealError::Damaged) }
}

/// The CRC-32 of many bytes, on all threads: it dominates the time to load a model.
fn checksum(bytes: &[u8]) -> u32 {
    let parts: Vec<(&[u8], OnceLock<Hasher>)> = bytes.chunks(PART).map(|part| (part, OnceLock::new())).collect();
    let hash = |(part, hash): &(&[u8], OnceLock<Hasher>)| {
        hash.get_or_init(|| {
            let mut hasher = Hasher::new();
            hasher.update(part);
            hasher
        })
        .clone()
    };
    parallel::for_each(parts.len() as i64, 1, |range| {
        for part in &parts[range.start as usize..range.end as usize] {
            hash(part);
        }
    });
    let mut whole = Hasher::new();
    parts.iter().for_each(|part| whole.combine(&hash(part)));
    whole.finalize()
}

/// Text in a runner's executable file, by which it is recognized: runners are only for models of their version.
pub const RUNNER_MARK: &str = concat!("hammock-runner ", env!("CARGO_PKG_VERSION"));

/// Pads a runner's executable file for the library that follows.
pub fn pad_runner(runner: &mut Vec<u8>) {
    pad_to(runner, PAGE);
}

/// The footer of a program whose library, of `len` bytes, begins at `begin`.
pub fn footer(begin: usize, len: usize) -> Vec<u8> {
    let mut footer = FOOTER_MAGIC.to_vec();
    footer.put_u64(begin as u64);
    footer.put_u64(len as u64);
    footer.put_u32(crc32fast::hash(&footer));
    footer.put_u32(0);
    footer
}

/// Range of the library that is appended to a program, if there is one.
pub fn appended(program: &[u8]) -> Option<Range<usize>> {
    let (rest, footer) = program.split_last_chunk::<FOOTER_SIZE>()?;
    let mut reader = Reader::new(footer.strip_prefix(FOOTER_MAGIC)?);
    let (begin, len, checksum) = (reader.u64().ok()?, reader.u64().ok()?, reader.u32().ok()?);
    let end = begin.checked_add(len)?;
    let sound = checksum == crc32fast::hash(&footer[..24]) && end == rest.len() as u64;
    sound.then_some(begin as usize..end as usize)
}

/// A runner with a sealed library.
#[cfg(test)]
pub(super) fn program(mut runner: Vec<u8>, library: &[u8]) -> Vec<u8> {
    pad_runner(&mut runner);
    let footer = footer(runner.len(), library.len());
    [&runner, library, &footer].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_breaks_the_seal() {
        let mut bytes = b"some bytes of a library".to_vec();
        seal(&mut bytes);
        assert_eq!(check(&bytes), Ok(()));
        for len in 0..bytes.len() {
            assert!(check(&bytes[..len]).is_err());
        }
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(check(&damaged).is_err());
        }
    }

    #[test]
    fn checksums_of_parts_combine() {
        let bytes: Vec<u8> = (0..PART * 2 + 5).map(|i| (i % 251) as u8).collect();
        assert_eq!(checksum(&bytes), crc32fast::hash(&bytes));
        assert_eq!(checksum(&[]), crc32fast::hash(&[]));
    }

    #[test]
    fn appended_libraries_are_found() {
        assert_eq!(appended(&[1, 2, 3]), None);
        let mut program = program(vec![1, 2, 3], &[4, 5]);
        assert_eq!(appended(&program), Some(4096..4098));
        program.push(0);
        assert_eq!(appended(&program), None);
    }
}
