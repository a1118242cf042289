//! Weights by name: memory-mapped `.safetensors` files, and `.npz` files.

pub(crate) mod save;
pub(crate) mod shards;

use crate::{
    InputError, brief,
    formats::npz::{Archive, ZIP},
    listed,
};
use hammock_runtime::{
    DType, Tensor,
    image::{
        Signature,
        signature::{Dims, Role},
    },
    memory::{MappedFile, reserve},
    open_regular,
    suggest::nearest,
};
use safetensors::{Dtype, SafeTensors};
use shards::{is_index, of_folder, of_index};
use std::{
    collections::{BTreeSet, HashMap, HashSet},
    path::{Path, PathBuf},
    sync::Arc,
};

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

/// Tensors by name, in file order.
#[derive(Clone, Debug, Default)]
pub struct Weights {
    file: Option<PathBuf>,
    tensors: Vec<(String, Tensor)>,
    index: HashMap<String, usize>,
    /// Indices by the identifier form of their names; `None` if it is ambiguous.
    identifiers: HashMap<String, Option<usize>>,
}

impl Weights {
    /// Reads a `.npz` file, recognized by its first bytes or extension, or any other as safetensors. Tensors of a
    /// safetensors file stay mapped if they are aligned there. For a folder or an index of shards (`.json`), the
    /// tensors of all files are read.
    ///
    /// # Errors
    /// If the file cannot be read or is damaged, or has an unsupported dtype.
    pub fn open(path: &Path) -> Result<Weights, InputError> {
        let tensors = match path {
            _ if path.is_dir() => of_folder(path)?,
            _ if is_index(path) => of_index(path)?,
            _ => Weights::open_file(path)?,
        };
        let weights: Weights = tensors.into_iter().collect();
        Ok(Weights { file: Some(path.to_owned()), ..weights })
    }

    /// The tensors of a single file.
    pub(crate) fn open_file(path: &Path) -> Result<Vec<(String, Tensor)>, InputError> {
        let map = map_file(path)?;
        let is_npz = map.starts_with(ZIP) || path.extension().is_some_and(|e| e == "npz");
        if is_npz { npz(path) } else { safetensors(path, map) }
    }

    /// The tensor of a parameter: the one with its name, or the only one whose name has the same identifier form, as
    /// `e.weight` and `e_weight` have.
    pub fn get(&self, parameter: &str) -> Option<&Tensor> {
        self.named(parameter).map(|(_, tensor)| tensor)
    }

    /// Like [`get`](Weights::get), with the tensor's name in the file.
    pub fn named(&self, parameter: &str) -> Option<(&str, &Tensor)> {
        let at = self.index.get(parameter).or_else(|| self.identifiers.get(&identifier(parameter))?.as_ref())?;
        self.tensors.get(*at).map(|(name, tensor)| (name.as_str(), tensor))
    }

    /// The weights without those of the given parameters.
    pub fn without(&self, parameters: &[&str]) -> Weights {
        let not: HashSet<&str> = parameters.iter().filter_map(|name| Some(self.named(name)?.0)).collect();
        let left =
            self.iter().filter(|(name, _)| !not.contains(name)).map(|(name, tensor)| (name.to_owned(), tensor.clone()));
        Weights { file: self.file.clone(), ..left.collect() }
    }

    /// Names and tensors in file order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        self.tensors.iter().map(|(n, t)| (n.as_str(), t))
    }

    /// Returns true if there are no tensors.
    pub fn is_empty(&self) -> bool {
        self.tensors.is_empty()
    }

    /// Matches the tensors against the parameters of functions; `used` returns true for tensors with another use.
    pub fn fit(&self, functions: &[Signature], used: impl Fn(&Tensor) -> bool) -> Fit<'_> {
        let params = || functions.iter().flat_map(|function| function.given().map(move |param| (function, param)));
        let taken: HashSet<&str> = params().filter_map(|(_, param)| Some(self.named(&param.name)?.0)).collect();
        let spare = self.iter().filter(|(name, tensor)| !taken.contains(name) && !used(tensor));
        let spare: Vec<&str> = spare.map(|(name, _)| name).collect();
        let mut open: Vec<&str> =
            params().map(|(_, param)| &*param.name).filter(|name| self.named(name).is_none()).collect();
        open.sort_unstable();
        open.dedup();
        let pair = |(tensor, param): (&str, &str)| format!("`{tensor}` looks like the parameter `{param}`");
        let mut advice: Vec<String> = similar(&spare, &open).map(pair).collect();
        let has = functions.iter().flat_map(|f| &f.params).filter(|param| param.role == Role::Bound);
        let has = has.filter(|param| spare.iter().any(|name| identifier(name) == identifier(&param.name)));
        let has: BTreeSet<&str> = has.map(|param| &*param.name).collect();
        if !has.is_empty() {
            advice.push(format!("the model already has, and goes on to use, its own {}", listed(has.into_iter())));
        }
        if !open.is_empty() && !spare.is_empty() {
            advice.push(format!("parameters without a tensor: {}", listed(open.into_iter())));
        }
        let missing = functions.iter().filter_map(|function| self.missing(function)).collect();
        let wrong = functions.iter().flat_map(|function| self.wrong(function)).collect();
        Fit {
            file: self.source(),
            wrong,
            missing,
            none: spare.len() == self.tensors.len() && !spare.is_empty(),
            spare,
            advice,
        }
    }

    /// A message about a function's weights without a tensor, if others have one.
    fn missing(&self, function: &Signature) -> Option<String> {
        let weights = function.params.iter().filter(|param| param.role == Role::Weight).map(|param| &*param.name);
        let (given, open): (Vec<&str>, Vec<&str>) = weights.partition(|name| self.get(name).is_some());
        let is_part = !given.is_empty() && !open.is_empty();
        is_part.then(|| format!("weights of `{}` have no tensor: {}", function.function, listed(open.into_iter())))
    }

    /// The parameters of a function whose tensors do not match their types.
    fn wrong(&self, function: &Signature) -> Vec<Wrong> {
        let mut sizes = HashMap::new();
        let wrong = function.given().filter_map(|param| {
            let (name, tensor) = self.named(&param.name)?;
            let why = crate::arguments::bind::fit(&param.ty, tensor, &mut sizes).err()?;
            let is = format!("{}{}", tensor.dtype(), Dims::from(tensor.shape()));
            let text = format!("`{name}` is {is}, but parameter `{}` takes {}{why}", param.name, param.ty);
            Some(Wrong { function: function.function.clone(), parameter: param.name.clone(), text })
        });
        wrong.collect()
    }

    /// Advice for parameters that have neither a tensor nor an argument: tensors with similar names.
    pub fn suggestions_for(&self, parameters: &[&str]) -> Option<String> {
        let names: Vec<&str> = self.iter().map(|(name, _)| name).collect();
        let found: Vec<String> = similar(parameters, &names).map(|(p, t)| format!("`{t}` for `{p}`")).collect();
        (!found.is_empty()).then(|| format!("{} has {}", self.source(), found.join(", ")))
    }

    pub(crate) fn source(&self) -> String {
        self.file.as_ref().map_or("the weight file".to_owned(), |file| file.display().to_string())
    }
}

/// Result of matching weights against the parameters of functions.
pub struct Fit<'a> {
    file: String,
    /// Parameters whose tensors have another shape or dtype.
    pub wrong: Vec<Wrong>,
    /// Messages about weights without a tensor.
    pub missing: Vec<String>,
    /// Tensors without a parameter.
    pub spare: Vec<&'a str>,
    /// True if no tensor matches, as with the weights of another model.
    pub none: bool,
    /// Suggestions.
    advice: Vec<String>,
}

/// A parameter whose tensor has another shape or dtype.
pub struct Wrong {
    /// The function.
    pub function: String,
    /// The parameter.
    pub parameter: String,
    /// The parameter's type, and the tensor's.
    pub text: String,
}

impl Fit<'_> {
    /// Returns true if the weights cannot belong to the model.
    pub fn is_error(&self) -> bool {
        self.none || !self.wrong.is_empty()
    }

    /// All mismatches as a message with advice; `None` if everything matches.
    pub fn message(&self) -> Option<(String, Vec<String>)> {
        let (file, spare) = (&self.file, listed(self.spare.iter().copied()));
        let mut said = Vec::new();
        if !self.wrong.is_empty() {
            said.push(format!("tensors of {file} do not fit: {}", joined(self.wrong.iter().map(|wrong| &wrong.text))));
        }
        match self.spare.is_empty() {
            true => {}
            false if self.none => said.push(format!("no tensor of {file} belongs to a parameter: {spare}")),
            false => said.push(format!("{file} has tensors that do not belong to a parameter: {spare}")),
        }
        said.extend(self.missing.iter().cloned());
        let mut said = said.into_iter();
        let first = said.next()?;
        Some((first, said.chain(self.advice.iter().cloned()).collect()))
    }
}

/// Joins sentences, abbreviated if there are many.
fn joined<'a>(texts: impl Iterator<Item = &'a String>) -> String {
    const MAX: usize = 24;
    let texts: Vec<&str> = texts.map(String::as_str).collect();
    let more = if texts.len() > MAX { format!("; and {} more", texts.len() - MAX) } else { String::new() };
    texts[..texts.len().min(MAX)].join("; ") + &more
}

/// Identifier form of a name: letters, digits and `_`.
pub(crate) fn identifier(name: &str) -> String {
    name.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect()
}

/// Pairs of names, at most a few, and similar names among `others`.
fn similar<'a>(names: &'a [&str], others: &'a [&str]) -> impl Iterator<Item = (&'a str, &'a str)> {
    const MAX: usize = 8;
    let pair = |name: &&'a str| nearest(&identifier(name), others.iter().copied()).map(|other| (*name, other));
    names.iter().filter(|name| name.len() < 1000).take(4 * MAX).filter_map(pair).take(MAX)
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
    // If memory is limited, the tensors must fit.
    let _room = reserve(whole.len()).map_err(|e| failed(path, e.message()))?;
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
    // Tensors without elements share their offset with others.
    found.sort_by(|(a, n, _), (b, m, _)| (a, n).cmp(&(b, m)));
    Ok(found.into_iter().map(|(_, name, tensor)| (name, tensor)).collect())
}

/// Number of tensors that a safetensors header names, counting duplicates: the keys of a well-formed object, except
/// `__metadata__`.
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
pub(crate) const DTYPES: [(Dtype, DType); 15] = [
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
    use crate::save_safetensors;
    use safetensors::tensor::{TensorView, serialize};

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
        let fit = |weights: &Weights, params: &[&str]| {
            let names: Vec<String> = params.iter().map(|name| (*name).to_owned()).collect();
            let fit = weights.fit(&[Signature::of_names("main", names.iter())], |_| false);
            (fit.none, fit.message())
        };
        assert!(
            fit(&weights, &["layers_0_weight", "b", "a_d"])
                .1
                .is_some_and(|(said, _)| said.ends_with(": a.c, a/c, a.d"))
        );

        let (none, said) = fit(&named(&["fc1.wieght", "fc1.bias"]), &["x", "fc1_weight", "fc1_bias"]);
        let (message, advice) = said.unwrap();
        assert_eq!(message, "the weight file has tensors that do not belong to a parameter: fc1.wieght");
        let help = ["`fc1.wieght` looks like the parameter `fc1_weight`", "parameters without a tensor: fc1_weight, x"];
        assert!(!none && advice == help, "{advice:?}");
        let (none, said) = fit(&named(&["p", "q"]), &["x"]);
        assert!(none && said.unwrap().0.starts_with("no tensor of the weight file"));
        assert!(
            named(&["p"]).fit(&[Signature::of_names("main", ["x".to_owned()].iter())], |_| true).message().is_none()
        );
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
    fn saving_and_loading_round_trips() {
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
        assert!(Weights::open(folder.path()).unwrap_err().message.contains("has no .safetensors files"));
        assert!(Weights::open(Path::new("/dev/null")).unwrap_err().message.contains("not a regular file"));
        std::fs::write(&path, []).unwrap();
        assert!(Weights::open(&path).unwrap_err().message.contains("it is empty"));
        let bytes = example();
        for cut in 0..bytes.len() {
            std::fs::write(&path, &bytes[..cut]).unwrap();
            assert!(Weights::open(&path).is_err(), "cut at {cut}");
        }
    }
}
