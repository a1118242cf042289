//! Output sections of the library: their order and permissions.

use crate::elf as record;
use object::elf;

/// Output sections, in file order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum SectionId {
    Hash,
    DynamicSymbols,
    DynamicStrings,
    Relocations,
    ReadOnly,
    EhFrame,
    Text,
    Plt,
    RelRo,
    Dynamic,
    Got,
    Data,
    Bss,
    Image,
    SectionNames,
}

/// All output sections, in file order.
pub(crate) const SECTIONS: [SectionId; 15] = [
    SectionId::Hash,
    SectionId::DynamicSymbols,
    SectionId::DynamicStrings,
    SectionId::Relocations,
    SectionId::ReadOnly,
    SectionId::EhFrame,
    SectionId::Text,
    SectionId::Plt,
    SectionId::RelRo,
    SectionId::Dynamic,
    SectionId::Got,
    SectionId::Data,
    SectionId::Bss,
    SectionId::Image,
    SectionId::SectionNames,
];

/// Groups of sections with the same permissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Segment {
    Read,
    Execute,
    /// Written by the loader, then read-only.
    RelRo,
    Write,
    Image,
    /// Not loaded.
    None,
}

impl SectionId {
    pub fn segment(self) -> Segment {
        match self {
            SectionId::Hash | SectionId::DynamicSymbols | SectionId::DynamicStrings => Segment::Read,
            SectionId::Relocations | SectionId::ReadOnly | SectionId::EhFrame => Segment::Read,
            SectionId::Text | SectionId::Plt => Segment::Execute,
            SectionId::RelRo | SectionId::Dynamic | SectionId::Got => Segment::RelRo,
            SectionId::Data | SectionId::Bss => Segment::Write,
            SectionId::Image => Segment::Image,
            SectionId::SectionNames => Segment::None,
        }
    }

    /// Returns true if the loader may relocate it.
    pub fn is_writable(self) -> bool {
        matches!(self.segment(), Segment::RelRo | Segment::Write)
    }

    pub fn name(self) -> &'static str {
        match self {
            SectionId::Hash => ".hash",
            SectionId::DynamicSymbols => ".dynsym",
            SectionId::DynamicStrings => ".dynstr",
            SectionId::Relocations => ".rela.dyn",
            SectionId::ReadOnly => ".rodata",
            SectionId::EhFrame => ".eh_frame",
            SectionId::Text => ".text",
            SectionId::Plt => ".plt",
            SectionId::RelRo => ".data.rel.ro",
            SectionId::Dynamic => ".dynamic",
            SectionId::Got => ".got",
            SectionId::Data => ".data",
            SectionId::Bss => ".bss",
            SectionId::Image => ".hammock",
            SectionId::SectionNames => ".shstrtab",
        }
    }

    pub fn kind(self) -> elf::SectionType {
        match self {
            SectionId::Hash => elf::SHT_HASH,
            SectionId::DynamicSymbols => elf::SHT_DYNSYM,
            SectionId::DynamicStrings | SectionId::SectionNames => elf::SHT_STRTAB,
            SectionId::Relocations => elf::SHT_RELA,
            SectionId::Dynamic => elf::SHT_DYNAMIC,
            SectionId::Bss => elf::SHT_NOBITS,
            _ => elf::SHT_PROGBITS,
        }
    }

    /// Section that the header's link field refers to.
    pub fn link(self) -> Option<SectionId> {
        match self {
            SectionId::Hash | SectionId::Relocations => Some(SectionId::DynamicSymbols),
            SectionId::DynamicSymbols | SectionId::Dynamic => Some(SectionId::DynamicStrings),
            _ => None,
        }
    }

    /// Size in bytes of one entry, for tables.
    pub fn entry_size(self) -> u64 {
        match self {
            SectionId::Hash => 4,
            SectionId::DynamicSymbols => record::SYMBOL,
            SectionId::Relocations => record::RELA,
            SectionId::Dynamic => record::DYNAMIC,
            SectionId::Got => 8,
            _ => 0,
        }
    }
}
