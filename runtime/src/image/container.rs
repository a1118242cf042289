//! The container format: sections of bytes with kinds, alignments and checksums.
//!
//! All numbers are little-endian.
//!
//! | bytes | contents |
//! |---|---|
//! | 0..8 | magic `hammock\0` |
//! | 8..12 | version of the container, 2 |
//! | 12..16 | number of sections |
//! | 16..24 | total length |
//! | 24..28 | CRC-32 of header and section table, with these four bytes as zero |
//! | 28..32 | zero |
//! | 32.. | section table: kind (4), CRC-32 of the contents (4), offset (8), length (8), alignment (8) each |
//!
//! Sections follow in the table's order, with zero padding in between. A reader skips unknown kinds; kinds below 65536
//! are reserved for Hammock.
use crate::bytes::{Put, Reader, pad_to};
use std::ops::Range;

const MAGIC: &[u8; 8] = b"hammock\0";
const VERSION: u32 = 2;
const HEADER_SIZE: usize = 32;
const ENTRY_SIZE: usize = 32;
const CHECKSUM: Range<usize> = 24..28;
/// Page size: images are mapped, so a larger alignment cannot be guaranteed.
const MAX_ALIGNMENT: u64 = 4096;

/// A section to write.
pub struct Section<'a> {
    /// Kind of the contents.
    pub kind: u32,
    /// Alignment of its offset: a power of two up to 4096.
    pub alignment: usize,
    /// Contents.
    pub contents: Contents<'a>,
}

/// The bytes of a section.
#[derive(Clone, Copy)]
pub enum Contents<'a> {
    /// Bytes in memory.
    Bytes(&'a [u8]),
    /// Length and CRC-32 of the last section's contents, which the caller writes after the container.
    Later(usize, u32),
}

impl Contents<'_> {
    fn len(self) -> usize {
        match self {
            Contents::Bytes(bytes) => bytes.len(),
            Contents::Later(len, _) => len,
        }
    }

    fn checksum(self) -> u32 {
        match self {
            Contents::Bytes(bytes) => crc32fast::hash(bytes),
            Contents::Later(_, checksum) => checksum,
        }
    }
}

/// Verification of checksums on reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Integrity {
    /// Verify them.
    Check,
    /// Skip them: the bytes were verified as part of a larger file.
    Trust,
}

/// Reason why bytes are not a valid container.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContainerError {
    /// The magic number is missing.
    #[error("not a Hammock image")]
    NotAnImage,
    /// The version is unsupported.
    #[error("the image is of version {0}; this runtime reads version 2")]
    BadVersion(u32),
    /// The input ends too early.
    #[error("the image is truncated")]
    Truncated,
    /// A checksum does not match.
    #[error("the image is damaged: the checksum of its {0} does not match")]
    Checksum(&'static str),
    /// The section table is inconsistent.
    #[error("the image is damaged: its section table is inconsistent")]
    Layout,
    /// A section is missing.
    #[error("the image has no section {0}")]
    Missing(u32),
    /// There is not enough memory for an aligned copy.
    #[error("out of memory while loading an image")]
    OutOfMemory,
}

/// Kinds and byte ranges of a container's sections.
pub struct Container(Vec<(u32, Range<usize>)>);

impl Container {
    /// Byte range of the section of a kind.
    pub fn get(&self, kind: u32) -> Option<Range<usize>> {
        self.0.iter().find(|(found, _)| *found == kind).map(|(_, range)| range.clone())
    }
}

/// Writes a container, without the contents of its last section if they come later.
pub fn write(sections: &[Section<'_>]) -> Vec<u8> {
    let mut table = Vec::new();
    let mut end = HEADER_SIZE + ENTRY_SIZE * sections.len();
    for section in sections {
        let offset = end.next_multiple_of(section.alignment);
        end = offset + section.contents.len();
        table.put_u32(section.kind);
        table.put_u32(section.contents.checksum());
        [offset, section.contents.len(), section.alignment].iter().for_each(|value| table.put_u64(*value as u64));
    }
    let later = sections.iter().map(|section| match section.contents {
        Contents::Later(len, _) => len,
        Contents::Bytes(_) => 0,
    });
    let mut out = Vec::with_capacity(end - later.sum::<usize>());
    out.put(MAGIC);
    out.put_u32(VERSION);
    out.put_u32(sections.len() as u32);
    out.put_u64(end as u64);
    out.put_u64(0);
    out.put(&table);
    let checksum = crc32fast::hash(&out);
    out[CHECKSUM].copy_from_slice(&checksum.to_le_bytes());
    for section in sections {
        pad_to(&mut out, section.alignment);
        if let Contents::Bytes(bytes) = section.contents {
            out.put(bytes);
        }
    }
    out
}

/// Validates the container that fills `bytes`.
pub fn read(bytes: &[u8], integrity: Integrity) -> Result<Container, ContainerError> {
    let mut reader = Reader::new(bytes);
    let truncated = |_| ContainerError::Truncated;
    if reader.take(MAGIC.len()).map_err(truncated)? != MAGIC {
        return Err(ContainerError::NotAnImage);
    }
    let version = reader.u32().map_err(truncated)?;
    if version != VERSION {
        return Err(ContainerError::BadVersion(version));
    }
    let count = reader.u32().map_err(truncated)? as usize;
    if reader.u64().map_err(truncated)? != bytes.len() as u64 {
        return Err(ContainerError::Truncated);
    }
    let head = bytes.get(..HEADER_SIZE + count.saturating_mul(ENTRY_SIZE)).ok_or(ContainerError::Truncated)?;
    check_head(head)?;
    let mut sections = Vec::with_capacity(count);
    for entry in head[HEADER_SIZE..].chunks_exact(ENTRY_SIZE) {
        let previous = sections.last().map_or(head.len(), |(_, range): &(u32, Range<usize>)| range.end);
        sections.push(read_entry(entry, previous, bytes, integrity)?);
    }
    let repeated = |i: usize, kind| sections[..i].iter().any(|(earlier, _)| *earlier == kind);
    match sections.iter().enumerate().any(|(i, (kind, _))| repeated(i, *kind)) {
        false => Ok(Container(sections)),
        true => Err(ContainerError::Layout),
    }
}

fn check_head(head: &[u8]) -> Result<(), ContainerError> {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&head[..CHECKSUM.start]);
    hasher.update(&[0; 4]);
    hasher.update(&head[CHECKSUM.end..]);
    if head[CHECKSUM] == hasher.finalize().to_le_bytes() { Ok(()) } else { Err(ContainerError::Checksum("header")) }
}

fn read_entry(
    entry: &[u8],
    previous_end: usize,
    bytes: &[u8],
    integrity: Integrity,
) -> Result<(u32, Range<usize>), ContainerError> {
    let mut reader = Reader::new(entry);
    let layout = |_| ContainerError::Layout;
    let (kind, checksum) = (reader.u32().map_err(layout)?, reader.u32().map_err(layout)?);
    let mut number = || reader.u64().map_err(layout);
    let (offset, len, alignment) = (number()?, number()?, number()?);
    let aligned = alignment.is_power_of_two() && alignment <= MAX_ALIGNMENT && offset.is_multiple_of(alignment);
    let end = offset.checked_add(len).filter(|end| *end <= bytes.len() as u64);
    let (true, Some(end), true) = (aligned, end, offset >= previous_end as u64) else {
        return Err(ContainerError::Layout);
    };
    let range = offset as usize..end as usize;
    if integrity == Integrity::Check && crc32fast::hash(&bytes[range.clone()]) != checksum {
        return Err(ContainerError::Checksum("contents"));
    }
    Ok((kind, range))
}
