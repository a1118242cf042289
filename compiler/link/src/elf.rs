//! The ELF64 records that a shared library consists of, little-endian.

use object::elf;

/// Bytes of the file header.
pub(crate) const FILE_HEADER: u64 = 64;
/// Bytes of a program header.
pub(crate) const PROGRAM_HEADER: u64 = 56;
/// Bytes of a section header.
pub(crate) const SECTION_HEADER: u64 = 64;
/// Bytes of a symbol.
pub(crate) const SYMBOL: u64 = 24;
/// Bytes of a relocation with addend.
pub(crate) const RELA: u64 = 24;
/// Bytes of an entry of the dynamic table.
pub(crate) const DYNAMIC: u64 = 16;

/// A growing record.
#[derive(Default)]
pub(crate) struct Record(pub Vec<u8>);

impl Record {
    pub fn u8(&mut self, v: u8) -> &mut Self {
        self.0.push(v);
        self
    }

    pub fn u16(&mut self, v: u16) -> &mut Self {
        self.0.extend(v.to_le_bytes());
        self
    }

    pub fn u32(&mut self, v: u32) -> &mut Self {
        self.0.extend(v.to_le_bytes());
        self
    }

    pub fn u64(&mut self, v: u64) -> &mut Self {
        self.0.extend(v.to_le_bytes());
        self
    }
}

/// Overwrites bytes of the file.
pub(crate) fn put(file: &mut [u8], offset: u64, bytes: &[u8]) {
    let at = offset as usize;
    file[at..at + bytes.len()].copy_from_slice(bytes);
}

/// Fields of the file header.
pub(crate) struct FileHeader {
    pub machine: u16,
    pub program_headers: u16,
    pub section_headers: u16,
    pub section_headers_at: u64,
    pub names_section: u16,
}

impl FileHeader {
    pub fn write(&self, out: &mut Record) {
        out.0.extend(elf::ELFMAG);
        out.u8(elf::ELFCLASS64.0).u8(elf::ELFDATA2LSB.0).u8(elf::EV_CURRENT.0).u8(elf::ELFOSABI_NONE.0);
        out.u64(0);
        out.u16(elf::ET_DYN.0).u16(self.machine).u32(elf::EV_CURRENT.0.into());
        out.u64(0).u64(FILE_HEADER).u64(self.section_headers_at).u32(0);
        out.u16(FILE_HEADER as u16).u16(PROGRAM_HEADER as u16).u16(self.program_headers);
        out.u16(SECTION_HEADER as u16).u16(self.section_headers).u16(self.names_section);
    }
}

/// A range of the file that the loader maps or reads.
pub(crate) struct ProgramHeader {
    pub kind: u32,
    pub flags: u32,
    pub offset: u64,
    pub address: u64,
    pub file_size: u64,
    pub size: u64,
    pub align: u64,
}

impl ProgramHeader {
    pub fn write(&self, out: &mut Record) {
        out.u32(self.kind).u32(self.flags).u64(self.offset).u64(self.address).u64(self.address);
        out.u64(self.file_size).u64(self.size).u64(self.align);
    }
}

/// A symbol of the dynamic table.
pub(crate) struct Symbol {
    pub name: u32,
    pub info: u8,
    pub section: u16,
    pub value: u64,
    pub size: u64,
}

impl Symbol {
    pub fn write(&self, out: &mut Record) {
        out.u32(self.name).u8(self.info).u8(0).u16(self.section).u64(self.value).u64(self.size);
    }
}

/// A relocation for the loader to apply.
pub(crate) struct Rela {
    pub offset: u64,
    pub symbol: u32,
    pub kind: u32,
    pub addend: i64,
}

impl Rela {
    pub fn write(&self, out: &mut Record) {
        out.u64(self.offset).u64(u64::from(self.symbol) << 32 | u64::from(self.kind)).u64(self.addend as u64);
    }
}

/// Returns a `DT_HASH` table over symbol names; index 0 is the null symbol and is in no bucket.
pub(crate) fn hash_table(names: &[&str]) -> Vec<u8> {
    let buckets = bucket_count(names.len());
    let mut heads = vec![0u32; buckets as usize];
    let mut chains = vec![0u32; names.len() + 1];
    for (i, name) in names.iter().enumerate().rev() {
        let head = &mut heads[(elf::hash(name.as_bytes()) % buckets) as usize];
        chains[i + 1] = std::mem::replace(head, i as u32 + 1);
    }
    let mut out = Record::default();
    out.u32(buckets).u32(chains.len() as u32);
    for word in heads.into_iter().chain(chains) {
        out.u32(word);
    }
    out.0
}

/// Size in bytes of the [`hash_table`] of a number of names.
pub(crate) fn hash_table_size(names: usize) -> u64 {
    4 * (3 + u64::from(bucket_count(names)) + names as u64)
}

/// Number of buckets: about two names each.
fn bucket_count(names: usize) -> u32 {
    (names as u32 / 2) | 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_in_its_chain() {
        let names: Vec<String> = (0..57).map(|i| format!("kernel_{i}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let table = hash_table(&names);
        assert_eq!(table.len() as u64, hash_table_size(names.len()));
        let word = |i: usize| u32::from_le_bytes(table[4 * i..4 * i + 4].try_into().unwrap());
        let buckets = word(0);
        for (i, name) in names.iter().enumerate() {
            let mut at = word(2 + (elf::hash(name.as_bytes()) % buckets) as usize);
            while at != i as u32 + 1 {
                assert_ne!(at, 0, "{name} is in no chain");
                at = word(2 + buckets as usize + at as usize);
            }
        }
    }
}
