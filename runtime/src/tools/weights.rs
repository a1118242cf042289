//! Weights by name: `.safetensors` files, used in place, and `.npz` files.

use super::{
    Content, InputError, brief, listed,
    npz::{Archive, ZIP},
    write_file,
};
use crate::{DType, Tensor, memory::MappedFile, near::nearest};
use safetensors::{
    Dtype, SafeTensors,
    tensor::{TensorView, serialize},
};
use std::{
    collections::{HashMap, HashSet},
    fs::File,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The bytes of a file, mapped.
///
/// # Errors
/// When it cannot be read, is empty, or is no regular file.
pub fn map_file(path: &Path) -> Result<Arc<MappedFile>, InputError> {
    let file = File::open(path).map_err(|e| failed(path, e))?;
    let about = file.metadata().map_err(|e| failed(path, e))?;
    if !about.is_file() || about.len() == 0 {
        return Err(failed(path, if about.is_file() { "it is empty" } else { "it is not a regular file" }));
    }
    let map = MappedFile::new(&file).map_err(|e| failed(path, e))?;
    Ok(Arc::new(map))
}

/// Tensors by name, in the order of the file.
#[derive(Clone, Debug, Default)]
pub struct Weights {
    file: Option<PathBuf>,
    tensors: Vec<(String, Tensor)>,
    index: HashMap<String, usize>,
    /// By names as parameters can have them, where only one tensor has such a name.
    identifiers: HashMap<String, Option<usize>>,
}

impl Weights {
    /// Reads a `.npz` file, which it is by its first bytes or its name, or any other as safetensors. Tensors of a
    /// safetensors file stay in the file, mapped, as long as they are aligned there.
    ///
    /// # Errors
    /// When the file cannot be read or is damaged, or holds a dtype that tensors cannot have.
    pub fn open(path: &Path) -> Result<Weights, InputError> {
        let map = map_file(path)?;
        let is_npz = map.starts_with(ZIP) || path.extension().is_some_and(|e| e == "npz");
        let tensors = if is_npz { npz(path)? } else { safetensors(path, map)? };
        let weights: Weights = tensors.into_iter().collect();
        Ok(Weights { file: Some(path.to_owned()), ..weights })
    }

    /// The tensor for a parameter: of its name, or of the only name that differs from it in marks alone, as `e.weight`
    /// does from `e_weight`.
    pub fn get(&self, parameter: &str) -> Option<&Tensor> {
        self.named(parameter).map(|(_, tensor)| tensor)
    }

    /// That tensor with its name in the file.
    pub fn named(&self, parameter: &str) -> Option<(&str, &Tensor)> {
        let at = self.index.get(parameter).or_else(|| self.identifiers.get(&identifier(parameter))?.as_ref())?;
        self.tensors.get(*at).map(|(name, tensor)| (name.as_str(), tensor))
    }

    /// The same but for the tensors for these parameters.
    pub fn without(&self, parameters: &[&str]) -> Weights {
        let not: HashSet<&str> = parameters.iter().filter_map(|name| Some(self.named(name)?.0)).collect();
        let left =
            self.iter().filter(|(name, _)| !not.contains(name)).map(|(name, tensor)| (name.to_owned(), tensor.clone()));
        Weights { file: self.file.clone(), ..left.collect() }
    }

    /// Names and tensors in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        self.tensors.iter().map(|(n, t)| (n.as_str(), t))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.tensors.is_empty()
    }

    /// What is to be said of tensors that no parameter is named like; `used` knows of those that have another use.
    /// Which parameters have no tensor is said as well.
    pub fn unused(&self, parameters: &[&str], used: impl Fn(&Tensor) -> bool) -> Option<Unused> {
        let taken: Vec<&str> = parameters.iter().filter_map(|p| Some(self.named(p)?.0)).collect();
        let taken: HashSet<&str> = taken.into_iter().collect();
        let spare = self.iter().filter(|(name, tensor)| !taken.contains(name) && !used(tensor));
        let spare: Vec<&str> = spare.map(|(name, _)| name).collect();
        if spare.is_empty() {
            return None;
        }
        let mut open: Vec<&str> = parameters.iter().copied().filter(|p| self.named(p).is_none()).collect();
        open.sort_unstable();
        open.dedup();
        let (all, file) = (spare.len() == self.tensors.len(), self.source());
        let names = listed(spare.iter().copied());
        let message = match all {
            true => format!("no tensor of {file} belongs to a parameter: {names}"),
            false => format!("{file} has tensors that do not belong to a parameter: {names}"),
        };
        let mut help: Vec<String> =
            near(&spare, &open).map(|(t, p)| format!("`{t}` looks like the parameter `{p}`")).collect();
        if !open.is_empty() {
            help.push(format!("parameters without a tensor: {}", listed(open.into_iter())));
        }
        let error = InputError { message, help: (!help.is_empty()).then(|| help.join("; ")) };
        Some(Unused { error, all })
    }

    /// What to say of parameters that have neither a tensor nor an argument: tensors whose names resemble theirs.
    pub fn instead_of(&self, parameters: &[&str]) -> Option<String> {
        let names: Vec<&str> = self.iter().map(|(name, _)| name).collect();
        let found: Vec<String> = near(parameters, &names).map(|(p, t)| format!("`{t}` for `{p}`")).collect();
        (!found.is_empty()).then(|| format!("{} has {}", self.source(), found.join(", ")))
    }

    pub(super) fn source(&self) -> String {
        self.file.as_ref().map_or("the weight file".to_owned(), |file| file.display().to_string())
    }
}

/// Tensors that no parameter is named like.
pub struct Unused {
    /// Their names, and what may have been meant.
    pub error: InputError,
    /// Whether they are all that there are, as in the weights of another model.
    pub all: bool,
}

/// A name as parameters can have it: letters, digits and `_`.
pub(super) fn identifier(name: &str) -> String {
    name.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect()
}

/// Names, the first of many, with those among others that they resemble.
fn near<'a>(names: &'a [&str], others: &'a [&str]) -> impl Iterator<Item = (&'a str, &'a str)> {
    const MOST: usize = 8;
    let pair = |name: &&'a str| nearest(&identifier(name), others.iter().copied()).map(|other| (*name, other));
    names.iter().filter(|name| name.len() < 1000).take(4 * MOST).filter_map(pair).take(MOST)
}

impl FromIterator<(String, Tensor)> for Weights {
    fn from_iter<I: IntoIterator<Item = (String, Tensor)>>(tensors: I) -> Weights {
        let tensors: Vec<_> = tensors.into_iter().collect();
        let index = tensors.iter().enumerate().map(|(i, (n, _))| (n.clone(), i)).collect();
        let mut identifiers = HashMap::new();
        for (i, (name, _)) in tensors.iter().enumerate() {
            identifiers.entry(identifier(name)).and_modify(|one| *one = None).or_insert(Some(i));
        }
        Weights { file: None, tensors, index, identifiers }
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
    let bytes = serialize(views, None).map_err(|e| written(&e))?;
    write_file(path, Content::Data, |out| out.write_all(&bytes))
}

fn failed(path: &Path, error: impl std::fmt::Display) -> InputError {
    InputError::new(format!("cannot read {}: {}", path.display(), brief(&error.to_string())))
}

fn npz(path: &Path) -> Result<Vec<(String, Tensor)>, InputError> {
    let mut archive = Archive::open(path)?;
    let names: Vec<String> = archive.names().map(str::to_owned).collect();
    names.into_iter().map(|n| archive.array(&n).map(|t| (n, t))).collect()
}

fn safetensors(path: &Path, map: Arc<MappedFile>) -> Result<Vec<(String, Tensor)>, InputError> {
    let whole = &map[..];
    let damaged =
        |why: &dyn std::fmt::Display| failed(path, format!("it is not a safetensors file, or damaged: {why}"));
    let file = SafeTensors::deserialize(whole).map_err(|e| damaged(&e))?;
    let header = whole.get(8..).and_then(|rest| rest.get(..SafeTensors::read_metadata(whole).ok()?.0)).unwrap_or(&[]);
    if entries(header) > file.len() {
        return Err(damaged(&"it has the same name twice"));
    }
    let mut found = Vec::new();
    for (name, view) in file.tensors() {
        let of_tensor = |why: &dyn std::fmt::Display| failed(path, format!("tensor `{}`: {why}", brief(&name)));
        let dtype = DTYPES.iter().find(|(theirs, _)| *theirs == view.dtype()).map(|(_, dtype)| *dtype);
        let dtype = dtype.ok_or_else(|| of_tensor(&format_args!("dtype {:?} is not supported", view.dtype())))?;
        let shape = view.shape().iter().map(|d| *d as i64).collect::<Vec<_>>();
        let data = view.data();
        let start = data.as_ptr() as usize - whole.as_ptr() as usize;
        let tensor = if start.is_multiple_of(dtype.bytes().max(1)) {
            Tensor::from_mapped(dtype, &shape, map.clone(), start..start + data.len())
        } else {
            Tensor::from_bytes(dtype, &shape, data)
        };
        let tensor = tensor.map_err(|e| of_tensor(&e))?;
        if dtype == DType::BOOL {
            tensor.as_slice::<bool>().map_err(|e| of_tensor(&e))?;
        }
        found.push((start, name, tensor));
    }
    // Tensors without elements share their place with others.
    found.sort_by(|(a, n, _), (b, m, _)| (a, n).cmp(&(b, m)));
    Ok(found.into_iter().map(|(_, name, tensor)| (name, tensor)).collect())
}

/// How many tensors a safetensors header names, each as often as it does: `__metadata__` aside, the keys of an object
/// that is known to be well formed.
fn entries(header: &[u8]) -> usize {
    let (mut depth, mut quoted, mut escaped, mut count, mut start) = (0, false, false, 0, 0);
    for (at, byte) in header.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => {
                quoted = !quoted;
                if quoted {
                    start = at + 1;
                } else if depth == 1 && &header[start..at] != b"__metadata__" {
                    count += 1;
                }
            }
            _ if quoted => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
    }
    count
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
    fn names_differ_in_marks_only() {
        let one = || Tensor::from_slice(&[1], &[1f32]).unwrap();
        let named = |names: &[&str]| names.iter().map(|n| ((*n).to_owned(), one())).collect::<Weights>();
        let weights = named(&["layers.0.weight", "b", "a.c", "a/c", "a_d", "a.d"]);
        assert_eq!(weights.named("layers_0_weight").unwrap().0, "layers.0.weight");
        assert_eq!(weights.named("a_d").unwrap().0, "a_d");
        assert!(weights.get("a_c").is_none(), "two tensors have that name");
        assert!(weights.unused(&["layers_0_weight", "b", "a_d"], |_| false).is_some_and(|u| !u.all));

        let unused = named(&["fc1.wieght", "fc1.bias"]).unused(&["x", "fc1_weight", "fc1_bias"], |_| false).unwrap();
        assert_eq!(unused.error.message, "the weight file has tensors that do not belong to a parameter: fc1.wieght");
        let help = "`fc1.wieght` looks like the parameter `fc1_weight`; parameters without a tensor: fc1_weight, x";
        assert_eq!(unused.error.help.as_deref(), Some(help));
        let other = named(&["p", "q"]).unused(&["x"], |_| false).unwrap();
        assert!(other.all && other.error.message.starts_with("no tensor of the weight file"));
        assert!(named(&["p"]).unused(&["x"], |_| true).is_none());
    }

    #[test]
    fn names_that_stand_twice_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("w.safetensors");
        let write = |header: &str, data: &[u8]| {
            let len = (header.len() as u64).to_le_bytes();
            std::fs::write(&path, [&len[..], header.as_bytes(), data].concat()).unwrap();
            Weights::open(&path)
        };
        let entry = r#""a\"{": {"dtype": "I32", "shape": [1], "data_offsets": [0, 4]}"#;
        let metadata = r#""__metadata__": {"a": "b", "c": "d"}"#;
        assert!(write(&format!("{{{metadata}, {entry}}}"), &[0; 4]).is_ok());
        let again = entry.replace("I32", "F32");
        let twice = write(&format!("{{{entry}, {again}}}"), &[0; 4]).unwrap_err();
        assert!(twice.message.contains("twice"), "{twice}");
        let bools = r#"{"a": {"dtype": "BOOL", "shape": [2], "data_offsets": [0, 2]}}"#;
        assert!(write(bools, &[0, 1]).is_ok());
        assert!(write(bools, &[0, 2]).unwrap_err().message.contains("bool"));
        let unknown =
            format!(r#"{{"a": {{"dtype": "{}", "shape": [], "data_offsets": [0, 0]}}}}"#, "x".repeat(100_000));
        assert!(write(&unknown, &[]).unwrap_err().message.len() < 400);
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
        assert!(Weights::open(folder.path()).unwrap_err().message.contains("not a regular file"));
        std::fs::write(&path, []).unwrap();
        assert!(Weights::open(&path).unwrap_err().message.contains("it is empty"));
        let bytes = example();
        for cut in 0..bytes.len() {
            std::fs::write(&path, &bytes[..cut]).unwrap();
            assert!(Weights::open(&path).is_err(), "cut at {cut}");
        }
    }
}
