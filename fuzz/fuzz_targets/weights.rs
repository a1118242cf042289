//! Any bytes as a file of tensors, `.npy`, `.npz` or safetensors: refused, or read.
#![no_main]

#[allow(dead_code)]
#[path = "../../runtime/tools/tests/damaged_files/survive.rs"]
mod survive;

use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static FOLDER: LazyLock<tempfile::TempDir> = LazyLock::new(|| tempfile::tempdir().expect("a folder for the files"));

fuzz_target!(|bytes: &[u8]| drop(survive::survive(bytes, &FOLDER.path().join("file"))));
