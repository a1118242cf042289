//! Executables that TVM wrote: read, viewed, and written back byte for byte. A README next to them says how they were
//! made.

use hammock_runtime::{
    Any, Error, Executable, Function, Image, Tensor, Tuple, Vm,
    executable::{
        Constant, ExecutableError, FunctionKind,
        build::{reg, ret},
    },
    library::{self, Library, LibraryError, TvmError, tvm},
    vm::Options,
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tvm").join(name)
}

fn text(name: &str) -> String {
    std::fs::read_to_string(file(name)).unwrap()
}

#[test]
fn executables_of_every_constant_come_back_byte_for_byte() {
    let bytes = std::fs::read(file("constants.bin")).unwrap();
    let executable = Executable::load(&bytes).unwrap();
    assert_eq!(executable.save(), bytes);
    assert_eq!(executable.as_text(), text("constants.txt"));
    assert_eq!(executable.as_python(), text("constants.python"));
    let [Constant::Tensor(floats), .., Constant::Float(half)] = &executable.constants[..] else { panic!() };
    assert_eq!((floats.as_slice::<f32>().unwrap(), *half), (&[0.0, 1.0, 2.0][..], 0.5));

    let vm = Vm::new(Arc::new(Image { executable, ..Image::default() }), Options::default(), |_| Ok(None)).unwrap();
    let result = vm.call("main", &[Any::from(3i64)]).unwrap();
    let fields = result.get::<&Tuple>().unwrap();
    assert_eq!((fields.len(), fields[10].get::<i64>(), fields[11].get::<i64>()), (13, Some(3), Some(-5)));
}

/// Damage to our files is detected; TVM's, which have no checksum, are still read.
#[test]
fn damaged_bytecode_is_refused() {
    let bytes = std::fs::read(file("constants.bin")).unwrap();
    let checked = Executable::load(&bytes).unwrap().save_checked();
    assert!(checked.starts_with(&bytes) && checked.len() == bytes.len() + 16);
    assert_eq!(Executable::load(&checked).unwrap().save(), bytes);
    for position in 0..checked.len() {
        let mut damaged = checked.clone();
        damaged[position] ^= 1 << (position % 8);
        assert!(Executable::load(&damaged).is_err(), "byte {position}");
    }
}

#[test]
fn executables_without_memory_scopes_are_read() {
    let empty = Executable::default().save();
    // The older format differs in its magic number, and has no number of memory scopes after the number of functions.
    let mut older = [&empty[..28], &empty[36..]].concat();
    older[0] = 0x1D;
    assert_eq!(Executable::load(&older).unwrap().save(), empty);
}

#[test]
fn memory_scopes_keep_their_order() {
    let tensor = || Constant::Tensor(Tensor::scalar(1i32).unwrap());
    let scope = |index: i64, name: &str| (index, name.to_owned());
    let mut executable = Executable { constants: vec![tensor(), tensor()], ..Executable::default() };
    executable.memory_scopes = vec![scope(1, "global.texture"), scope(0, "global")];
    let bytes = executable.save();
    assert_eq!(Executable::load(&bytes).unwrap().save(), bytes);
    executable.memory_scopes[0].0 = 0;
    let error = Executable::load(&executable.save()).unwrap_err();
    assert_eq!(error, ExecutableError::Malformed("constant 0 has two memory scopes".into()));
}

#[test]
fn the_executable_of_an_exported_library_is_found() {
    let image = library::image_of(&file("control_flow.so")).unwrap();
    assert_eq!(image.executable.as_text(), text("control_flow.txt"));
    assert_eq!(image.executable.as_python(), text("control_flow.python"));
    assert_eq!(image.executable.stats(), text("control_flow.stats"));
    let bytes = std::fs::read(file("control_flow.so")).unwrap();
    let saved = image.executable.save();
    assert!(bytes.windows(saved.len()).any(|window| window == saved), "the same bytes");
    let modules = tvm::modules(&saved);
    assert!(bytes.windows(modules.len()).any(|window| window == modules), "and the same around them");
}

#[test]
fn exported_libraries_are_refused_where_models_are_loaded() {
    assert!(matches!(Library::open(&file("control_flow.so")), Err(LibraryError::TvmFormat)));
}

#[test]
fn damaged_libraries_of_tvm_are_refused_or_harmless() {
    let bytes = std::fs::read(file("control_flow.so")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.so");
    let read = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        library::image_of(&path)
    };
    for len in (0..bytes.len()).step_by(297) {
        let _ = read(&bytes[..len]);
    }
    // The headers and tables, byte by byte, then samples.
    for position in (0..0x300).chain((0x300..bytes.len()).step_by(97)) {
        for value in [0, 0xFF] {
            let mut damaged = bytes.clone();
            damaged[position] = value;
            let _ = read(&damaged);
        }
    }
    assert!(matches!(read(&library_of(b"no modules")), Err(LibraryError::Tvm(TvmError::Truncated))));
}

/// The exported library with other modules.
fn library_of(modules: &[u8]) -> Vec<u8> {
    let mut bytes = std::fs::read(file("control_flow.so")).unwrap();
    let image = library::image_of(&file("control_flow.so")).unwrap();
    let old = tvm::modules(&image.executable.save());
    let at = bytes.windows(old.len()).position(|window| window == old).unwrap();
    bytes[at..at + modules.len()].copy_from_slice(modules);
    bytes
}

/// `exec_mode="compiled"` only leaves a function's entry in the table.
#[test]
fn bytecode_runs_beside_functions_that_are_machine_code_only() {
    let mut executable = Executable::default();
    let copied = [executable.call(1, "vm.builtin.copy", &[reg(0)]), ret(1)];
    executable.define("copied", 1, 2, &copied);
    let called = [executable.call(1, "main", &[reg(0)]), ret(1)];
    executable.define("calls", 1, 2, &called);
    executable.declare("main");
    let main = executable.functions.iter_mut().find(|function| function.name == "main").unwrap();
    (main.kind, main.num_args, main.register_count) = (FunctionKind::Compiled, 1, 2);
    let executable = Executable::load(&executable.save()).unwrap();
    let vm = Vm::new(Arc::new(Image { executable, ..Image::default() }), Options::default(), |_| Ok(None)).unwrap();
    assert_eq!(vm.call("copied", &[Any::from(3i64)]).unwrap().get::<i64>(), Some(3));
    for name in ["main", "calls"] {
        let error = vm.call(name, &[Any::from(3i64)]).unwrap_err();
        assert!(error.message().contains("`main` has no bytecode, only machine code"), "{error}");
    }
}

/// Adds three floats, like the kernel that the bytecode calls.
fn add(args: &[Any]) -> Result<Any, Error> {
    let [x, y, sum] = [0, 1, 2].map(|i| args[i].get::<&Tensor>().unwrap());
    let floats = |tensor: &Tensor| tensor.as_slice::<f32>().unwrap().to_vec();
    for (i, value) in floats(x).into_iter().zip(floats(y)).map(|(x, y)| x + y).enumerate() {
        // SAFETY: the bytecode passes a result with as many floats, which nobody reads at the same time.
        unsafe { sum.data_ptr().cast::<f32>().add(i).write(value) };
    }
    Ok(Any::NONE)
}

/// TVM's own mixture of both kinds: closures and branches are bytecode, `count` is machine code.
#[test]
fn bytecode_beside_machine_code_of_tvm_runs() {
    let executable = Executable::load(&std::fs::read(file("mixed.bin")).unwrap()).unwrap();
    let image = Arc::new(Image { executable, ..Image::default() });
    let kernel = |name: &str| Ok((name == "add").then(|| Function::new(add)));
    let vm = Vm::new(image, Options::default(), kernel).unwrap();
    let floats = |values: [f32; 3]| Any::from(Tensor::from_slice(&[3], &values).unwrap());
    let (x, y) = (floats([1.0, 2.0, 3.0]), floats([0.5, 0.25, -1.0]));
    let call = |name, args: &[&Any]| vm.call(name, &args.iter().map(|arg| (*arg).clone()).collect::<Vec<_>>());
    let result =
        |name, args: &[&Any]| call(name, args).unwrap().get::<&Tensor>().unwrap().as_slice::<f32>().unwrap().to_vec();
    let condition = |value: bool| Any::from(Tensor::scalar(value).unwrap());
    assert_eq!(result("higher", &[&x, &y]), [1.5f32, 2.25, 2.0]);
    assert_eq!(result("main", &[&condition(true), &x, &y]), [2.0f32, 2.5, 1.0]);
    assert_eq!(result("main", &[&condition(false), &x, &y]), [2.0f32, 4.0, 6.0]);
    let steps = Any::from(Tensor::scalar(2i64).unwrap());
    let error = call("count", &[&steps, &x]).unwrap_err();
    assert!(error.message().contains("`count` has no bytecode, only machine code"), "{error}");
}
