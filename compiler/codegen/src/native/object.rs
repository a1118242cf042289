//! Object file with the code of the functions.
use super::{NativeError, PREFIX, VERSION, arch::architecture};
use hammock_runtime::vm::native::VERSION_SYMBOL;
use hammock_target::Family;
use object::write::{self, SectionId, StandardSection, Symbol, SymbolSection};
use object::{BinaryFormat, Endianness, SymbolFlags, SymbolKind, SymbolScope};

/// An ELF object under construction.
pub(super) struct Object(write::Object<'static>);

impl Object {
    pub(super) fn new(family: Family) -> Object {
        let mut object = Object(write::Object::new(BinaryFormat::Elf, architecture(family), Endianness::Little));
        let constants = object.0.section_id(StandardSection::ReadOnlyData);
        object.add(constants, VERSION_SYMBOL.to_owned(), SymbolKind::Data, &VERSION.to_le_bytes(), 8);
        object
    }

    /// Adds a function's code.
    pub(super) fn function(&mut self, name: &str, code: &[u8], alignment: u32) {
        let text = self.0.section_id(StandardSection::Text);
        self.add(text, format!("{PREFIX}{name}"), SymbolKind::Text, code, u64::from(alignment.max(16)));
    }

    fn add(&mut self, section: SectionId, name: String, kind: SymbolKind, data: &[u8], alignment: u64) {
        let value = self.0.append_section_data(section, data, alignment);
        self.0.add_symbol(Symbol {
            name: name.into_bytes(),
            value,
            size: data.len() as u64,
            kind,
            scope: SymbolScope::Dynamic,
            weak: false,
            section: SymbolSection::Section(section),
            flags: SymbolFlags::None,
        });
    }

    /// Returns the object's bytes.
    pub(super) fn write(self) -> Result<Vec<u8>, NativeError> {
        self.0.write().map_err(|error| NativeError::Object(error.to_string()))
    }
}
