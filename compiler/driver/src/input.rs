//! Files to modules.

use crate::{Failure, import_onnx, is_onnx};
use hammock_diagnostics::{Diagnostic, SourceFile, codes};
use hammock_ir::Module;
use hammock_runtime::{
    Tensor,
    tools::{FileKind, Weights, save_safetensors},
};
use std::{
    io::Read,
    path::Path,
    sync::{Arc, OnceLock},
};

pub use hammock_import::{Constants, ReadOptions, check_module};

/// As many bytes as tell what a file is.
const HEAD: u64 = 4096;

/// What a file turned out to be.
pub enum Input {
    /// A module, with the text that its spans point into: of an ONNX model, a list of its nodes.
    Module(Box<Module>, SourceFile),
    /// A compiled executable, unread.
    Executable,
}

/// Reads a file, or standard input for `-`, and tells a text module, an ONNX model and a compiled executable apart by their
/// first bytes.
///
/// # Errors
/// When it cannot be read, or its text is not a module.
pub fn read_file(path: &str, options: &ReadOptions) -> Result<Input, Failure> {
    if is_onnx(path) {
        let imported = import_onnx(path, hammock_onnx::Weights::Constants)?;
        return Ok(Input::Module(Box::new(imported.module), imported.source));
    }
    let Some(source) = read_source(path)? else { return Ok(Input::Executable) };
    let module = read_text(&source, options)?;
    Ok(Input::Module(Box::new(module), source))
}

/// Reads the text of a file, or of standard input for `-`; a compiled executable has none.
///
/// # Errors
/// When it cannot be read, or is not a text.
pub fn read_source(path: &str) -> Result<Option<SourceFile>, Failure> {
    let bytes = if path == "-" { standard_input()?.to_vec() } else { read_bytes(path)? };
    if let Some(kind) = FileKind::of(&bytes) {
        return match kind.mistaken(path) {
            None => Ok(None),
            Some((message, help)) => Err(Failure::new(codes::UNSUPPORTED_FILE, message).help(help)),
        };
    }
    if is_onnx(path) || hammock_onnx::is_model(&bytes) {
        let message = format!("{path} is an ONNX model, not a text");
        return Err(Failure::new(codes::UNSUPPORTED_FILE, message).help("`hammock import` makes a text module of it"));
    }
    let name = if path == "-" { "<stdin>" } else { path };
    SourceFile::from_bytes(name, bytes).map(Some).map_err(Failure::from)
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

/// Writes named tensors to a `.safetensors` file.
///
/// # Errors
/// When it cannot be written, or a tensor has a dtype that such files do not know.
pub fn write_weights(path: &Path, tensors: &[(String, Tensor)]) -> Result<(), Failure> {
    save_safetensors(path, tensors).map_err(|e| Failure::of_input(codes::UNWRITABLE_FILE, e))
}

/// The bytes of a text; of anything else, those that tell what it is.
fn read_bytes(path: &str) -> Result<Vec<u8>, Failure> {
    let failed = |e: std::io::Error| unreadable(path, &e);
    let mut file = std::fs::File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    file.by_ref().take(HEAD).read_to_end(&mut bytes).map_err(failed)?;
    if FileKind::of(&bytes).is_none() {
        SourceFile::expect_length(path, file.metadata().map_err(failed)?.len())?;
        file.read_to_end(&mut bytes).map_err(failed)?;
    }
    Ok(bytes)
}

/// All of standard input, which is read once.
///
/// # Errors
/// When it cannot be read.
pub fn standard_input() -> Result<Arc<Vec<u8>>, Failure> {
    static READ: OnceLock<Arc<Vec<u8>>> = OnceLock::new();
    if let Some(read) = READ.get() {
        return Ok(read.clone());
    }
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes).map_err(|e| unreadable("-", &e))?;
    Ok(READ.get_or_init(|| Arc::new(bytes)).clone())
}

/// A file that the system does not let be read.
pub fn unreadable(path: &str, error: &std::io::Error) -> Failure {
    let reason = match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        std::io::ErrorKind::IsADirectory => "it is a folder".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    };
    Diagnostic::error(codes::UNREADABLE_FILE, format!("cannot read {path}: {reason}")).into()
}
