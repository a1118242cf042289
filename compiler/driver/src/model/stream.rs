//! Streams: standard input (`-`), FIFOs, devices.

use crate::Failure;
use hammock_diagnostics::{Diagnostic, codes};
use hammock_runtime::memory::reserve;
use hammock_tools::FileKind;
use std::{
    collections::BTreeMap,
    io::Read,
    sync::{Arc, Mutex, PoisonError},
};

/// Number of bytes that are read to determine the kind of a file.
pub const HEAD: u64 = 4096;
/// Maximum length in bytes of a text whose length is unknown.
pub const MAX_TEXT: u64 = 256 << 20;
/// Maximum length of an ONNX model from a stream: protobuf has no larger messages.
const MAX_ONNX: u64 = 2 << 30;
/// Number of bytes of a stream that are read at a time.
const PIECE: u64 = 1 << 20;

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
pub fn expect_end(path: &str, bytes: &[u8], most: u64) -> Result<(), Failure> {
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
