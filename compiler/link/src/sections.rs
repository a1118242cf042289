//! Where what is linked goes: the sections of the library, their order and rights.

use crate::elf as record;
use object::elf;

/// Bytes of a page: the unit of rights.
pub(crate) const PAGE: u64 = 4096;

/// The sections of the library, in file order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Place {
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

/// Places in order.
pub(crate) const PLACES: [Place; 15] = [
    Place::Hash,
    Place::DynamicSymbols,
    Place::DynamicStrings,
    Place::Relocations,
    Place::ReadOnly,
    Place::EhFrame,
    Place::Text,
    Place::Plt,
    Place::RelRo,
    Place::Dynamic,
    Place::Got,
    Place::Data,
    Place::Bss,
    Place::Image,
    Place::SectionNames,
];

/// Groups of sections with the same rights.
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

impl Place {
    pub fn segment(self) -> Segment {
        match self {
            Place::Hash | Place::DynamicSymbols | Place::DynamicStrings => Segment::Read,
            Place::Relocations | Place::ReadOnly | Place::EhFrame => Segment::Read,
            Place::Text | Place::Plt => Segment::Execute,
            Place::RelRo | Place::Dynamic | Place::Got => Segment::RelRo,
            Place::Data | Place::Bss => Segment::Write,
            Place::Image => Segment::Image,
            Place::SectionNames => Segment::None,
        }
    }

    /// Returns true if the loader may write it while relocating.
    pub fn is_writable(self) -> bool {
        matches!(self.segment(), Segment::RelRo | Segment::Write)
    }

    pub fn name(self) -> &'static str {
        match self {
            Place::Hash => ".hash",
            Place::DynamicSymbols => ".dynsym",
            Place::DynamicStrings => ".dynstr",
            Place::Relocations => ".rela.dyn",
            Place::ReadOnly => ".rodata",
            Place::EhFrame => ".eh_frame",
            Place::Text => ".text",
            Place::Plt => ".plt",
            Place::RelRo => ".data.rel.ro",
            Place::Dynamic => ".dynamic",
            Place::Got => ".got",
            Place::Data => ".data",
            Place::Bss => ".bss",
            Place::Image => ".hammock",
            Place::SectionNames => ".shstrtab",
        }
    }

    pub fn kind(self) -> elf::SectionType {
        match self {
            Place::Hash => elf::SHT_HASH,
            Place::DynamicSymbols => elf::SHT_DYNSYM,
            Place::DynamicStrings | Place::SectionNames => elf::SHT_STRTAB,
            Place::Relocations => elf::SHT_RELA,
            Place::Dynamic => elf::SHT_DYNAMIC,
            Place::Bss => elf::SHT_NOBITS,
            _ => elf::SHT_PROGBITS,
        }
    }

    /// The section that the header's link field names.
    pub fn link(self) -> Option<Place> {
        match self {
            Place::Hash | Place::Relocations => Some(Place::DynamicSymbols),
            Place::DynamicSymbols | Place::Dynamic => Some(Place::DynamicStrings),
            _ => None,
        }
    }

    /// Bytes of one entry, for tables.
    pub fn entry_size(self) -> u64 {
        match self {
            Place::Hash => 4,
            Place::DynamicSymbols => record::SYMBOL,
            Place::Relocations => record::RELA,
            Place::Dynamic => record::DYNAMIC,
            Place::Got => 8,
            _ => 0,
        }
    }
}
