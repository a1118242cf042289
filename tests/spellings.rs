//! Older TVMScript dialects: `tests/spellings/VERSION/FILE` is `ir-examples/FILE` as that version of TVM printed it,
//! and parses to the same module.

use hammock_compiler::{ReadOptions, read_text};
use hammock_diagnostics::SourceFile;
use hammock_ir::{Module, equal};
use std::path::{Path, PathBuf};

#[test]
fn older_dialects_parse_to_the_same_modules() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    // Missing are examples that a version cannot express, and those that are newer than the folder.
    for (version, min_count) in [("0.13", 19), ("0.25", 20)] {
        let folder = root.join("tests/spellings").join(version);
        let examples = modules_in(&folder);
        assert!(examples.len() >= min_count, "{version}: {examples:?}");
        for example in &examples {
            let (old, today) = (folder.join(example), root.join("ir-examples").join(example));
            for name in names_of_modules(&today) {
                let same = equal::modules(&read(&old, &name), &read(&today, &name));
                assert_eq!(same, Ok(()), "{} against {}, {name}", old.display(), today.display());
            }
        }
    }
}

/// Returns the relative paths of text modules under a folder.
fn modules_in(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap().map(|e| e.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else if entry.extension().is_some_and(|e| e == "py") && !names_of_modules(&entry).is_empty() {
                found.push(entry.strip_prefix(folder).unwrap().to_owned());
            }
        }
    }
    found
}

fn names_of_modules(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    let mut names = Vec::new();
    while lines.any(|line| line == "@I.ir_module") {
        let class = lines.next().and_then(|line| line.strip_prefix("class ")).unwrap();
        names.push(class.trim_end_matches(':').to_owned());
    }
    names
}

fn read(path: &Path, module: &str) -> Module {
    let source = SourceFile::new(path.display().to_string(), std::fs::read_to_string(path).unwrap()).unwrap();
    let options = ReadOptions { module: Some(module.to_owned()), ..ReadOptions::default() };
    read_text(&source, &options).unwrap_or_else(|failure| panic!("{}", failure.render(false)))
}
