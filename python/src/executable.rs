//! `hammock.inspect` and the class `Executable`: the contents of compiled models.
use crate::signature::Signature;
use hammock_runtime::{executable::Constant, image::Image};
use hammock_tools::{signature_text, signatures};
use pyo3::{
    exceptions::PyValueError,
    prelude::*,
    types::{PyDict, PyTuple},
};
use std::{fs, path::PathBuf, sync::Arc};

/// The contents of a compiled model, which is not loaded: none of its code runs.
///
/// `str(executable)` is the signatures of its functions, as `hammock inspect` prints them.
#[pyclass(frozen, module = "hammock")]
pub struct Executable {
    image: Arc<Image>,
    path: PathBuf,
    size: u64,
}

/// Reads a compiled model, a library that TVM exported, or plain bytecode, without running anything.
///
/// Raises OSError if the file cannot be read, and ValueError if it is damaged or no compiled model.
#[pyfunction]
pub fn inspect(py: Python<'_>, path: PathBuf) -> PyResult<Executable> {
    let size = fs::metadata(&path)?.len();
    let image = py.detach(|| hammock_runtime::library::image_of(&path));
    let image = image.map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(Executable { image, path, size })
}

#[pymethods]
impl Executable {
    /// The file.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// The size of the file in bytes.
    #[getter]
    fn size(&self) -> u64 {
        self.size
    }

    /// The signatures of its functions, by name.
    #[getter]
    fn functions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let functions = PyDict::new(py);
        for signature in signatures(&self.image) {
            functions.set_item(signature.function.clone(), Signature(Arc::new(signature)))?;
        }
        Ok(functions)
    }

    /// The dtypes and shapes of its constant tensors.
    #[getter]
    fn constants<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, Bound<'py, PyTuple>)>> {
        let tensors = self.image.executable.constants.iter().filter_map(|constant| match constant {
            Constant::Tensor(tensor) => Some(tensor),
            _ => None,
        });
        tensors.map(|tensor| Ok((tensor.dtype().to_string(), PyTuple::new(py, tensor.shape())?))).collect()
    }

    /// The names of its kernels.
    #[getter]
    fn kernels(&self) -> Vec<&str> {
        self.image.kernels.iter().map(|kernel| kernel.name.as_str()).collect()
    }

    /// The CPUs that its kernels are compiled for, each with the features that a machine must have.
    #[getter]
    fn targets(&self) -> Vec<(&str, Vec<&'static str>)> {
        let versions = self.image.versions.iter();
        versions.map(|version| (version.target.as_str(), version.features.names().collect())).collect()
    }

    /// The bytecode as text, as `hammock inspect --text` prints it.
    fn bytecode(&self) -> String {
        self.image.executable.as_text()
    }

    /// The numbers of its functions, constants and instructions, as `hammock inspect --stats` prints them.
    fn stats(&self) -> String {
        self.image.executable.stats()
    }

    fn __str__(&self) -> String {
        signature_text(&signatures(&self.image))
    }

    fn __repr__(&self) -> String {
        let functions: Vec<&str> = self.image.executable.exported().collect();
        format!("<hammock.Executable {}: {}, {} bytes>", self.path.display(), functions.join(", "), self.size)
    }
}
