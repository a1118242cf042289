//! ONNX models to modules.

use crate::{Failure, input::standard_input};
use hammock_diagnostics::codes;
use hammock_onnx::{Data, ImportOptions, Imported, Weights};
use hammock_runtime::tools::map_file;
use std::{fs::File, io::Read, path::Path};

/// How many bytes tell what a file is.
const HEAD: u64 = 8;

/// Whether a file, or standard input for `-`, is an ONNX model, by its name or its first bytes.
pub fn is_onnx(path: &str) -> bool {
    match path {
        "-" => return standard_input().is_ok_and(|bytes| hammock_onnx::is_model(&bytes)),
        path if path.ends_with(".onnx") => return true,
        _ => {}
    }
    let mut head = Vec::new();
    let regular = |file: &File| file.metadata().is_ok_and(|known| known.is_file());
    let file = File::open(path).ok().filter(regular);
    file.is_some_and(|file| file.take(HEAD).read_to_end(&mut head).is_ok()) && hammock_onnx::is_model(&head)
}

/// Imports an ONNX model; data that it keeps in other files are looked for beside it, unless it is standard input (`-`).
///
/// # Errors
/// When it cannot be read or imported.
pub fn import_onnx(path: &str, weights: Weights) -> Result<Imported, Failure> {
    let imported = if path == "-" {
        hammock_onnx::import(Data::Bytes(standard_input()?), "<stdin>", None, &ImportOptions { weights })
    } else {
        let file = Path::new(path);
        let data = map_file(file).map(Data::File).map_err(|e| Failure::of_input(codes::UNREADABLE_FILE, e))?;
        hammock_onnx::import(data, path, Some(file), &ImportOptions { weights })
    };
    imported.map_err(|errors| {
        let failure = Failure::from(errors.diagnostics);
        match &errors.source {
            Some(source) => failure.within(source),
            None => failure,
        }
    })
}
