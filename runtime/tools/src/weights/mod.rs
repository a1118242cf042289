//! Weights: tensors by name, from a file, a folder or an index of shards.

pub(crate) mod fit;
pub(crate) mod save;
pub(crate) mod shards;
pub(crate) mod type_check;

use crate::{error::InputError, formats::load_tensors};
use hammock_runtime::{Tensor, suggest::nearest};
use shards::{is_index, of_folder, of_index};
use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
};

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
            _ => load_tensors(path)?,
        };
        let weights: Weights = tensors.into_iter().collect();
        Ok(Weights { file: Some(path.to_owned()), ..weights })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::save_safetensors;
    use hammock_runtime::{DType, image::Signature};
    use safetensors::{
        Dtype,
        tensor::{TensorView, serialize},
    };

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
