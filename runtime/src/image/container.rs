//! The container: sections of bytes with kinds, alignments and checksums.
//!
//! All numbers are little-endian.
//!
//! | bytes | contents |
//! |---|---|
//! | 0..8 | magic `hammock\0` |
//! | 8..12 | version of the container, 2 |
//! | 12..16 | number of sections |
//! | 16..24 | length of the whole |
//! | 24..28 | CRC-32 of header and section table, these four bytes taken as zero |
//! | 28..32 | zero |
//! | 32.. | section table: kind (4), CRC-32 of the contents (4), offset (8), length (8), alignment (8) each |
//!
//! Sections follow in the table's order, the gaps between them filled with zeroes. A reader skips kinds it does not
//! know; kinds below 65536 belong to Hammock.
use crate::bytes::{Put, Reader, pad_to};
use std::ops::Range;

const MAGIC: &[u8; 8] = b"hammock\0";
const VERSION: u32 = 2;
const HEADER_SIZE: usize = 32;
const ENTRY_SIZE: usize = 32;
const CHECKSUM: Range<usize> = 24..28;
/// Images are mapped by pages; nothing can be aligned to more.
const MAX_ALIGNMENT: u64 = 4096;

/// A section to write.
pub struct Section<'a> {
    /// What it holds.
    pub kind: u32,
    /// What its offset is a multiple of: a power of two up to 4096.
    pub alignment: usize,
    /// Its bytes.
    pub contents: Contents<'a>,
}

/// The bytes of a section.
#[derive(Clone, Copy)]
pub enum Contents<'a> {
    /// These.
    Bytes(&'a [u8]),
    /// So many, with that checksum, which come behind the container's other bytes: of the last section.
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

/// Are the checksums of the contents checked on reading?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Integrity {
    /// They are.
    Check,
    /// They are not: the bytes were checked as part of something bigger.
    Trust,
}

/// Why bytes are no container.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContainerError {
    /// They do not begin like one.
    #[error("not a Hammock image")]
    NotAnImage,
    /// They are of a version this runtime does not know.
    #[error("the image is of version {0}; this runtime reads version 2")]
    BadVersion(u32),
    /// They end too early.
    #[error("the image is truncated")]
    Truncated,
    /// A checksum does not match.
    #[error("the image is damaged: the checksum of its {0} does not match")]
    Checksum(&'static str),
    /// The section table makes no sense.
    #[error("the image is damaged: its section table is inconsistent")]
    Layout,
    /// A section is not there.
    #[error("the image has no section {0}")]
    Missing(u32),
    /// There is no memory for an aligned copy.
    #[error("out of memory while loading an image")]
    OutOfMemory,
}

/// Where the sections of a container are.
pub struct Container(Vec<(u32, Range<usize>)>);

impl Container {
    /// The bytes of the section of a kind.
    pub fn get(&self, kind: u32) -> Option<Range<usize>> {
        self.0.iter().find(|(found, _)| *found == kind).map(|(_, range)| range.clone())
    }
}

/// Writes a container, but for the contents of its last section when they come later.
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

/// Checks the container that fills `bytes`.
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
