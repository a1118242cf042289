//! A minimal ELF reader that checks a shared library's structure and finds its symbols without loading it.
use crate::arch::{Arch, Host};
use crate::bytes::{Reader, Truncated};
use std::ops::Range;

const IDENT: [u8; 7] = [0x7F, b'E', b'L', b'F', 2, 1, 1];
const ET_DYN: u16 = 3;
const HEADER_SIZE: u16 = 64;
const PROGRAM_HEADER_SIZE: u16 = 56;
const SYMBOL_SIZE: u64 = 24;
const RELOCATION_SIZE: usize = 24;
const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const PT_GNU_RELRO: u32 = 0x6474_E552;
/// Rights to a segment's memory.
pub(super) const PF_X: u32 = 1;
pub(super) const PF_W: u32 = 2;
const STB_WEAK: u8 = 2;
const DT_NULL: i64 = 0;
const DT_HASH: i64 = 4;
const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_RELA: i64 = 7;
const DT_RELASZ: i64 = 8;
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

/// A segment of the file that is loaded. Addresses are relative to where the library is loaded.
pub(super) struct Segment {
    pub(super) address: u64,
    pub(super) offset: u64,
    /// Number of bytes in the file.
    pub(super) len: u64,
    /// Number of bytes in memory; those that the file does not have are zero.
    pub(super) memory_len: u64,
    /// Rights to it: `PF_X`, `PF_W`.
    pub(super) flags: u32,
}

/// An 8-byte field that depends on where the library is loaded.
pub(super) struct Relocation<'a> {
    pub(super) address: u64,
    pub(super) kind: u32,
    pub(super) symbol: Option<Symbol<'a>>,
    pub(super) addend: u64,
}

/// A symbol of the dynamic table.
pub(super) struct Symbol<'a> {
    pub(super) name: &'a str,
    pub(super) address: u64,
    pub(super) size: u64,
    pub(super) is_defined: bool,
    pub(super) is_weak: bool,
}

/// Headers and tables of a shared library.
pub(super) struct Elf<'a> {
    bytes: &'a [u8],
    segments: Vec<Segment>,
    symbols: &'a [u8],
    strings: &'a [u8],
    relocations: &'a [u8],
    /// Range of addresses that nothing writes to after the relocations.
    relro: Option<Range<u64>>,
}

impl<'a> Elf<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Elf<'a>, ElfError> {
        if !bytes.starts_with(&IDENT) {
            return Err(ElfError::NotElf);
        }
        let (mut segments, mut dynamic, mut relro) = (Vec::new(), None, None);
        for header in program_headers(bytes)?.chunks_exact(PROGRAM_HEADER_SIZE.into()) {
            let mut reader = Reader::new(header);
            let (kind, flags) = (reader.u32()?, reader.u32()?);
            let (offset, address, _) = (reader.u64()?, reader.u64()?, reader.u64()?);
            let (len, memory_len) = (reader.u64()?, reader.u64()?);
            let end = offset.checked_add(len).filter(|end| *end <= bytes.len() as u64);
            if end.is_none() || memory_len < len || address.checked_add(memory_len).is_none() {
                return Err(ElfError::Layout);
            }
            match kind {
                PT_LOAD => segments.push(Segment { address, offset, len, memory_len, flags }),
                PT_GNU_RELRO => relro = Some(address..address + memory_len),
                PT_DYNAMIC => dynamic = Some(offset as usize..(offset + len) as usize),
                _ => (),
            }
        }
        let mut elf = Elf { bytes, segments, symbols: &[], strings: &[], relocations: &[], relro };
        elf.read_tables(&bytes[dynamic.ok_or(ElfError::Layout)?])?;
        Ok(elf)
    }

    fn read_tables(&mut self, dynamic: &[u8]) -> Result<(), ElfError> {
        let (mut hash, mut gnu_hash, mut strings, mut strings_len, mut symbols) = (None, None, None, None, None);
        let (mut relocations, mut relocations_len) = (None, 0);
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
                DT_RELA => relocations = Some(value),
                DT_RELASZ => relocations_len = value,
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
        if let Some(relocations) = relocations.filter(|_| relocations_len > 0) {
            self.relocations = self.slice(relocations, relocations_len)?;
        }
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

    /// The segments that are loaded.
    pub(super) fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Range of addresses that nothing writes to after the relocations.
    pub(super) fn relro(&self) -> Option<Range<u64>> {
        self.relro.clone()
    }

    /// Names of the symbols that the library defines.
    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.defined().map(|symbol| symbol.name)
    }

    /// Range of a symbol's data in the file.
    pub(super) fn find(&self, name: &str) -> Option<Range<usize>> {
        let symbol = self.defined().find(|symbol| symbol.name == name)?;
        self.range(symbol.address, symbol.size)
    }

    /// The symbols that the library defines.
    pub(super) fn defined(&self) -> impl Iterator<Item = Symbol<'a>> {
        let symbols = self.symbols.chunks_exact(SYMBOL_SIZE as usize);
        symbols.filter_map(|record| self.read_symbol(record).ok()).filter(|symbol| symbol.is_defined)
    }

    /// The relocations.
    pub(super) fn relocations(&self) -> impl Iterator<Item = Result<Relocation<'a>, ElfError>> {
        self.relocations.chunks_exact(RELOCATION_SIZE).map(|record| self.read_relocation(record))
    }

    fn read_relocation(&self, record: &[u8]) -> Result<Relocation<'a>, ElfError> {
        let mut reader = Reader::new(record);
        let (address, kind, symbol, addend) = (reader.u64()?, reader.u32()?, reader.u32()? as usize, reader.u64()?);
        let record = |number| self.symbols.chunks_exact(SYMBOL_SIZE as usize).nth(number).ok_or(ElfError::Layout);
        let symbol = (symbol != 0).then(|| Ok::<_, ElfError>(self.read_symbol(record(symbol)?)?)).transpose()?;
        Ok(Relocation { address, kind, symbol, addend })
    }

    fn read_symbol(&self, record: &[u8]) -> Result<Symbol<'a>, Truncated> {
        let mut reader = Reader::new(record);
        let name = reader.u32()? as usize;
        let info = reader.take(2)?[0];
        let (section, address, size) = (reader.u16()?, reader.u64()?, reader.u64()?);
        let bytes = self.strings.get(name..).ok_or(Truncated)?;
        let end = bytes.iter().position(|byte| *byte == 0).ok_or(Truncated)?;
        let name = std::str::from_utf8(&bytes[..end]).map_err(|_| Truncated)?;
        Ok(Symbol { name, address, size, is_defined: section != 0, is_weak: info >> 4 == STB_WEAK })
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
