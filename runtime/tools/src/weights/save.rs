//! Weights files that commands write: the extension selects the format.

use crate::{
    error::InputError,
    formats::{npy, npz::save_npz, safetensors_file::save_safetensors},
};
use hammock_runtime::Tensor;
use std::path::Path;

/// Format of a weights file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightsFormat {
    /// safetensors, which are mapped when they are read.
    Safetensors,
    /// numpy's archive of arrays.
    Npz,
}

impl WeightsFormat {
    /// The format of a file by its name: safetensors without an extension, and for files that are not regular
    /// (`/dev/null`).
    ///
    /// # Errors
    /// If it has another extension.
    pub fn of(path: &Path) -> Result<WeightsFormat, InputError> {
        if std::fs::metadata(path).is_ok_and(|known| !known.is_file() && !known.is_dir()) {
            return Ok(WeightsFormat::Safetensors);
        }
        match path.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase).as_deref() {
            Some("safetensors") | None => Ok(WeightsFormat::Safetensors),
            Some("npz") => Ok(WeightsFormat::Npz),
            _ => {
                let message = format!("cannot tell from the name {} how to write weights", path.display());
                Err(InputError::new(message).help("name a .safetensors or an .npz file"))
            }
        }
    }
}

/// Writes tensors by name, in the format of the file's extension.
///
/// # Errors
/// If the extension is unknown, the format lacks the dtype of a tensor, or the file cannot be written.
pub fn save_weights(path: &Path, tensors: &[(String, Tensor)]) -> Result<(), InputError> {
    if WeightsFormat::of(path)? == WeightsFormat::Safetensors {
        return save_safetensors(path, tensors);
    }
    if let Some((name, tensor)) = tensors.iter().find(|(_, tensor)| !npy::has_dtype(tensor.dtype())) {
        let message = format!(
            "cannot write {}: .npz files cannot hold tensor `{name}`, which is {}",
            path.display(),
            tensor.dtype()
        );
        return Err(InputError::new(message).help("name a .safetensors file"));
    }
    save_npz(path, tensors)
}
