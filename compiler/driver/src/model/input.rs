//! Reads files: text modules, ONNX models, weights.

use super::onnx::{import_onnx, is_onnx};
use crate::Failure;
use hammock_diagnostics::{Diagnostic, SourceFile, codes};
use hammock_import::ReadOptions;
use hammock_ir::Module;
use hammock_onnx::ImportOptions;
use hammock_runtime::{
    Tensor,
    memory::reserve,
    open_regular,
    tools::{FileKind, Weights, save_weights},
};
use std::{
    collections::BTreeMap,
    io::Read,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

/// Number of bytes that are read to determine the kind of a file.
const HEAD: u64 = 4096;
/// Maximum length in bytes of a text whose length is unknown.
const MAX_TEXT: u64 = 256 << 20;
/// Maximum length of an ONNX model from a stream: protobuf has no larger messages.
const MAX_ONNX: u64 = 2 << 30;
/// Number of bytes of a stream that are read at a time.
const PIECE: u64 = 1 << 20;

/// Contents of a file.
pub enum Input {
    /// A module, with the text that its spans point into: of an ONNX model, a list of its nodes.
    Module(Box<Module>, SourceFile),
    /// A compiled executable, unread.
    Executable,
}

/// Reads a file, or standard input for `-`, and tells a text module, an ONNX model and a compiled executable apart by their
/// first bytes. `options` are for texts, `onnx` for ONNX models.
///
/// # Errors
/// When it cannot be read, or its text is not a module.
pub fn read_file(path: &str, options: &ReadOptions, onnx: &ImportOptions) -> Result<Input, Failure> {
    if is_onnx(path) {
        let imported = import_onnx(path, onnx)?;
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
    let bytes = match read_stream(path)? {
        Some(bytes) => bytes.to_vec(),
        None => read_bytes(path)?,
    };
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

/// Bytes of a stream, which can be read only once: standard input (`-`), a FIFO, a device. They are cached. Of a stream that is
/// neither a text nor an ONNX model, only the beginning is read. `None` for a regular file or a folder.
///
/// # Errors
/// When it cannot be read, or is longer than such a text or model may be.
pub fn read_stream(path: &str) -> Result<Option<Arc<Vec<u8>>>, Failure> {
    static READ: Mutex<BTreeMap<String, Arc<Vec<u8>>>> = Mutex::new(BTreeMap::new());
    if path != "-" && !std::fs::metadata(path).is_ok_and(|known| !known.is_file() && !known.is_dir()) {
        return Ok(None);
    }
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(bytes) = read.get(path) {
        return Ok(Some(bytes.clone()));
    }
    let bytes = match path {
        "-" => read_bounded(path, std::io::stdin().lock()),
        path => read_bounded(path, std::fs::File::open(path).map_err(|e| unreadable(path, &e))?),
    };
    let bytes = Arc::new(bytes?);
    read.insert(path.to_owned(), bytes.clone());
    Ok(Some(bytes))
}

/// Reads a text or an ONNX model of limited length to its end.
fn read_bounded(path: &str, mut from: impl Read) -> Result<Vec<u8>, Failure> {
    let failed = |e: std::io::Error| unreadable(path, &e);
    let mut bytes = Vec::new();
    from.by_ref().take(HEAD).read_to_end(&mut bytes).map_err(failed)?;
    let most = match hammock_onnx::is_model(&bytes) {
        true => MAX_ONNX,
        false if FileKind::of(&bytes).is_some() => return Ok(bytes),
        false if bytes.contains(&0) => {
            let message = format!("{path} is neither a text nor an ONNX model");
            return Err(Failure::new(codes::UNSUPPORTED_FILE, message)
                .help("files of other kinds are read by their names, not from a stream"));
        }
        false => MAX_TEXT,
    };
    while (bytes.len() as u64) < most {
        // The memory limit applies before the bytes are allocated.
        let _room =
            reserve(bytes.len() + PIECE as usize).map_err(|e| Failure::new(codes::RUN_FAILED, e.to_string()))?;
        if from.by_ref().take(PIECE.min(most - bytes.len() as u64)).read_to_end(&mut bytes).map_err(failed)? == 0 {
            return Ok(bytes);
        }
    }
    expect_end(path, &bytes, most)?;
    Ok(bytes)
}

/// Refuses a file that is longer than the limit.
fn expect_end(path: &str, bytes: &[u8], most: u64) -> Result<(), Failure> {
    if (bytes.len() as u64) < most {
        return Ok(());
    }
    let message = format!("{path} has {most} bytes or more, or no end");
    Err(Failure::new(codes::FILE_TOO_LONG, message)
        .help("keep weights in a file beside the text, and give that with `--params`"))
}

/// An error of the system when a file is opened or read.
pub fn unreadable(path: &str, error: &std::io::Error) -> Failure {
    let reason = match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        std::io::ErrorKind::IsADirectory => "it is a folder".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    };
    Diagnostic::error(codes::UNREADABLE_FILE, format!("cannot read {path}: {reason}")).into()
}
