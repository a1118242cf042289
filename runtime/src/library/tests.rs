use super::*;
use crate::bytes::{Put, pad_to};
use crate::executable::{Constant, Executable, build::ret};
use crate::value::{Any, Tensor};
use crate::vm::{Options, Vm};

/// A shared library as a linker would write it: one segment with an image, the kernel `answer`, and the runtime's
/// pointer, which the kernel `runtime` returns.
fn library(image: &[u8]) -> Vec<u8> {
    answering(42, image)
}

/// Like `library`, with a kernel that returns another number.
fn answering(number: u8, image: &[u8]) -> Vec<u8> {
    let runtime_pointer = 0x200u64;
    // Writes an integer (tag 1) to `*result` and returns 0; `result` is the fourth argument, in rcx.
    let answer: &[u8] = &[0xC7, 0x01, 1, 0, 0, 0, 0x48, 0xC7, 0x41, 0x08, number, 0, 0, 0, 0x31, 0xC0, 0xC3];
    let mut runtime = vec![0xC7, 0x01, 1, 0, 0, 0, 0x48, 0x8B, 0x05];
    let after_load = 0x120 + runtime.len() as i32 + 4;
    runtime.put_i32(runtime_pointer as i32 - after_load);
    runtime.put(&[0x48, 0x89, 0x41, 0x08, 0x31, 0xC0, 0xC3]);

    let symbols: [(&str, u64, u64); 4] = [
        (image::SYMBOL, 0x1000, image.len() as u64),
        ("__tvm_ffi_answer", 0x100, answer.len() as u64),
        ("__tvm_ffi_runtime", 0x120, runtime.len() as u64),
        (RUNTIME_SYMBOL, runtime_pointer, 8),
    ];
    let (mut strings, mut table, mut hash) = (vec![0], vec![0; 24], Vec::new());
    for (name, address, size) in symbols {
        table.put_u32(strings.len() as u32);
        table.put(&[0x11, 0, 1, 0]);
        table.put_u64(address);
        table.put_u64(size);
        strings.put(name.as_bytes());
        strings.push(0);
    }
    [1, 5, 1, 0, 2, 3, 4, 0].iter().for_each(|word| hash.put_u32(*word));

    let (hash_at, table_at, strings_at, dynamic_at) = (0x300u64, 0x340u64, 0x400u64, 0x500u64);
    let mut dynamic = Vec::new();
    let entries = [(4, hash_at), (5, strings_at), (6, table_at), (10, strings.len() as u64), (11, 24), (0, 0)];
    entries.iter().for_each(|(tag, value)| [*tag, *value].iter().for_each(|word| dynamic.put_u64(*word)));

    let mut file = b"\x7FELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    file.put(&[3, 0, 62, 0, 1, 0, 0, 0]);
    [0, 64, 0].iter().for_each(|word| file.put_u64(*word));
    file.put(&[0, 0, 0, 0, 64, 0, 56, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
    let len = 0x1000 + image.len() as u64;
    for (kind, flags, at, size) in [(1u32, 7u32, 0, len), (2, 6, dynamic_at, dynamic.len() as u64)] {
        file.put_u32(kind);
        file.put_u32(flags);
        [at, at, at, size, size, 0x1000].iter().for_each(|word| file.put_u64(*word));
    }
    let parts = [
        (0x100, answer),
        (0x120, &runtime),
        (runtime_pointer, &[0; 8]),
        (hash_at, &hash),
        (table_at, &table),
        (strings_at, &strings),
        (dynamic_at, &dynamic),
        (0x1000, image),
    ];
    for (at, part) in parts {
        assert!(file.len() as u64 <= at);
        file.resize(at as usize, 0);
        file.put(part);
    }
    pad_to(&mut file, 64);
    seal::seal(&mut file);
    file
}

fn sample() -> Vec<u8> {
    library(&Image { executable: Executable::default(), ..Image::default() }.save())
}

/// An executable whose function `main` returns a constant tensor.
fn with_a_constant() -> Executable {
    let mut executable = Executable::default();
    let constant = Tensor::from_slice(&[5], &[1i32, 2, 3, 4, 5]).unwrap();
    let constant = executable.constant(Constant::Tensor(constant));
    let body = [executable.call(0, "vm.builtin.copy", &[constant]), ret(0)];
    executable.define("main", 0, 1, &body);
    executable
}

#[test]
#[cfg_attr(miri, ignore = "maps a file")]
fn constants_are_used_where_the_file_is_mapped() {
    let bytes = library(&Image { executable: with_a_constant(), ..Image::default() }.save());
    let path = std::env::temp_dir().join(format!("hammock-constants-{}.so", std::process::id()));
    std::fs::write(&path, &bytes).unwrap();
    let library = Arc::new(Library::open(&path).unwrap());
    std::fs::remove_file(&path).unwrap();
    let mapped = library.contents.bytes().as_ptr_range();
    let vm = Vm::from_library(&library, Options::default()).unwrap();
    let result: Tensor = vm.call("main", &[]).unwrap().get().unwrap();
    assert!(mapped.contains(&result.data_ptr().cast_const()) && result.is_aligned());
    // The constant outlives its library and virtual machine.
    drop((library, vm));
    assert_eq!(result.as_slice::<i32>().unwrap(), [1, 2, 3, 4, 5]);
}

fn call(library: &Library, kernel: &str) -> i64 {
    library.kernel(kernel).unwrap().unwrap().call(&[]).unwrap().get().unwrap()
}

#[test]
#[cfg_attr(miri, ignore = "runs machine code")]
fn kernels_run_from_memory_and_from_files() {
    let bytes = sample();
    let library = Library::from_bytes(Arc::new(bytes.clone()), Integrity::Check).unwrap();
    assert_eq!(library.kernels(), ["answer", "runtime"]);
    assert_eq!(call(&library, "answer"), 42);
    assert_eq!(call(&library, "runtime"), (&raw const crate::ffi::RUNTIME).addr() as i64);
    assert!(library.kernel("absent").unwrap().is_none());

    let path = std::env::temp_dir().join(format!("hammock-library-{}.so", std::process::id()));
    std::fs::write(&path, &bytes).unwrap();
    let kernel = Library::open(&path).unwrap().kernel("answer").unwrap().unwrap();
    assert_eq!(kernel.call(&[]).unwrap().get::<i64>(), Some(42), "the kernel keeps its code mapped");
    std::fs::remove_file(&path).unwrap();
}

/// As where the system has no files in memory.
#[test]
#[cfg_attr(miri, ignore = "runs machine code")]
fn kernels_run_from_copies() {
    // SAFETY: the code is for this machine.
    let load = |bytes: &[u8]| unsafe { shared_library::SharedLibrary::load_copied(bytes, &(0..0)) };
    let bytes = sample();
    let (first, second) = (load(&bytes).unwrap(), load(&bytes).unwrap());
    let address = first.symbol("__tvm_ffi_answer").unwrap();
    assert_ne!(Some(address), second.symbol("__tvm_ffi_answer"));
    // SAFETY: the symbol is a kernel, and the library lives.
    let answer = unsafe {
        Function::from_c(
            std::mem::transmute::<std::ptr::NonNull<std::ffi::c_void>, crate::ffi::SafeCall>(address),
            Arc::new(first),
        )
    };
    assert_eq!(answer.call(&[]).unwrap().get::<i64>(), Some(42));
    assert!(second.symbol("absent").is_none());
    assert!(load(&bytes[..100]).is_err());
}

#[test]
fn damaged_files_are_refused() {
    let bytes = sample();
    let load = |bytes: Vec<u8>| Library::from_bytes(Arc::new(bytes), Integrity::Check).map(|_| ());
    let step = if cfg!(miri) { 307 } else { 1 };
    for len in (0..bytes.len()).step_by(7 * step) {
        assert!(load(bytes[..len].to_vec()).is_err());
    }
    for position in (0..bytes.len()).step_by(step) {
        let mut damaged = bytes.clone();
        damaged[position] ^= 1 << (position % 8);
        assert!(load(damaged).is_err());
    }
}

#[test]
fn nonsense_behind_a_good_seal_is_refused_or_harmless() {
    let bytes = sample();
    for position in (0..0x1000.min(bytes.len())).step_by(if cfg!(miri) { 307 } else { 1 }) {
        for value in [0, 0x7F, 0xFF] {
            let mut damaged = bytes.clone();
            damaged[position] = value;
            let _ = Library::from_bytes(Arc::new(damaged), Integrity::Trust);
        }
    }
    for bytes in [b"".to_vec(), b"\x7FELF".to_vec(), b"#!/bin/sh\n".to_vec()] {
        let mut sealed = bytes;
        seal::seal(&mut sealed);
        assert!(matches!(
            Library::from_bytes(Arc::new(sealed), Integrity::Check),
            Err(LibraryError::Elf(ElfError::NotElf))
        ));
    }
}

#[test]
#[cfg_attr(miri, ignore = "maps a file")]
fn reading_other_than_files_is_an_error() {
    let absent = Library::open(Path::new("/nonexistent/model.so")).err().unwrap();
    assert!(absent.to_string().starts_with("cannot read /nonexistent/model.so: "), "{absent}");
    assert!(Library::open(&std::env::temp_dir()).is_err());
    assert!(Library::appended().unwrap().is_none());
}

#[test]
#[cfg_attr(miri, ignore = "runs machine code")]
fn appended_libraries_run() {
    let program = seal::program(b"a runner".to_vec(), &sample());
    let range = seal::appended(&program).unwrap();
    let loaded = Library::load(Arc::new(program), range, None, Integrity::Check, None).unwrap();
    assert_eq!(loaded.kernel("answer").unwrap().unwrap().call(&[]).unwrap().type_index(), Any::from(0i64).type_index());
}

/// A library whose `main` and kernel return `value`.
fn numbered(value: u8) -> Vec<u8> {
    let mut executable = Executable::default();
    let constant = Tensor::from_slice(&[4096], &[i32::from(value); 4096]).unwrap();
    let constant = executable.constant(Constant::Tensor(constant));
    let body = [executable.call(0, "vm.builtin.copy", &[constant]), ret(0)];
    executable.define("main", 0, 1, &body);
    answering(value, &Image { executable, ..Image::default() }.save())
}

fn constant(library: Library) -> i32 {
    let vm = Vm::from_library(&Arc::new(library), Options::default()).unwrap();
    vm.call("main", &[]).unwrap().get::<Tensor>().unwrap().as_slice::<i32>().unwrap()[4000]
}

/// Between the verification and the first use of a kernel, the path may come to refer to another file.
#[test]
#[cfg_attr(miri, ignore = "maps a file")]
fn verified_bytes_run_after_the_file_was_replaced() {
    let path = std::env::temp_dir().join(format!("hammock-replaced-{}.so", std::process::id()));
    let other = path.with_extension("other");
    for most_read in [0, 1 << 20] {
        std::fs::write(&path, numbered(1)).unwrap();
        let library = Library::of_file(Arc::new(Snapshot::open_with(&path, most_read).unwrap()), None).unwrap();
        std::fs::write(&other, numbered(2)).unwrap();
        std::fs::rename(&other, &path).unwrap();
        assert_eq!((call(&library, "answer"), constant(library)), (1, 1));
    }
    std::fs::remove_file(&path).unwrap();
}

/// Data that was read stays; constants that are too large to be read are not confused with the verified ones.
#[test]
#[cfg_attr(miri, ignore = "maps a file")]
fn files_written_to_after_the_check_change_nothing_unnoticed() {
    let path = std::env::temp_dir().join(format!("hammock-rewritten-{}.so", std::process::id()));
    for len in [0, numbered(2).len()] {
        std::fs::write(&path, numbered(1)).unwrap();
        let read = Library::open(&path).unwrap();
        let mapped = Library::of_file(Arc::new(Snapshot::open_with(&path, 0).unwrap()), None).unwrap();
        std::fs::write(&path, &numbered(2)[..len]).unwrap();
        assert_eq!((call(&read, "answer"), constant(read)), (1, 1));
        assert!(matches!(mapped.kernel("answer"), Err(LibraryError::Changed)), "{len}");
    }
    std::fs::remove_file(&path).unwrap();
}
