//! Output: writes chunks, tables and headers.

use crate::{
    LinkError,
    arch::{Arch, Stored},
    elf::{self as record, FileHeader, ProgramHeader, Record, Rela, hash_table, put},
    input::{Binding, Inputs, Value},
    layout::{Layout, Section},
    relocate::Addresses,
    resolve::{Resolved, Slots, loader_relocations, slot_tables},
    sections::{SectionId, Segment},
};
use hammock_runtime::library::SystemLibrary;
use object::elf;

/// Number of program headers: `PT_LOAD` for five segments, and `PT_DYNAMIC`, `PT_GNU_RELRO`, `PT_GNU_STACK`.
const PROGRAM_HEADERS: u64 = 8;
const HEADERS: u64 = record::FILE_HEADER + PROGRAM_HEADERS * record::PROGRAM_HEADER;

/// Writes the library; returns its bytes and the offset of the image. Bytes beyond the data of a chunk are zero, and
/// their pages untouched.
pub(crate) fn write(
    inputs: &Inputs<'_>,
    resolved: &Resolved<'_>,
    slots: &Slots,
    stored: &[Stored],
) -> Result<(Vec<u8>, usize), LinkError> {
    let strings = Strings::new(inputs, resolved);
    let relocations = loader_relocations(inputs, &resolved.targets, slots, stored);
    let needed = needed_libraries(resolved);
    let mut tables = vec![
        (SectionId::Hash, record::hash_table_size(strings.names.len())),
        (SectionId::DynamicSymbols, record::SYMBOL * (1 + strings.names.len() as u64)),
        (SectionId::DynamicStrings, strings.bytes.len() as u64),
        (SectionId::Relocations, record::RELA * relocations as u64),
        (SectionId::Dynamic, record::DYNAMIC * (needed.len() as u64 + DYNAMIC_ENTRIES)),
    ];
    tables.extend(slot_tables(inputs.arch, slots));
    if inputs.chunks.iter().any(|c| c.section == SectionId::EhFrame) {
        tables.push((SectionId::EhFrame, 4)); // a length of zero ends the unwinding records
    }
    let names = section_names();
    tables.push((SectionId::SectionNames, names.bytes.len() as u64));
    let layout = Layout::new(&inputs.chunks, &tables, HEADERS, inputs.arch.page_size());

    let headers = layout.present().count() as u64 + 1;
    let mut file = vec![0; (layout.section_headers + headers * record::SECTION_HEADER) as usize];
    let chunks = inputs.chunks.iter().zip(&layout.chunk_offsets);
    for (chunk, &at) in chunks.filter(|(c, _)| c.section != SectionId::Bss) {
        put(&mut file, layout.section(chunk.section).offset + at, chunk.data);
    }
    let addresses = Addresses { inputs, layout: &layout, resolved, slots };
    let rest = addresses.relocate(&mut file, stored)?;
    put_table(&mut file, &layout, SectionId::Hash, &hash_table(&strings.names));
    put_table(&mut file, &layout, SectionId::DynamicSymbols, &dynamic_symbols(&addresses, &strings));
    put_table(&mut file, &layout, SectionId::DynamicStrings, &strings.bytes);
    put_table(&mut file, &layout, SectionId::Relocations, &relocation_table(rest));
    put_table(&mut file, &layout, SectionId::Dynamic, &dynamic_table(&layout, &strings, &needed));
    put_table(&mut file, &layout, SectionId::SectionNames, &names.bytes);
    put(&mut file, 0, &file_headers(inputs.arch, &layout));
    put(&mut file, layout.section_headers, &section_headers(&layout, &names));
    Ok((file, layout.section(SectionId::Image).offset as usize))
}

fn put_table(file: &mut [u8], layout: &Layout, id: SectionId, bytes: &[u8]) {
    put(file, layout.section(id).offset, bytes);
}

/// A string table and the offsets of its names.
#[derive(Default)]
struct Strings<'a> {
    bytes: Vec<u8>,
    names: Vec<&'a str>,
    offsets: Vec<u32>,
}

impl<'a> Strings<'a> {
    /// Names of the dynamic symbols, imports first, then of the libraries needed.
    fn new(inputs: &Inputs<'a>, resolved: &Resolved<'a>) -> Self {
        let mut strings = Strings { bytes: vec![0], ..Strings::default() };
        let imports = resolved.imports.iter().map(|(name, _)| *name);
        let exports = resolved.exports.iter().map(|&n| inputs.symbols[n].name);
        imports.chain(exports).for_each(|name| strings.push(name));
        let symbols = strings.names.len();
        needed_libraries(resolved).iter().for_each(|l| strings.push(l.soname()));
        strings.names.truncate(symbols);
        strings
    }

    fn push(&mut self, name: &'a str) {
        self.offsets.push(self.bytes.len() as u32);
        self.names.push(name);
        self.bytes.extend(name.as_bytes());
        self.bytes.push(0);
    }
}

fn section_names() -> Strings<'static> {
    let mut names = Strings { bytes: vec![0], ..Strings::default() };
    crate::sections::SECTIONS.iter().for_each(|p| names.push(p.name()));
    names
}

fn needed_libraries(resolved: &Resolved<'_>) -> Vec<SystemLibrary> {
    let all = [SystemLibrary::Math, SystemLibrary::C];
    all.into_iter().filter(|l| resolved.imports.iter().any(|(_, of)| of == l)).collect()
}

fn dynamic_symbols(addresses: &Addresses<'_>, strings: &Strings<'_>) -> Vec<u8> {
    let (inputs, resolved) = (addresses.inputs, addresses.resolved);
    let mut out = Record(vec![0; record::SYMBOL as usize]);
    let symbol = |name, info, section, value, size| record::Symbol { name, info, section, value, size };
    let (imports, exports) = strings.offsets.split_at(resolved.imports.len());
    for &name in imports {
        symbol(name, elf::STB_GLOBAL.0 << 4, 0, 0, 0).write(&mut out);
    }
    for (&name, &number) in exports.iter().zip(&resolved.exports) {
        let s = &inputs.symbols[number];
        let Value::Defined { chunk, offset } = s.value else { continue };
        let binding = if s.binding == Binding::Weak { elf::STB_WEAK } else { elf::STB_GLOBAL };
        let kind = if s.is_function { elf::STT_FUNC } else { elf::STT_OBJECT };
        let section = addresses.layout.index(inputs.chunks[chunk].section);
        let address = addresses.of_chunk(chunk, offset);
        symbol(name, binding.0 << 4 | kind.0, section, address, s.size).write(&mut out);
    }
    out.0
}

/// Returns the loader's relocations, relative ones first, as the ABI prefers.
fn relocation_table(mut relocations: Vec<Rela>) -> Vec<u8> {
    relocations.sort_by_key(|r| (r.symbol, r.offset));
    let mut out = Record::default();
    relocations.iter().for_each(|r| r.write(&mut out));
    out.0
}

/// Number of entries of the dynamic table, without `DT_NEEDED`.
const DYNAMIC_ENTRIES: u64 = 11;

fn dynamic_table(layout: &Layout, strings: &Strings<'_>, needed: &[SystemLibrary]) -> Vec<u8> {
    let at = |id| layout.section(id).address;
    let mut out = Record::default();
    for name in &strings.offsets[strings.offsets.len() - needed.len()..] {
        out.u64(elf::DT_NEEDED.0 as u64).u64((*name).into());
    }
    let entries = [
        (elf::DT_HASH, at(SectionId::Hash)),
        (elf::DT_STRTAB, at(SectionId::DynamicStrings)),
        (elf::DT_SYMTAB, at(SectionId::DynamicSymbols)),
        (elf::DT_STRSZ, layout.section(SectionId::DynamicStrings).size),
        (elf::DT_SYMENT, record::SYMBOL),
        (elf::DT_RELA, at(SectionId::Relocations)),
        (elf::DT_RELASZ, layout.section(SectionId::Relocations).size),
        (elf::DT_RELAENT, record::RELA),
        (elf::DT_FLAGS, elf::DF_BIND_NOW.0),
        (elf::DT_FLAGS_1, elf::DF_1_NOW.0),
        (elf::DT_NULL, 0),
    ];
    debug_assert_eq!(entries.len() as u64, DYNAMIC_ENTRIES);
    for (tag, value) in entries {
        out.u64(tag.0 as u64).u64(value);
    }
    out.0
}

fn file_headers(arch: &dyn Arch, layout: &Layout) -> Vec<u8> {
    let mut out = Record::default();
    FileHeader {
        machine: arch.machine(),
        program_headers: PROGRAM_HEADERS as u16,
        section_headers: layout.present().count() as u16 + 1,
        section_headers_at: layout.section_headers,
        names_section: layout.index(SectionId::SectionNames),
    }
    .write(&mut out);
    let mapped = [Segment::Read, Segment::Execute, Segment::RelRo, Segment::Write, Segment::Image];
    let headers: Vec<ProgramHeader> = mapped.into_iter().map(|s| segment_header(layout, s)).collect();
    let relro = &headers[2];
    let relro_end = (relro.address + relro.size).next_multiple_of(layout.page);
    let relro = header(elf::PT_GNU_RELRO, elf::PF_R, relro.offset, relro.address, relro.file_size, relro_end, 1);
    let dynamic = layout.section(SectionId::Dynamic);
    let end = dynamic.address + dynamic.size;
    let rights = elf::PF_R | elf::PF_W;
    let dynamic = header(elf::PT_DYNAMIC, rights, dynamic.offset, dynamic.address, dynamic.size, end, 8);
    let stack = header(elf::PT_GNU_STACK, rights, 0, 0, 0, 0, 16);
    headers.iter().chain([&dynamic, &relro, &stack]).for_each(|h| h.write(&mut out));
    out.0
}

fn header(
    kind: elf::ProgramType,
    flags: elf::ProgramFlags,
    offset: u64,
    address: u64,
    file_size: u64,
    end: u64,
    align: u64,
) -> ProgramHeader {
    ProgramHeader { kind: kind.0, flags: flags.0, offset, address, file_size, size: end - address, align }
}

/// Returns the header of a mapped segment; it is empty if the segment has no sections.
fn segment_header(layout: &Layout, segment: Segment) -> ProgramHeader {
    let rights = match segment {
        Segment::Read | Segment::Image | Segment::None => elf::PF_R,
        Segment::Execute => elf::PF_R | elf::PF_X,
        Segment::RelRo | Segment::Write => elf::PF_R | elf::PF_W,
    };
    let sections: Vec<(SectionId, &Section)> = layout.present().filter(|(p, _)| p.segment() == segment).collect();
    let (Some((_, first)), Some((last_id, last))) = (sections.first(), sections.last()) else {
        return header(elf::PT_NULL, rights, 0, 0, 0, 0, 0);
    };
    let (offset, address) = if segment == Segment::Read { (0, 0) } else { (first.offset, first.address) };
    let file_end = last.offset + last.file_size(*last_id);
    header(elf::PT_LOAD, rights, offset, address, file_end - offset, last.address + last.size, layout.page)
}

fn section_headers(layout: &Layout, names: &Strings<'_>) -> Vec<u8> {
    let mut out = Record(vec![0; record::SECTION_HEADER as usize]);
    for (id, section) in layout.present() {
        let flags = match id.segment() {
            Segment::Read | Segment::Image => elf::SHF_ALLOC,
            Segment::Execute => elf::SHF_ALLOC | elf::SHF_EXECINSTR,
            Segment::RelRo | Segment::Write => elf::SHF_ALLOC | elf::SHF_WRITE,
            Segment::None => elf::SectionFlags(0),
        };
        let address = if id.segment() == Segment::None { 0 } else { section.address };
        // Only the null symbol is local.
        let info = u32::from(id == SectionId::DynamicSymbols);
        out.u32(names.offsets[id as usize]).u32(id.kind().0).u64(flags.0);
        out.u64(address).u64(section.offset).u64(section.size);
        out.u32(id.link().map_or(0, |l| layout.index(l)).into()).u32(info);
        out.u64(section.align).u64(id.entry_size());
    }
    out.0
}
