//! Architecture rules: a crate depends only on crates above it in the list, files do not import each other in circles, folders
//! are small, and `unsafe` occurs only in listed files.

mod circles;
mod folders;

mod families;

use std::path::{Path, PathBuf};

/// The crates, in the order in which a model passes through them. `runtime` comes first: the compiler uses its types.
const ORDER: &[&str] = &[
    "hammock-runtime",
    "hammock-capi",
    "hammock-tools",
    "hammock-runner",
    "hammock-diagnostics",
    "hammock-syntax",
    "hammock-asm",
    "hammock-ir",
    "hammock-target",
    "hammock-interp",
    "hammock-loopnest",
    "hammock-ops",
    "hammock-import",
    "hammock-onnx",
    "hammock-passes",
    "hammock-kernels",
    "hammock-codegen",
    "hammock-link",
    "hammock-compiler",
    "hammock-language-server",
    "hammock",
    "hammock-python",
];

/// Further forbidden dependencies between crates of the list.
const FORBIDDEN: &[(&str, &str)] = &[
    ("hammock-diagnostics", "hammock-runtime"),
    ("hammock-syntax", "hammock-runtime"),
    ("hammock-ir", "hammock-syntax"),
    ("hammock-passes", "hammock-syntax"),
    ("hammock-passes", "hammock-import"),
    ("hammock-kernels", "hammock-ops"),
    ("hammock-kernels", "hammock-import"),
    ("hammock-kernels", "hammock-passes"),
    ("hammock-codegen", "hammock-ops"),
    ("hammock-codegen", "hammock-import"),
    ("hammock-codegen", "hammock-passes"),
    ("hammock-link", "hammock-ir"),
    ("hammock-link", "hammock-codegen"),
];

#[test]
fn crates_depend_only_on_crates_above() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders: Vec<PathBuf> = ["", "runtime", "runtime/capi", "runtime/runner", "runtime/tools", "python"]
        .iter()
        .map(|folder| root.join(folder))
        .collect();
    folders.extend(std::fs::read_dir(root.join("compiler")).unwrap().map(|entry| entry.unwrap().path()));
    let mut seen = 0;
    for folder in folders {
        let text = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let (name, dependencies) = read_manifest(&text);
        let own_position = position(&name);
        seen += 1;
        for dependency in dependencies {
            assert!(position(&dependency) < own_position, "{name} imports {dependency}, which comes after it");
            let pair = (name.as_str(), dependency.as_str());
            assert!(!FORBIDDEN.contains(&pair), "{name} must not know {dependency}");
        }
    }
    assert_eq!(seen, ORDER.len(), "a crate is missing from this test's list, or from the tree");
}

fn position(name: &str) -> usize {
    ORDER.iter().position(|n| *n == name).unwrap_or_else(|| panic!("{name} is not in this test's list"))
}

/// Returns a manifest's package name and its dependencies within the workspace, without development dependencies.
fn read_manifest(text: &str) -> (String, Vec<String>) {
    let mut section = "";
    let (mut name, mut dependencies) = (String::new(), Vec::new());
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
        } else if section == "[package]" && line.starts_with("name") {
            name = line.split('"').nth(1).unwrap().to_owned();
        } else if section == "[dependencies]" && line.starts_with("hammock") {
            dependencies.push(line.split(['.', ' ', '=']).next().unwrap().to_owned());
        }
    }
    (name, dependencies)
}

/// Files with `unsafe`, each with its reason. Crates without any forbid it.
const UNSAFE: &[(&str, &str)] = &[
    ("python/src/convert/tensor/array.rs", "the memory of NumPy arrays"),
    ("python/src/convert/borrowed.rs", "tensors that callers lend to callbacks"),
    ("python/src/convert/tensor/buffer.rs", "buffers that Python fills"),
    ("python/src/convert/mod.rs", "objects with a buffer"),
    ("python/src/convert/tensor/dlpack.rs", "tensors of other frameworks"),
    ("python/src/convert/function.rs", "addresses of C functions"),
    ("python/src/interpreter.rs", "the number of the interpreter"),
    ("python/src/convert/python_call.rs", "calls that Python may unwind"),
    ("python/src/signals.rs", "the handle of a thread that is shared without a lock"),
    ("python/src/convert/tensor/mod.rs", "buffers that Python fills"),
    ("runtime/capi/src/", "pointers that C passes"),
    ("runtime/src/arch/", "the register of a thread's floating-point state"),
    ("runtime/src/device/", "memory of devices, and code that is loaded on them"),
    ("runtime/src/ffi/", "functions and tensors of other code"),
    ("runtime/runner/src/no_unwinder.rs", "functions instead of the unwinder's"),
    ("runtime/src/fork.rs", "functions that the system calls at forks"),
    ("runtime/src/image/argument_check.rs", "descriptions compared word by word"),
    ("runtime/src/image/checked.rs", "the mark of a kind of functions"),
    ("runtime/src/image/mod.rs", "an aligned copy"),
    ("runtime/src/library/", "mapped files, and the code in them"),
    ("runtime/src/memory/", "blocks of memory, mapped files"),
    ("runtime/src/module/mod.rs", "the layout of a kind of objects"),
    ("runtime/src/parallel/", "a loop's body lent to other threads"),
    ("runtime/src/sync.rs", "a variable of the C library"),
    ("runtime/src/value/", "objects in tvm-ffi's layout"),
    ("runtime/src/vm/builtin.rs", "builtins in the form of C functions"),
    ("runtime/src/vm/builtins/control.rs", "the mark of a kind of functions"),
    ("runtime/src/vm/builtins/cublas.rs", "matrices that a library of the device multiplies"),
    ("runtime/src/vm/builtins/data/mod.rs", "a field taken out of a shared tuple"),
    ("runtime/src/vm/builtins/kv_pages.rs", "rows written to their slots in pages"),
    ("runtime/src/vm/builtins/shape.rs", "a call's own shape heap"),
    ("runtime/src/vm/builtins/sort.rs", "tensors that kernels describe"),
    ("runtime/src/vm/check.rs", "a call's own shape heap"),
    ("runtime/src/vm/condition.rs", "a condition's byte"),
    ("runtime/src/vm/current.rs", "the program under way on a thread"),
    ("runtime/src/vm/host_check.rs", "flags of calls in progress"),
    ("runtime/src/vm/machine.rs", "frames on a stack of the machine's own"),
    ("runtime/src/vm/machine_code.rs", "frames that machine code works on"),
    ("runtime/src/vm/mod.rs", "the account that a call's memory is counted to"),
    ("runtime/src/vm/native.rs", "machine code"),
    ("runtime/src/vm/program.rs", "a program shared by threads"),
    ("runtime/src/vm/registers.rs", "registers of a frame"),
    ("runtime/tools/src/limits/watchdog.rs", "the end of the process"),
    ("runtime/tools/src/output/mod.rs", "open files by number"),
    ("runtime/tools/src/output/temporary.rs", "files without names, and handlers of signals"),
];

#[test]
fn unsafe_code_is_only_in_listed_files() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in
        ["src", "runtime/src", "runtime/capi/src", "runtime/runner/src", "runtime/tools/src", "compiler", "python/src"]
    {
        collect(&root.join(folder), &mut files);
    }
    let mut met = vec![false; UNSAFE.len()];
    for file in files.iter().filter(|file| !file.components().any(|part| part.as_os_str() == "tests")) {
        let text = std::fs::read_to_string(file).unwrap();
        if !text.lines().any(is_unsafe) {
            continue;
        }
        let path = file.strip_prefix(root).unwrap().to_str().unwrap();
        let entry = UNSAFE.iter().position(|(listed, _)| path.starts_with(listed));
        met[entry.unwrap_or_else(|| panic!("{path} has unsafe code that this test's list does not know of"))] = true;
    }
    let stale: Vec<_> = UNSAFE.iter().zip(&met).filter(|(_, met)| !**met).map(|((listed, _), _)| listed).collect();
    assert!(stale.is_empty(), "there is no unsafe code any more in {stale:?}");
    for manifest in files.iter().filter(|file| file.ends_with("src/lib.rs") || file.ends_with("src/main.rs")) {
        let text = std::fs::read_to_string(manifest).unwrap();
        let may_have = ["runtime", "python"].iter().any(|folder| manifest.starts_with(root.join(folder)));
        assert!(may_have || text.contains("#![forbid(unsafe_code)]"), "{} allows unsafe code", manifest.display());
    }
}

/// Returns true if a line of code, without comments, begins an unsafe block or item.
fn is_unsafe(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    ["unsafe {", "unsafe fn", "unsafe impl", "unsafe trait", "unsafe extern", "#[unsafe("]
        .iter()
        .any(|form| code.contains(form))
}

/// Returns the sources of each crate.
fn source_folders(root: &Path) -> Vec<PathBuf> {
    let mut crates = vec![root.to_path_buf(), root.join("runtime"), root.join("python")];
    for parent in ["runtime", "compiler"] {
        crates.extend(std::fs::read_dir(root.join(parent)).unwrap().map(|entry| entry.unwrap().path()));
    }
    crates.into_iter().map(|folder| folder.join("src")).filter(|src| src.is_dir()).collect()
}

/// Returns the Rust files under a folder.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}
