//! Reads files: text modules and weights.

use super::{
    onnx::is_onnx,
    stream::{HEAD, MAX_TEXT, expect_end, read_stream, unreadable},
};
use crate::Failure;
use hammock_diagnostics::{SourceFile, codes};
use hammock_import::ReadOptions;
use hammock_ir::Module;
use hammock_runtime::{Tensor, open_regular};
use hammock_tools::{FileKind, Weights, save_weights};
use std::{io::Read, path::Path};

/// Reads the text of a file, or of standard input for `-`; a compiled executable has none.
///
/// # Errors
/// When it cannot be read, or is not a text.
pub fn read_source(path: &str) -> Result<Option<SourceFile>, Failure> {
    let bytes = match read_stream(path)? {
        Some(bytes) => bytes.to_vec(),
        None => read_bytes(path)?,
    };
    if is_onnx(path) && FileKind::of(&bytes).is_none() {
        return Err(onnx_as_text(path));
    }
    source_of(path, bytes)
}

/// The text in the contents of a file; a compiled executable has none.
///
/// # Errors
/// When it is not a text.
pub fn source_of(path: &str, bytes: Vec<u8>) -> Result<Option<SourceFile>, Failure> {
    if let Some(kind) = FileKind::of(&bytes) {
        return match kind.mistaken(path) {
            None => Ok(None),
            Some((message, help)) => Err(Failure::new(codes::UNSUPPORTED_FILE, message).help(help)),
        };
    }
    if hammock_onnx::is_model(&bytes) {
        return Err(onnx_as_text(path));
    }
    let name = if path == "-" { "<stdin>" } else { path };
    SourceFile::from_bytes(name, bytes).map(Some).map_err(Failure::from)
}

/// The error for a model where a text is expected.
fn onnx_as_text(path: &str) -> Failure {
    let failure = Failure::new(codes::UNSUPPORTED_FILE, format!("{path} is an ONNX model, not a text"));
    failure.help("`hammock import` makes a text module of it")
}

/// Reads a text module.
///
/// # Errors
/// When the text is not a module.
pub fn read_text(source: &SourceFile, options: &ReadOptions) -> Result<Module, Failure> {
    hammock_import::read_module(source, options).map_err(|d| Failure::from(d).within(source))
}

/// Reads named tensors from a `.safetensors` or `.npz` file.
///
/// # Errors
/// When the file cannot be read or is damaged.
pub fn read_weights(path: &Path) -> Result<Weights, Failure> {
    Weights::open(path).map_err(|e| Failure::of_input(codes::UNREADABLE_FILE, e))
}

/// Writes named tensors to a `.safetensors` or `.npz` file.
///
/// # Errors
/// When the name is that of neither, it cannot be written, or a tensor has a dtype that such files do not know.
pub fn write_weights(path: &Path, tensors: &[(String, Tensor)]) -> Result<(), Failure> {
    save_weights(path, tensors).map_err(|e| Failure::of_input(codes::UNWRITABLE_FILE, e))
}

/// The bytes of a text, or the first ones of any other file.
fn read_bytes(path: &str) -> Result<Vec<u8>, Failure> {
    let failed = |e: std::io::Error| unreadable(path, &e);
    let mut file = open_regular(path.as_ref()).map_err(failed)?;
    let mut bytes = Vec::new();
    file.by_ref().take(HEAD).read_to_end(&mut bytes).map_err(failed)?;
    if FileKind::of(&bytes).is_none() {
        let len = file.metadata().map_err(failed)?.len();
        SourceFile::expect_length(path, len)?;
        // Files in /proc report a length of 0.
        let most = len.max(MAX_TEXT);
        file.take(most - HEAD).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > len {
            expect_end(path, &bytes, most)?;
        }
    }
    Ok(bytes)
}
