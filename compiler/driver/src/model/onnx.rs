//! Reads ONNX models.

use super::stream::read_stream;
use crate::Failure;
use hammock_diagnostics::codes;
use hammock_onnx::{Data, Errors, ImportOptions, Imported};
use hammock_runtime::open_regular;
use hammock_tools::map_file;
use std::{
    io::Read,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Number of bytes that are read to recognize a model.
const HEAD: u64 = 8;

/// Returns true if a file, or standard input for `-`, is an ONNX model, by its name or its first bytes.
pub fn is_onnx(path: &str) -> bool {
    match read_stream(path) {
        Ok(Some(bytes)) => hammock_onnx::is_model(&bytes),
        Ok(None) => path.ends_with(".onnx") || begins_as_onnx(path),
        Err(_) => false,
    }
}

/// Returns true if a regular file begins like an ONNX model.
fn begins_as_onnx(path: &str) -> bool {
    let mut head = Vec::new();
    let read = open_regular(path.as_ref()).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    read.is_ok() && hammock_onnx::is_model(&head)
}

/// Files with a model's external data, as far as they are known before it is imported; links to them may lead to
/// `data_folders`.
pub fn data_files(path: &str, data_folders: &[PathBuf]) -> Vec<PathBuf> {
    let is_regular = path != "-" && std::fs::metadata(path).is_ok_and(|known| known.is_file());
    if is_regular && is_onnx(path) { hammock_onnx::data_files(Path::new(path), data_folders) } else { Vec::new() }
}

/// Imports an ONNX model. Its external data are in its folder; a stream (`-`) cannot have any.
///
/// # Errors
/// If it cannot be read or imported.
pub fn import_onnx(path: &str, options: &ImportOptions) -> Result<Imported, Failure> {
    if let Some(bytes) = read_stream(path)? {
        return import_bytes(bytes, if path == "-" { "<stdin>" } else { path }, options);
    }
    let file = Path::new(path);
    let data = map_file(file).map(Data::File).map_err(|e| Failure::of_input(codes::UNREADABLE_FILE, e))?;
    hammock_onnx::import(data, path, Some(file), options).map_err(|errors| failure(*errors))
}

/// Imports an ONNX model in memory, which cannot have external data. Messages refer to it as `name`.
///
/// # Errors
/// If it cannot be imported.
pub fn import_bytes(bytes: Arc<Vec<u8>>, name: &str, options: &ImportOptions) -> Result<Imported, Failure> {
    hammock_onnx::import(Data::Bytes(bytes), name, None, options).map_err(|errors| failure(*errors))
}

fn failure(errors: Errors) -> Failure {
    let failure = Failure::from(errors.diagnostics);
    match &errors.source {
        Some(source) => failure.within(source),
        None => failure,
    }
}
