//! Folders are small enough to take in at a glance.

use crate::source_folders;
use std::path::{Path, PathBuf};

/// Maximum number of files and folders in a folder of sources.
const MAX_ENTRIES: usize = 25;

/// Folders with more entries, each with its reason.
const LARGER: &[(&str, &str)] = &[
    ("compiler/onnx/src/ops", "a file for each family of operators"),
    ("runtime/src", "a file or folder for each part of the runtime, listed in the documentation of the crate"),
    ("src", "a file for each subcommand"),
];

#[test]
fn folders_have_few_entries() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut larger = Vec::new();
    source_folders(root).iter().for_each(|src| find_larger(src, &mut larger));
    let mut found: Vec<&str> =
        larger.iter().map(|folder| folder.strip_prefix(root).unwrap().to_str().unwrap()).collect();
    found.sort_unstable();
    let listed: Vec<&str> = LARGER.iter().map(|(folder, _)| *folder).collect();
    assert_eq!(found, listed, "folders with more than {MAX_ENTRIES} entries, and those that the list allows");
}

/// Adds the folders under a folder, itself included, that have more than [`MAX_ENTRIES`] entries.
fn find_larger(folder: &Path, larger: &mut Vec<PathBuf>) {
    let entries: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    if entries.len() > MAX_ENTRIES {
        larger.push(folder.to_path_buf());
    }
    entries.iter().filter(|entry| entry.is_dir()).for_each(|folder| find_larger(folder, larger));
}
