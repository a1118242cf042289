//! Weights by name: `.safetensors` files, used in place, and `.npz` files.

use super::{InputError, load_npz};
use crate::{DType, Tensor, value::SharedBytes};
use memmap2::Mmap;
use safetensors::{
    Dtype, SafeTensors,
    tensor::{TensorView, serialize_to_file},
};
use std::{collections::HashMap, fs::File, path::Path, sync::Arc};

/// Tensors by name, in the order of the file.
#[derive(Clone, Debug, Default)]
pub struct Weights {
    tensors: Vec<(String, Tensor)>,
    index: HashMap<String, usize>,
}

impl Weights {
    /// Reads a `.npz` file, or any other as safetensors. Tensors of a safetensors file stay in the file, mapped, as
    /// long as they are aligned there.
    ///
    /// # Errors
    /// When the file cannot be read or is damaged, or holds a dtype that tensors cannot have.
    pub fn open(path: &Path) -> Result<Weights, InputError> {
        let tensors = if path.extension().is_some_and(|e| e == "npz") { npz(path)? } else { safetensors(path)? };
        Ok(tensors.into_iter().collect())
    }

    /// The tensor of that name.
    pub fn get(&self, name: &str) -> Option<&Tensor> {
        self.index.get(name).map(|i| &self.tensors[*i].1)
    }

    /// Names and tensors in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        self.tensors.iter().map(|(n, t)| (n.as_str(), t))
    }
}

impl FromIterator<(String, Tensor)> for Weights {
    fn from_iter<I: IntoIterator<Item = (String, Tensor)>>(tensors: I) -> Weights {
        let tensors: Vec<_> = tensors.into_iter().collect();
        let index = tensors.iter().enumerate().map(|(i, (n, _))| (n.clone(), i)).collect();
        Weights { tensors, index }
    }
}

/// Writes tensors by name as a safetensors file.
///
/// # Errors
/// When a tensor has a dtype that such files cannot hold, or the file cannot be written.
pub fn save_safetensors(path: &Path, tensors: &[(String, Tensor)]) -> Result<(), InputError> {
    let written = |error: &dyn std::fmt::Display| InputError::new(format!("cannot write {}: {error}", path.display()));
    let dense: Vec<Tensor> =
        tensors.iter().map(|(_, t)| t.to_contiguous()).collect::<Result<_, _>>().map_err(|e| written(&e))?;
    let mut views = Vec::with_capacity(tensors.len());
    for ((name, _), tensor) in tensors.iter().zip(&dense) {
        let dtype = DTYPES.iter().find(|(_, ours)| *ours == tensor.dtype()).ok_or_else(|| {
            written(&format_args!("safetensors files cannot hold tensor `{name}`, which is {}", tensor.dtype()))
        })?;
        let shape = tensor.shape().iter().map(|d| *d as usize).collect();
        let bytes = tensor.as_bytes().map_err(|e| written(&e))?;
        views.push((name.as_str(), TensorView::new(dtype.0, shape, bytes).map_err(|e| written(&e))?));
    }
    serialize_to_file(views, None, path).map_err(|e| written(&e))
}

fn failed(path: &Path, error: impl std::fmt::Display) -> InputError {
    InputError::new(format!("cannot read {}: {error}", path.display()))
}

fn npz(path: &Path) -> Result<Vec<(String, Tensor)>, InputError> {
    let file = File::open(path).map_err(|e| failed(path, e))?;
    let archive = zip::ZipArchive::new(file).map_err(|e| failed(path, e))?;
    let names: Vec<String> = archive.file_names().filter_map(|n| n.strip_suffix(".npy")).map(str::to_owned).collect();
    names.into_iter().map(|n| load_npz(path, &n).map(|t| (n, t))).collect()
}

fn safetensors(path: &Path) -> Result<Vec<(String, Tensor)>, InputError> {
    let file = File::open(path).map_err(|e| failed(path, e))?;
    // SAFETY: the mapping is read only; as with every mapped file, nobody may change it while it is used.
    let map = unsafe { Mmap::map(&file) }.map_err(|e| failed(path, e))?;
    let bytes: SharedBytes = Arc::new(map);
    let whole = (*bytes).as_ref();
    let file = SafeTensors::deserialize(whole)
        .map_err(|e| failed(path, format!("it is not a safetensors file, or damaged: {e}")))?;
    let mut found = Vec::new();
    for (name, view) in file.tensors() {
        let (_, dtype) = *DTYPES.iter().find(|(theirs, _)| *theirs == view.dtype()).ok_or_else(|| {
            failed(path, format!("tensor `{name}` has dtype {:?}, which is not supported", view.dtype()))
        })?;
        let shape = view.shape().iter().map(|d| *d as i64).collect::<Vec<_>>();
        let data = view.data();
        let start = data.as_ptr() as usize - whole.as_ptr() as usize;
        let tensor = if start.is_multiple_of(dtype.bytes().max(1)) {
            Tensor::from_shared(dtype, &shape, bytes.clone(), start..start + data.len())
        } else {
            Tensor::from_bytes(dtype, &shape, data)
        };
        found.push((start, name, tensor.map_err(|e| failed(path, e))?));
    }
    found.sort_by_key(|(start, ..)| *start);
    Ok(found.into_iter().map(|(_, name, tensor)| (name, tensor)).collect())
}

/// The dtypes of safetensors files.
const DTYPES: [(Dtype, DType); 15] = [
    (Dtype::BOOL, DType::BOOL),
    (Dtype::U8, DType::UINT8),
    (Dtype::I8, DType::INT8),
    (Dtype::I16, DType::INT16),
    (Dtype::U16, DType::UINT16),
    (Dtype::F16, DType::FLOAT16),
    (Dtype::BF16, DType::BFLOAT16),
    (Dtype::I32, DType::INT32),
    (Dtype::U32, DType::UINT32),
    (Dtype::F32, DType::FLOAT32),
    (Dtype::F64, DType::FLOAT64),
    (Dtype::I64, DType::INT64),
    (Dtype::U64, DType::UINT64),
    (Dtype::F8_E4M3, DType::FLOAT8_E4M3FN),
    (Dtype::F8_E5M2, DType::FLOAT8_E5M2),
];

#[cfg(test)]
mod tests {
    use super::*;
    use safetensors::tensor::serialize;

    fn example() -> Vec<u8> {
        let a: Vec<u8> = [1f32, 2.0, 3.0].iter().flat_map(|v| v.to_le_bytes()).collect();
        let views = [
            ("a", TensorView::new(Dtype::F32, vec![3], &a).unwrap()),
            ("b", TensorView::new(Dtype::U8, vec![2, 0], &[]).unwrap()),
        ];
        serialize(views, None).unwrap()
    }

    #[test]
    fn tensors_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("w.safetensors");
        std::fs::write(&path, example()).unwrap();
        let weights = Weights::open(&path).unwrap();
        assert_eq!(weights.get("a").unwrap().as_slice::<f32>().unwrap(), &[1.0, 2.0, 3.0]);
        assert_eq!(weights.get("b").unwrap().shape(), &[2, 0]);
        assert!(weights.get("c").is_none());
    }

    #[test]
    fn what_is_saved_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("w.safetensors");
        let tensors = [
            ("0".to_owned(), Tensor::from_bytes(DType::BFLOAT16, &[2, 1], &[1, 2, 3, 4]).unwrap()),
            ("1".to_owned(), Tensor::from_bytes(DType::INT64, &[], &7i64.to_le_bytes()).unwrap()),
            ("2".to_owned(), Tensor::from_bytes(DType::BOOL, &[0, 3], &[]).unwrap()),
        ];
        save_safetensors(&path, &tensors).unwrap();
        let weights = Weights::open(&path).unwrap();
        for (name, tensor) in &tensors {
            let read = weights.get(name).unwrap();
            assert_eq!((read.dtype(), read.shape()), (tensor.dtype(), tensor.shape()));
            assert_eq!(read.as_bytes().unwrap(), tensor.as_bytes().unwrap());
        }
        let small = Tensor::from_bytes("float8_e3m4".parse().unwrap(), &[1], &[0]).unwrap();
        assert!(save_safetensors(&path, &[("x".to_owned(), small)]).is_err());
    }

    #[test]
    fn damaged_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("w.safetensors");
        let bytes = example();
        for cut in 0..bytes.len() {
            std::fs::write(&path, &bytes[..cut]).unwrap();
            assert!(Weights::open(&path).is_err(), "cut at {cut}");
        }
    }
}
