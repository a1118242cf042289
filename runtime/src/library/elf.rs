//! A minimal ELF reader that checks a shared library's structure and finds its symbols without loading it.
use crate::arch::{Arch, Host};
use crate::bytes::{Reader, Truncated};
use std::ops::Range;

const IDENT: [u8; 7] = [0x7F, b'E', b'L', b'F', 2, 1, 1];
const ET_DYN: u16 = 3;
const HEADER_SIZE: u16 = 64;
const PROGRAM_HEADER_SIZE: u16 = 56;
const SYMBOL_SIZE: u64 = 24;
const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const DT_NULL: i64 = 0;
const DT_HASH: i64 = 4;
const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_STRSZ: i64 = 10;
const DT_GNU_HASH: i64 = 0x6FFF_FEF5;

/// Reason why bytes are not a shared library for this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ElfError {
    /// Not a 64-bit ELF file.
    #[error("not a shared library")]
    NotElf,
    /// For another machine, or not a library.
    #[error("the file is not a shared library for this machine")]
    WrongMachine,
    /// Its tables are inconsistent or point outside of the file.
    #[error("the shared library is damaged: its headers are inconsistent")]
    Layout,
}

impl From<Truncated> for ElfError {
    fn from(_: Truncated) -> ElfError {
        ElfError::Layout
    }
}

/// A mapped segment of the file.
struct Segment {
    address: u64,
    offset: u64,
    len: u64,
}

/// Headers and tables of a shared library.
pub(super) struct Elf<'a> {
    bytes: &'a [u8],
    segments: Vec<Segment>,
    symbols: &'a [u8],
    strings: &'a [u8],
}

impl<'a> Elf<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Elf<'a>, ElfError> {
        if !bytes.starts_with(&IDENT) {
            return Err(ElfError::NotElf);
        }
        let (mut segments, mut dynamic) = (Vec::new(), None);
        for header in program_headers(bytes)?.chunks_exact(PROGRAM_HEADER_SIZE.into()) {
            let mut reader = Reader::new(header);
            let kind = reader.u32()?;
            reader.take(4)?;
            let (offset, address, _) = (reader.u64()?, reader.u64()?, reader.u64()?);
            let (len, memory_len) = (reader.u64()?, reader.u64()?);
            let end = offset.checked_add(len).filter(|end| *end <= bytes.len() as u64);
            if end.is_none() || memory_len < len || address.checked_add(memory_len).is_none() {
                return Err(ElfError::Layout);
            }
            match kind {
                PT_LOAD => segments.push(Segment { address, offset, len }),
                PT_DYNAMIC => dynamic = Some(offset as usize..(offset + len) as usize),
                _ => (),
            }
        }
        let mut elf = Elf { bytes, segments, symbols: &[], strings: &[] };
        elf.read_tables(&bytes[dynamic.ok_or(ElfError::Layout)?])?;
        Ok(elf)
    }

    fn read_tables(&mut self, dynamic: &[u8]) -> Result<(), ElfError> {
        let (mut hash, mut gnu_hash, mut strings, mut strings_len, mut symbols) = (None, None, None, None, None);
        let mut reader = Reader::new(dynamic);
        loop {
            let (tag, value) = (reader.i64()?, reader.u64()?);
            match tag {
                DT_NULL => break,
                DT_HASH => hash = Some(value),
                DT_GNU_HASH => gnu_hash = Some(value),
                DT_STRTAB => strings = Some(value),
                DT_STRSZ => strings_len = Some(value),
                DT_SYMTAB => symbols = Some(value),
                _ => (),
            }
        }
        let there = |value: Option<u64>| value.ok_or(ElfError::Layout);
        let count = match (hash, gnu_hash) {
            // The table's second word is the number of symbols.
            (Some(hash), _) => {
                let mut hash = Reader::new(self.slice(hash, 8)?);
                u64::from((hash.u32()?, hash.u32()?).1)
            }
            (_, gnu_hash) => self.count_hashed(there(gnu_hash)?)?,
        };
        self.symbols = self.slice(there(symbols)?, count * SYMBOL_SIZE)?;
        self.strings = self.slice(there(strings)?, there(strings_len)?)?;
        Ok(())
    }

    /// Number of symbols according to GNU's hash table, which lists symbols in chains: the last entry of the last chain
    /// is the last symbol.
    fn count_hashed(&self, address: u64) -> Result<u64, ElfError> {
        let mut header = Reader::new(self.slice(address, 16)?);
        let (bucket_count, first_hashed, bloom_words) = (header.u32()?, header.u32()?, header.u32()?);
        let buckets_at = address.saturating_add(16 + 8 * u64::from(bloom_words));
        let chains_at = buckets_at.saturating_add(4 * u64::from(bucket_count));
        let buckets = self.slice(buckets_at, 4 * u64::from(bucket_count))?;
        let words = buckets.chunks_exact(4).map(|word| Reader::new(word).u32());
        let last = words.collect::<Result<Vec<_>, _>>()?.into_iter().max().unwrap_or_default();
        let Some(mut position) = last.checked_sub(first_hashed).map(u64::from) else {
            return Ok(first_hashed.into());
        };
        // The lowest bit of a chain's last hash is set.
        while Reader::new(self.slice(chains_at.saturating_add(4 * position), 4)?).u32()? & 1 == 0 {
            position += 1;
        }
        Ok(u64::from(first_hashed) + position + 1)
    }

    /// The bytes at an address.
    fn slice(&self, address: u64, len: u64) -> Result<&'a [u8], ElfError> {
        self.range(address, len).map(|range| &self.bytes[range]).ok_or(ElfError::Layout)
    }

    fn range(&self, address: u64, len: u64) -> Option<Range<usize>> {
        let end = address.checked_add(len)?;
        let holds = |s: &&Segment| s.address <= address && end <= s.address.saturating_add(s.len);
        let segment = self.segments.iter().find(holds)?;
        let begin = segment.offset + (address - segment.address);
        Some(begin as usize..(begin + len) as usize)
    }

    /// Names of the symbols that the library defines.
    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.defined().map(|(name, ..)| name)
    }

    /// Range of a symbol's data in the file.
    pub(super) fn find(&self, name: &str) -> Option<Range<usize>> {
        let (_, address, size) = self.defined().find(|(found, ..)| *found == name)?;
        self.range(address, size)
    }

    /// Name, address and size of each defined symbol.
    fn defined(&self) -> impl Iterator<Item = (&'a str, u64, u64)> {
        self.symbols.chunks_exact(SYMBOL_SIZE as usize).filter_map(|symbol| self.read_symbol(symbol).ok().flatten())
    }

    fn read_symbol(&self, symbol: &[u8]) -> Result<Option<(&'a str, u64, u64)>, Truncated> {
        let mut reader = Reader::new(symbol);
        let name = reader.u32()? as usize;
        reader.take(2)?;
        let (section, address, size) = (reader.u16()?, reader.u64()?, reader.u64()?);
        let bytes = self.strings.get(name..).ok_or(Truncated)?;
        let end = bytes.iter().position(|byte| *byte == 0).ok_or(Truncated)?;
        let name = std::str::from_utf8(&bytes[..end]).map_err(|_| Truncated)?;
        Ok((section != 0).then_some((name, address, size)))
    }
}

/// The program header table.
fn program_headers(bytes: &[u8]) -> Result<&[u8], ElfError> {
    let mut reader = Reader::new(bytes);
    reader.take(16)?;
    if (reader.u16()?, reader.u16()?) != (ET_DYN, Host::ELF_MACHINE) {
        return Err(ElfError::WrongMachine);
    }
    reader.take(12)?;
    let table = usize::try_from(reader.u64()?).map_err(|_| ElfError::Layout)?;
    reader.take(12)?;
    let (header_size, entry_size, count) = (reader.u16()?, reader.u16()?, reader.u16()?);
    if header_size != HEADER_SIZE || entry_size != PROGRAM_HEADER_SIZE {
        return Err(ElfError::Layout);
    }
    let len = usize::from(count) * usize::from(entry_size);
    bytes.get(table..table.saturating_add(len)).ok_or(ElfError::Layout)
}
