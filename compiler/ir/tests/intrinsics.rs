//! Intrinsics are declared in one table: sources name only those in it, and list them nowhere else.

use hammock_ir::prim::intrinsics::lookup;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Files that list more than two intrinsics at once, with the reason.
const LISTS: &[(&str, &str)] = &[
    ("ir/src/prim/intrinsics.rs", "declares them"),
    ("ir/src/prim/math.rs", "has functions of the C library"),
    ("link/src/imports.rs", "has functions of the C library"),
    ("ir/src/bounds/arithmetic.rs", "computes with them in 64 bits"),
    ("import/src/script/intrinsics/mod.rs", "says who reads which"),
    ("import/src/script/intrinsics/nodes.rs", "reads them"),
    ("interp/src/intrinsic.rs", "computes them"),
    ("kernels/src/lower/legalize/integer.rs", "computes them of integers"),
    ("kernels/src/math/mod.rs", "computes them of floats"),
    ("codegen/src/llvm/emit/intrinsic.rs", "computes them by LLVM's"),
    ("codegen/src/llvm/emit/device/cooperation.rs", "has none of them on GPUs"),
    ("codegen/src/llvm/arch/nvptx.rs", "knows since which GPU they are"),
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.file_name().and_then(|name| name.to_str()) {
            Some("tests" | "tests.rs" | "target" | "benches") => {}
            _ if path.is_dir() => sources(&path, found),
            _ if path.extension().is_some_and(|e| e == "rs") => found.push(path),
            _ => {}
        }
    }
}

/// The sources of the compiler, without their tests: path and text.
fn compiler() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = Vec::new();
    sources(root, &mut found);
    assert!(found.len() > 300, "the sources are elsewhere");
    let name = |path: &Path| path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
    found.iter().map(|path| (name(path), before_tests(&fs::read_to_string(path).unwrap()))).collect()
}

fn before_tests(text: &str) -> String {
    text.split("#[cfg(test)]").next().unwrap().to_owned()
}

/// The string literal at the beginning of a text.
fn string(text: &str) -> Option<&str> {
    text.strip_prefix('"')?.split('"').next()
}

#[test]
fn sources_name_intrinsics_that_there_are() {
    let mut named = 0;
    for (file, text) in compiler().iter().filter(|(file, _)| !file.starts_with("kernels/src/math/")) {
        for before in ["as_intrin(", "PrimExpr::intrin(", ".unary("] {
            for name in text.split(before).skip(1).filter_map(string) {
                assert!(name == "vector_any" || lookup(name).is_some(), "{file}: `{name}` is no intrinsic");
                named += 1;
            }
        }
    }
    assert!(named > 100, "{named}");
}

#[test]
fn nothing_else_lists_intrinsics() {
    let (mut lists, sources) = (Vec::new(), compiler());
    // Operators have names like these.
    for (file, text) in sources.iter().filter(|(file, _)| !file.starts_with("ops/")) {
        let strings: Vec<&str> = text.split('"').collect();
        // Strings are at odd indices, the text between them at even ones.
        let listed = strings.windows(5).skip(1).step_by(2).any(|w| {
            let between = [w[1], w[3]].iter().all(|text| matches!(text.trim(), "|" | ","));
            between && [w[0], w[2], w[4]].iter().all(|name| lookup(name).is_some())
        });
        if listed && !LISTS.iter().any(|(known, _)| known == file) {
            lists.push(file);
        }
    }
    assert!(lists.is_empty(), "what these list belongs into the table of `prim/intrinsics.rs`: {lists:?}");
}
