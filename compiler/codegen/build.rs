//! Hashes the sources that affect machine code, so that code cached by other builds of Hammock is not reused.

use std::{
    fs,
    hash::{DefaultHasher, Hasher},
    io,
    path::{Path, PathBuf},
};

/// Source folders: the crates that generate code, and the runtime, whose functions code calls.
const SOURCES: [&str; 7] =
    ["../ir/src", "../target/src", "../interp/src", "../loopnest/src", "../kernels/src", "src", "../../runtime/src"];

fn main() -> io::Result<()> {
    let mut hasher = DefaultHasher::new();
    for folder in SOURCES {
        println!("cargo::rerun-if-changed={folder}");
        hash(Path::new(folder), &mut hasher)?;
    }
    println!("cargo::rustc-env=HAMMOCK_SOURCES={:016x}", hasher.finish());
    Ok(())
}

fn hash(path: &Path, hasher: &mut DefaultHasher) -> io::Result<()> {
    hasher.write(path.as_os_str().as_encoded_bytes());
    if path.is_dir() {
        let mut entries: Vec<PathBuf> = fs::read_dir(path)?.map(|e| e.map(|e| e.path())).collect::<io::Result<_>>()?;
        entries.sort();
        return entries.iter().try_for_each(|entry| hash(entry, hasher));
    }
    let bytes = fs::read(path)?;
    hasher.write_usize(bytes.len());
    hasher.write(&bytes);
    Ok(())
}
