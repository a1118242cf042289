//! Layout: the library's sections, their sizes, file offsets and addresses.
//!
//! Sections stand in the file in the order of [`Place`] with no padding but their alignment. Segments with different
//! rights never share a page in memory: where the rights change, addresses skip to the next page while offsets go on
//! (the page at the border is mapped twice). The image starts on a page of its own in the file too, so that its parts
//! keep their alignment in memory.

use crate::{
    input::Chunk,
    sections::{PAGE, PLACES, Place, Segment},
};

/// A section's place.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Section {
    pub size: u64,
    pub align: u64,
    pub offset: u64,
    pub address: u64,
}

impl Section {
    /// Bytes in the file.
    pub fn file_size(&self, place: Place) -> u64 {
        if place == Place::Bss { 0 } else { self.size }
    }
}

/// Sections by place, and each chunk's offset in its section.
pub(crate) struct Layout {
    pub sections: [Section; PLACES.len()],
    pub chunk_offsets: Vec<u64>,
    /// Where the section headers start.
    pub section_headers: u64,
}

impl Layout {
    /// Places chunks and tables; `tables` gives the sizes of the sections that the linker writes itself.
    pub fn new(chunks: &[Chunk<'_>], tables: &[(Place, u64)], headers: u64) -> Self {
        let mut sections = [Section { align: 8, ..Section::default() }; PLACES.len()];
        let chunk_offsets = chunks.iter().map(|c| sections[c.place as usize].append(c.size, c.align)).collect();
        for &(place, size) in tables {
            sections[place as usize].append(size, 8);
        }
        let mut layout = Layout { sections, chunk_offsets, section_headers: 0 };
        layout.place_sections(headers);
        layout
    }

    fn place_sections(&mut self, headers: u64) {
        let (mut offset, mut address) = (headers, headers);
        let mut segment = Segment::Read;
        for place in PLACES {
            let section = &mut self.sections[place as usize];
            if section.size == 0 {
                continue;
            }
            if place.segment() != segment {
                segment = place.segment();
                if segment == Segment::Image {
                    offset = offset.next_multiple_of(PAGE);
                }
                address = address.next_multiple_of(PAGE) + offset % PAGE;
            }
            let padding = address.next_multiple_of(section.align) - address;
            address += padding;
            offset += padding;
            (section.offset, section.address) = (offset, address);
            offset += section.file_size(place);
            address += section.size;
        }
        self.section_headers = offset.next_multiple_of(8);
    }

    pub fn section(&self, place: Place) -> &Section {
        &self.sections[place as usize]
    }

    /// Sections that exist, with their places.
    pub fn present(&self) -> impl Iterator<Item = (Place, &Section)> {
        PLACES.into_iter().map(|p| (p, self.section(p))).filter(|(_, s)| s.size > 0)
    }

    /// The section header's number, 0 for a section that does not exist.
    pub fn index(&self, place: Place) -> u16 {
        self.present().position(|(p, _)| p == place).map_or(0, |i| i as u16 + 1)
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
