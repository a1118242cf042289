//! Input: reads the loaded sections, symbols and relocations of objects.

use crate::{
    LinkError, Object,
    arch::{self, Arch},
    sections::SectionId,
};
use object::{
    BinaryFormat, Object as _, ObjectKind, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget,
    SectionFlags, SymbolIndex, SymbolKind, SymbolSection, elf,
};
use rustc_hash::FxHashMap;

/// Maximum size of a zero-filled section: the range of 32-bit displacements.
const MAX_ZEROS: u64 = 1 << 31;

/// Relocation type without effect, in the ABI of every processor.
const NO_RELOCATION: u32 = 0;

/// A piece of an output section: a section of an object, or data that the linker generates.
pub(crate) struct Chunk<'a> {
    pub section: SectionId,
    pub align: u64,
    /// Bytes in memory; zeros beyond `data`.
    pub size: u64,
    pub data: &'a [u8],
    /// Index of its object and name of the input section, for messages.
    pub object: usize,
    pub name: &'a str,
}

/// A symbol as one object has it.
pub(crate) struct Symbol<'a> {
    pub name: &'a str,
    pub object: usize,
    pub size: u64,
    pub is_function: bool,
    pub binding: Binding,
    pub value: Value,
}

/// Binding and visibility of a symbol.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Binding {
    Local,
    /// Visible to other objects, but not exported.
    Hidden,
    Weak,
    Global,
}

/// Value of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Value {
    Undefined { weak: bool },
    Absolute(u64),
    Defined { chunk: usize, offset: u64 },
}

/// A relocation: a field whose bytes depend on an address.
pub(crate) struct Relocation {
    pub chunk: usize,
    pub offset: u64,
    pub kind: elf::RelocationType,
    pub symbol: usize,
    pub addend: i64,
}

/// Contents of all inputs.
pub(crate) struct Inputs<'a> {
    /// Processor family that the objects are for.
    pub arch: &'static dyn Arch,
    pub chunks: Vec<Chunk<'a>>,
    pub symbols: Vec<Symbol<'a>>,
    pub relocations: Vec<Relocation>,
}

impl<'a> Inputs<'a> {
    pub fn read(objects: &[Object<'a>]) -> Result<Self, LinkError> {
        let arch = arch::DEFAULT;
        let mut inputs = Inputs { arch, chunks: Vec::new(), symbols: Vec::new(), relocations: Vec::new() };
        for (number, object) in objects.iter().enumerate() {
            inputs.read_object(number, *object)?;
        }
        Ok(inputs)
    }

    /// Adds generated data with a global symbol.
    pub fn add(&mut self, symbol: &'a str, chunk: Chunk<'a>) {
        self.symbols.push(Symbol {
            name: symbol,
            object: chunk.object,
            size: chunk.size,
            is_function: false,
            binding: Binding::Global,
            value: Value::Defined { chunk: self.chunks.len(), offset: 0 },
        });
        self.chunks.push(chunk);
    }

    fn read_object(&mut self, number: usize, Object { bytes, renamed }: Object<'a>) -> Result<(), LinkError> {
        let new_name = |name| renamed.iter().find(|(old, _)| old == name).map_or(name, |(_, new)| new.as_str());
        let bad = |e: object::read::Error| LinkError::Malformed { object: number, reason: e.to_string() };
        let file = object::File::parse(bytes).map_err(bad)?;
        let is_object = file.format() == BinaryFormat::Elf && file.kind() == ObjectKind::Relocatable;
        let arch = arch::of(file.architecture()).filter(|_| is_object);
        let arch = arch.filter(|arch| number == 0 || arch.architecture() == self.arch.architecture());
        self.arch = arch.ok_or(LinkError::WrongKind { object: number })?;
        let mut chunk_of = FxHashMap::default();
        for section in file.sections() {
            let name = section.name().map_err(bad)?;
            if let Some(id) = output_section(number, name, section.flags())? {
                chunk_of.insert(section.index(), self.chunks.len());
                let data = section.data().map_err(bad)?;
                let align = section.align().max(1);
                let size = if id == SectionId::Bss { section.size() } else { data.len() as u64 };
                if !align.is_power_of_two() || align > self.arch.page_size() || size > MAX_ZEROS.max(data.len() as u64)
                {
                    return Err(LinkError::Section { object: number, section: name.into() });
                }
                self.chunks.push(Chunk { section: id, align, size, data, object: number, name });
            }
        }
        let mut symbol_of = FxHashMap::default();
        for symbol in file.symbols() {
            symbol_of.insert(symbol.index(), self.symbols.len());
            let value = value_of(&symbol, &chunk_of);
            self.symbols.push(Symbol {
                name: new_name(symbol.name().map_err(bad)?),
                object: number,
                size: symbol.size(),
                is_function: symbol.kind() == SymbolKind::Text,
                binding: binding_of(&symbol),
                value,
            });
        }
        for section in file.sections() {
            if let Some(&chunk) = chunk_of.get(&section.index()) {
                self.read_relocations(chunk, &section, &symbol_of)?;
            }
        }
        Ok(())
    }

    fn read_relocations(
        &mut self,
        chunk: usize,
        section: &object::Section<'a, '_>,
        symbol_of: &FxHashMap<SymbolIndex, usize>,
    ) -> Result<(), LinkError> {
        let (object, name) = (self.chunks[chunk].object, self.chunks[chunk].name);
        for (offset, relocation) in section.relocations() {
            let RelocationFlags::Elf { r_type: kind } = relocation.flags() else { continue };
            if kind.0 == NO_RELOCATION {
                continue;
            }
            let symbol = match relocation.target() {
                RelocationTarget::Symbol(index) => symbol_of.get(&index).copied(),
                _ => None,
            };
            let symbol = symbol.ok_or(LinkError::Relocation { object, section: name.into(), kind: kind.0 })?;
            self.relocations.push(Relocation { chunk, offset, kind, symbol, addend: relocation.addend() });
        }
        Ok(())
    }
}

/// Returns the output section of an input section; `None` if it is not loaded.
fn output_section(object: usize, name: &str, flags: SectionFlags) -> Result<Option<SectionId>, LinkError> {
    let SectionFlags::Elf { sh_type, sh_flags } = flags else { return Ok(None) };
    let has = |flag: elf::SectionFlags| sh_flags.0 & flag.0 != 0;
    let runs_at_load = [elf::SHT_INIT_ARRAY, elf::SHT_FINI_ARRAY, elf::SHT_PREINIT_ARRAY].contains(&sh_type);
    if has(elf::SHF_TLS) || runs_at_load {
        return Err(LinkError::Section { object, section: name.into() });
    }
    Ok(match () {
        () if !has(elf::SHF_ALLOC) || sh_type == elf::SHT_NOTE => None,
        () if sh_type == elf::SHT_NOBITS => Some(SectionId::Bss),
        () if has(elf::SHF_EXECINSTR) => Some(SectionId::Text),
        () if has(elf::SHF_WRITE) && name.starts_with(".data.rel.ro") => Some(SectionId::RelRo),
        () if has(elf::SHF_WRITE) => Some(SectionId::Data),
        () if name == ".eh_frame" => Some(SectionId::EhFrame),
        () => Some(SectionId::ReadOnly),
    })
}

fn value_of(symbol: &object::Symbol<'_, '_>, chunk_of: &FxHashMap<object::SectionIndex, usize>) -> Value {
    match symbol.section() {
        SymbolSection::Absolute | SymbolSection::None => Value::Absolute(symbol.address()),
        SymbolSection::Section(index) => match chunk_of.get(&index) {
            Some(&chunk) => Value::Defined { chunk, offset: symbol.address() },
            None => Value::Undefined { weak: true },
        },
        _ => Value::Undefined { weak: symbol.is_weak() },
    }
}

fn binding_of(symbol: &object::Symbol<'_, '_>) -> Binding {
    let visibility = symbol.flags().elf_visibility().unwrap_or(elf::STV_DEFAULT);
    match () {
        () if symbol.is_local() => Binding::Local,
        () if visibility == elf::STV_HIDDEN || visibility == elf::STV_INTERNAL => Binding::Hidden,
        () if symbol.is_weak() => Binding::Weak,
        () => Binding::Global,
    }
}
