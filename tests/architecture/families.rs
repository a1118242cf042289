//! Processor families: what is specific to one is only in the files of [`ROOMS`], so that a new family is a new file in
//! each of them.

use crate::collect;
use std::path::Path;

/// Folders and files with what is specific to a processor family.
const ROOMS: [&str; 5] = [
    "compiler/codegen/src/llvm/arch/",
    "compiler/codegen/src/native/arch.rs",
    "compiler/target/src/arch/",
    "compiler/link/src/arch/",
    "runtime/src/arch/",
];

/// Parts of names, in lower case, that only one family has: other names of it, of its instruction sets and registers.
/// Its own name is that of its file in [`FAMILIES`].
const NAMES: &[&str] = &["amd64", "avx", "f16c", "fpcr", "mxcsr", "pmadd", "sse2", "sse4", "vnni", "x86", "znver"];

/// Folder with one file per family, and these other files.
const FAMILIES: &str = "runtime/src/arch";
const NO_FAMILIES: [&str; 2] = ["mod", "other"];

/// Other files that may have such names, each with its reason.
const EXCEPTIONS: [(&str, &str); 2] = [
    ("compiler/driver/src/target.rs", "names that users try, of architectures that are not supported"),
    ("compiler/kernels/src/schedule/primitives/mod.rs", "documentation of a primitive, which names an instruction set"),
];

#[test]
fn names_of_processor_families_are_only_in_their_rooms() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    ["compiler", "runtime"].into_iter().for_each(|folder| collect(&root.join(folder), &mut files));
    let mut met = [false; EXCEPTIONS.len()];
    let names = names(root);
    for file in files.iter().filter(|file| is_source(file)) {
        let path = file.strip_prefix(root).unwrap().to_str().unwrap();
        let text = std::fs::read_to_string(file).unwrap();
        let Some((line, name)) = first_name(&text, &names).filter(|_| !ROOMS.iter().any(|room| path.starts_with(room)))
        else {
            continue;
        };
        match EXCEPTIONS.iter().position(|(listed, _)| path == *listed) {
            Some(entry) => met[entry] = true,
            None => panic!("{path}:{line} names a processor family (`{name}`): move that to one of {ROOMS:?}"),
        }
    }
    let stale: Vec<_> = EXCEPTIONS.iter().zip(met).filter(|(_, met)| !met).map(|((listed, _), _)| listed).collect();
    assert!(stale.is_empty(), "these exceptions are unnecessary: {stale:?}");
}

/// Returns true for sources that are no tests.
fn is_source(file: &Path) -> bool {
    let is_test = |part: &str| part == "tests" || part == "benches" || part.ends_with("tests.rs");
    !file.components().any(|part| is_test(part.as_os_str().to_str().unwrap()))
}

/// Returns the names that only one family has.
fn names(root: &Path) -> Vec<String> {
    let files = std::fs::read_dir(root.join(FAMILIES)).unwrap().map(|entry| entry.unwrap().path());
    let families = files.map(|file| file.file_stem().unwrap().to_str().unwrap().to_owned());
    let families = families.filter(|name| !NO_FAMILIES.contains(&name.as_str()));
    families.chain(NAMES.iter().map(|name| (*name).to_owned())).collect()
}

/// Returns the line and the name of a family in a source's code, without comments and tests.
fn first_name<'n>(text: &str, names: &'n [String]) -> Option<(usize, &'n str)> {
    let code = text.split("\nmod tests {").next().unwrap_or_default();
    let lines = code.lines().enumerate().map(|(index, line)| (index + 1, line.split("//").next().unwrap_or_default()));
    let lines = lines.filter(|(_, line)| !(line.trim_start().starts_with("#[cfg") && line.contains("test")));
    lines.map(|(number, line)| (number, line.to_lowercase())).find_map(|(number, line)| {
        let name = names.iter().find(|name| line.contains(name.as_str()))?;
        Some((number, name.as_str()))
    })
}
