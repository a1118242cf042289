//! Files of tensors, and the kinds of files that users have around models.

pub(crate) mod file_kind;
pub(crate) mod npy;
pub(crate) mod npz;
pub(crate) mod onnx_tensor;
pub(crate) mod safetensors_file;
mod string_array;

use crate::error::{InputError, brief};
use hammock_runtime::{Tensor, memory::MappedFile, open_regular};
use std::{path::Path, sync::Arc};

/// Maps a file.
///
/// # Errors
/// If it cannot be read, is empty, or is not a regular file.
pub fn map_file(path: &Path) -> Result<Arc<MappedFile>, InputError> {
    let file = open_regular(path).map_err(|e| failed(path, e))?;
    if file.metadata().map_err(|e| failed(path, e))?.len() == 0 {
        return Err(failed(path, "it is empty"));
    }
    let map = MappedFile::new(&file).map_err(|e| failed(path, e))?;
    Ok(Arc::new(map))
}

/// Reads the tensors of a `.npz` file, recognized by its first bytes or extension, or of a safetensors file.
///
/// # Errors
/// If it cannot be read or is damaged, or has an unsupported dtype.
pub(crate) fn load_tensors(path: &Path) -> Result<Vec<(String, Tensor)>, InputError> {
    let map = map_file(path)?;
    let is_npz = map.starts_with(npz::ZIP) || path.extension().is_some_and(|e| e == "npz");
    if is_npz { npz::load_all(path) } else { safetensors_file::load(path, map) }
}

/// The error for a file that cannot be read.
fn failed(path: &Path, error: impl std::fmt::Display) -> InputError {
    InputError::new(format!("cannot read {}: {}", path.display(), brief(&error.to_string())))
}
