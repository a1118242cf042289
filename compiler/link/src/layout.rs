//! Layout: the library's sections, their sizes, file offsets and addresses.
//!
//! Sections are in the order of [`SectionId`], with no padding but their alignment. Segments with different permissions
//! never share a page in memory: at a change of permissions, addresses skip to the next page while offsets continue
//! (the page at the border is mapped twice). The image also starts on a new page of the file, so that its parts keep
//! their alignment in memory.

use crate::{
    input::Chunk,
    sections::{SECTIONS, SectionId, Segment},
};

/// Address, offset and size of a section.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Section {
    pub size: u64,
    pub align: u64,
    pub offset: u64,
    pub address: u64,
}

impl Section {
    /// Bytes in the file.
    pub fn file_size(&self, id: SectionId) -> u64 {
        if id == SectionId::Bss { 0 } else { self.size }
    }
}

/// Layouts of all sections, and the offset of each chunk in its section.
pub(crate) struct Layout {
    pub sections: [Section; SECTIONS.len()],
    pub chunk_offsets: Vec<u64>,
    /// Page size in bytes.
    pub page: u64,
    /// Offset of the section headers.
    pub section_headers: u64,
}

impl Layout {
    /// Lays out chunks and tables; `tables` has the sizes of the sections that the linker generates.
    pub fn new(chunks: &[Chunk<'_>], tables: &[(SectionId, u64)], headers: u64, page: u64) -> Self {
        let mut sections = [Section { align: 8, ..Section::default() }; SECTIONS.len()];
        let chunk_offsets = chunks.iter().map(|c| sections[c.section as usize].append(c.size, c.align)).collect();
        for &(id, size) in tables {
            sections[id as usize].append(size, 8);
        }
        let mut layout = Layout { sections, chunk_offsets, page, section_headers: 0 };
        layout.assign_offsets(headers);
        layout
    }

    fn assign_offsets(&mut self, headers: u64) {
        let (mut offset, mut address) = (headers, headers);
        let mut segment = Segment::Read;
        for id in SECTIONS {
            let section = &mut self.sections[id as usize];
            if section.size == 0 {
                continue;
            }
            if id.segment() != segment {
                segment = id.segment();
                if segment == Segment::Image {
                    offset = offset.next_multiple_of(self.page);
                }
                address = address.next_multiple_of(self.page) + offset % self.page;
            }
            let padding = address.next_multiple_of(section.align) - address;
            address += padding;
            offset += padding;
            (section.offset, section.address) = (offset, address);
            offset += section.file_size(id);
            address += section.size;
        }
        self.section_headers = offset.next_multiple_of(8);
    }

    pub fn section(&self, id: SectionId) -> &Section {
        &self.sections[id as usize]
    }

    /// Sections that exist, with their ids.
    pub fn present(&self) -> impl Iterator<Item = (SectionId, &Section)> {
        SECTIONS.into_iter().map(|p| (p, self.section(p))).filter(|(_, s)| s.size > 0)
    }

    /// Index of the section header; 0 for a section that does not exist.
    pub fn index(&self, id: SectionId) -> u16 {
        self.present().position(|(p, _)| p == id).map_or(0, |i| i as u16 + 1)
    }
}

impl Section {
    fn append(&mut self, size: u64, align: u64) -> u64 {
        let at = self.size.next_multiple_of(align);
        self.size = at + size;
        self.align = self.align.max(align);
        at
    }
}
