//! Hand-assembled objects, linked, loaded and called.

use hammock_link::{LinkError, link};
use hammock_runtime::{
    image,
    library::{RUNTIME_SYMBOL, seal},
};
use libloading::Library;
use object::{
    Architecture, BinaryFormat, Endianness, SymbolFlags, SymbolKind, SymbolScope, elf,
    write::{Object, Relocation, SectionId, StandardSection, Symbol, SymbolId, SymbolSection},
};
use proptest::prelude::*;
use std::io::Write;

/// An object under construction.
struct Assembler(Object<'static>);

impl Assembler {
    fn new() -> Self {
        Assembler(Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little))
    }

    fn symbol(&mut self, name: &str, section: SymbolSection, value: u64, kind: SymbolKind) -> SymbolId {
        self.0.add_symbol(Symbol {
            name: name.as_bytes().to_vec(),
            value,
            size: 0,
            kind,
            scope: SymbolScope::Dynamic,
            weak: false,
            section,
            flags: SymbolFlags::None,
        })
    }

    fn undefined(&mut self, name: &str) -> SymbolId {
        self.symbol(name, SymbolSection::Undefined, 0, SymbolKind::Unknown)
    }

    fn define(&mut self, name: &str, section: StandardSection, bytes: &[u8]) -> (SectionId, u64, SymbolId) {
        let kind = if section == StandardSection::Text { SymbolKind::Text } else { SymbolKind::Data };
        let id = self.0.section_id(section);
        let at = self.0.append_section_data(id, bytes, 16);
        (id, at, self.symbol(name, SymbolSection::Section(id), at, kind))
    }

    fn relocate(&mut self, section: SectionId, offset: u64, symbol: SymbolId, kind: elf::RelocationType, addend: i64) {
        let flags = object::RelocationFlags::Elf { r_type: kind };
        self.0.add_relocation(section, Relocation { offset, symbol, addend, flags }).unwrap();
    }

    fn finish(&self) -> Vec<u8> {
        self.0.write().unwrap()
    }
}

fn load(bytes: &[u8]) -> (Library, tempfile::NamedTempFile) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    // SAFETY: the library has no constructors; loading it runs nothing.
    (unsafe { Library::new(file.path()) }.unwrap(), file)
}

/// Returns the address of a symbol.
fn address(library: &Library, name: &str) -> *mut u8 {
    // SAFETY: the symbol is only used as an address.
    *unsafe { library.get::<*mut u8>(name.as_bytes()) }.unwrap_or_else(|e| panic!("{name}: {e}"))
}

type Nullary = unsafe extern "C" fn() -> i64;

fn call(library: &Library, name: &str) -> i64 {
    // SAFETY: every function of these tests takes nothing and returns an integer.
    unsafe { library.get::<Nullary>(name.as_bytes()).unwrap()() }
}

/// `mov symbol@GOTPCREL(%rip), %rax; mov (%rax), %rax; ret`
fn add_got_reader(asm: &mut Assembler, name: &str, symbol: SymbolId, kind: elf::RelocationType) {
    let code = [0x48, 0x8b, 0x05, 0, 0, 0, 0, 0x48, 0x8b, 0x00, 0xc3];
    let (text, at, _) = asm.define(name, StandardSection::Text, &code);
    asm.relocate(text, at + 3, symbol, kind, -4);
}

#[test]
fn data_is_reached_directly_through_slots_and_through_pointers() {
    let mut asm = Assembler::new();
    let (_, _, answer) = asm.define("answer", StandardSection::ReadOnlyData, &42i64.to_le_bytes());
    // mov answer(%rip), %rax; ret
    let (text, at, _) = asm.define("direct", StandardSection::Text, &[0x48, 0x8b, 0x05, 0, 0, 0, 0, 0xc3]);
    asm.relocate(text, at + 3, answer, elf::R_X86_64_PC32, -4);
    add_got_reader(&mut asm, "slot", answer, elf::R_X86_64_GOTPCREL);
    add_got_reader(&mut asm, "relaxed", answer, elf::R_X86_64_REX_GOTPCRELX);
    let (data, at, _) = asm.define("pointer", StandardSection::ReadOnlyDataWithRel, &[0; 8]);
    asm.relocate(data, at, answer, elf::R_X86_64_64, 0);

    let (library, _file) = load(&link(&[&asm.finish()], &[]).unwrap());
    for name in ["direct", "slot", "relaxed"] {
        assert_eq!(call(&library, name), 42, "{name}");
    }
    // SAFETY: `pointer` is a pointer to the eight bytes of `answer`.
    assert_eq!(unsafe { **address(&library, "pointer").cast::<*const i64>() }, 42);
}

#[test]
fn calls_cross_objects_and_reach_the_c_library() {
    let mut first = Assembler::new();
    let other = first.undefined("other");
    // sub $8, %rsp; call other; add $8, %rsp; ret
    let code = [0x48, 0x83, 0xec, 8, 0xe8, 0, 0, 0, 0, 0x48, 0x83, 0xc4, 8, 0xc3];
    let (text, at, _) = first.define("entry", StandardSection::Text, &code);
    first.relocate(text, at + 5, other, elf::R_X86_64_PLT32, -4);

    let mut second = Assembler::new();
    let labs = second.undefined("labs");
    // mov $-7, %rdi; jmp labs
    let code = [0x48, 0xc7, 0xc7, 0xf9, 0xff, 0xff, 0xff, 0xe9, 0, 0, 0, 0];
    let (text, at, _) = second.define("other", StandardSection::Text, &code);
    second.relocate(text, at + 8, labs, elf::R_X86_64_PLT32, -4);

    let (library, _file) = load(&link(&[&first.finish(), &second.finish()], &[]).unwrap());
    assert_eq!(call(&library, "entry"), 7);
}

#[test]
fn the_runtime_table_is_one_writable_pointer() {
    let mut asm = Assembler::new();
    let table = asm.undefined(RUNTIME_SYMBOL);
    add_got_reader(&mut asm, "table", table, elf::R_X86_64_REX_GOTPCRELX);
    let (library, _file) = load(&link(&[&asm.finish()], &[]).unwrap());
    assert_eq!(call(&library, "table"), 0);
    // SAFETY: the linker reserves eight writable bytes for it.
    unsafe { *address(&library, RUNTIME_SYMBOL).cast::<i64>() = 99 };
    assert_eq!(call(&library, "table"), 99);
}

#[test]
fn the_image_is_page_aligned_and_the_file_sealed() {
    let bytes = vec![7u8; 10_000];
    let linked = link(&[], &bytes).unwrap();
    assert_eq!(seal::check(&linked), Ok(()));
    let (library, _file) = load(&linked);
    let start = address(&library, image::SYMBOL);
    assert_eq!(start as usize % 4096, 0);
    // SAFETY: the image is that long.
    assert_eq!(unsafe { std::slice::from_raw_parts(start, bytes.len()) }, bytes);
}

#[test]
fn an_empty_library_loads() {
    let (library, _file) = load(&link(&[], &[]).unwrap());
    assert!(!address(&library, RUNTIME_SYMBOL).is_null());
}

#[test]
fn missing_and_double_symbols_are_named() {
    let mut asm = Assembler::new();
    let missing = asm.undefined("no_such_kernel");
    let (text, at, _) = asm.define("entry", StandardSection::Text, &[0xe9, 0, 0, 0, 0]);
    asm.relocate(text, at + 1, missing, elf::R_X86_64_PLT32, -4);
    let object = asm.finish();
    assert_eq!(
        link(&[&object], &[]).unwrap_err().to_string(),
        "symbol `no_such_kernel`, which object 0 uses, is defined neither by an object nor by libc or libm"
    );
    let mut asm = Assembler::new();
    asm.define("entry", StandardSection::Text, &[0xc3]);
    let object = asm.finish();
    let double = LinkError::Duplicate { symbol: "entry".into(), first: 0, second: 1 };
    assert_eq!(link(&[&object, &object], &[]).unwrap_err(), double);
}

#[test]
fn code_with_absolute_addresses_is_rejected() {
    let mut asm = Assembler::new();
    let (_, _, data) = asm.define("data", StandardSection::Data, &[0; 8]);
    let (text, at, _) = asm.define("entry", StandardSection::Text, &[0; 16]);
    asm.relocate(text, at, data, elf::R_X86_64_64, 0);
    let error = link(&[&asm.finish()], &[]).unwrap_err();
    assert_eq!(error, LinkError::Relocation { object: 0, section: ".text".into(), kind: 1 });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// For any mixture of data, zeros and image, the bytes are found again, and linking twice gives the same file.
    #[test]
    fn data_survives_and_linking_is_deterministic(
        data in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..300), 0..6),
        zeros in 0u64..9000,
        image in prop::collection::vec(any::<u8>(), 0..9000),
    ) {
        let mut asm = Assembler::new();
        for (i, bytes) in data.iter().enumerate() {
            let section = [StandardSection::ReadOnlyData, StandardSection::Data][i % 2];
            asm.define(&format!("data{i}"), section, bytes);
        }
        if zeros > 0 {
            let id = asm.0.section_id(StandardSection::UninitializedData);
            let at = asm.0.append_section_bss(id, zeros, 8);
            asm.symbol("zeros", SymbolSection::Section(id), at, SymbolKind::Data);
        }
        let object = asm.finish();
        let bytes = link(&[&object], &image).unwrap();
        prop_assert_eq!(&bytes, &link(&[&object], &image).unwrap());
        let (library, _file) = load(&bytes);
        for (i, expected) in data.iter().enumerate() {
            // SAFETY: the symbol is the address of that many bytes.
            let found = unsafe { std::slice::from_raw_parts(address(&library, &format!("data{i}")), expected.len()) };
            prop_assert_eq!(found, &expected[..]);
        }
        if zeros > 0 {
            // SAFETY: the section has that many bytes.
            let found = unsafe { std::slice::from_raw_parts(address(&library, "zeros"), zeros as usize) };
            prop_assert!(found.iter().all(|b| *b == 0));
        }
    }

    /// A damaged object gives an error or a library, never a panic.
    #[test]
    fn damaged_objects_do_not_panic(at in 0usize..900, to in any::<u8>(), cut in 0usize..900) {
        let mut asm = Assembler::new();
        let (_, _, data) = asm.define("data", StandardSection::ReadOnlyData, &[1; 40]);
        add_got_reader(&mut asm, "slot", data, elf::R_X86_64_GOTPCREL);
        let mut object = asm.finish();
        if let Some(byte) = object.get_mut(at) {
            *byte = to;
        }
        let _ = link(&[&object], &[]);
        let _ = link(&[&object[..cut.min(object.len())]], &[]);
    }
}
