//! Weights in several files: a folder of them, or the index that says which file has which tensor.

use super::{InputError, Weights, brief, listed};
use crate::{Tensor, json::Json};
use std::{
    collections::{BTreeSet, HashSet},
    fs,
    path::{Path, PathBuf},
};

/// How such an index is called.
const INDEX: &str = ".safetensors.index.json";
/// The largest index that is read, in bytes.
const MOST_INDEX: u64 = 64 << 20;

/// The tensors of all files of a folder; where it has an index, those of the files that this names.
pub(super) fn of_folder(folder: &Path) -> Result<Vec<(String, Tensor)>, InputError> {
    let failed = |error: std::io::Error| InputError::new(format!("cannot read {}: {error}", folder.display()));
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        files.push(entry.map_err(failed)?.path());
    }
    files.sort();
    let ends = |path: &&PathBuf, end: &str| path.to_str().is_some_and(|path| path.ends_with(end));
    let mut indices = files.iter().filter(|path| ends(path, INDEX));
    if let (Some(index), None) = (indices.next(), indices.next()) {
        return of_index(index);
    }
    let shards: Vec<&PathBuf> = files.iter().filter(|path| ends(path, ".safetensors")).collect();
    if shards.is_empty() {
        return Err(InputError::new(format!("the folder {} has no .safetensors files", folder.display())));
    }
    joined(folder, shards.into_iter().map(|path| path.as_path()))
}

/// The tensors of the files that an index names.
pub(super) fn of_index(path: &Path) -> Result<Vec<(String, Tensor)>, InputError> {
    let wrong =
        |why: &dyn std::fmt::Display| InputError::new(format!("cannot use the index {}: {why}", path.display()));
    let size = fs::metadata(path).map_err(|e| wrong(&e))?.len();
    if size > MOST_INDEX {
        return Err(wrong(&"it is too large for one"));
    }
    let text = fs::read_to_string(path).map_err(|e| wrong(&e))?;
    let index = Json::parse(&text).map_err(|e| wrong(&e))?;
    let Some(Json::Object(map)) = index.get("weight_map") else { return Err(wrong(&"it has no `weight_map`")) };
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut shards = BTreeSet::new();
    for (name, file) in map {
        let file = file.as_str().filter(|file| Path::new(file).file_name().is_some_and(|own| own == *file));
        shards.insert(folder.join(
            file.ok_or_else(|| wrong(&format_args!("the file of tensor `{}` is not in its folder", brief(name))))?,
        ));
    }
    let tensors = joined(path, shards.iter().map(PathBuf::as_path))?;
    let found: HashSet<&str> = tensors.iter().map(|(name, _)| name.as_str()).collect();
    let missing: Vec<&str> = map.iter().map(|(name, _)| name.as_str()).filter(|name| !found.contains(name)).collect();
    match missing.is_empty() {
        true => Ok(tensors),
        false => Err(wrong(&format_args!("its files lack the tensors {}", listed(missing.into_iter())))),
    }
}

/// The tensors of several files, which must have different names.
fn joined<'a>(whole: &Path, files: impl Iterator<Item = &'a Path>) -> Result<Vec<(String, Tensor)>, InputError> {
    let (mut tensors, mut names): (Vec<(String, Tensor)>, _) = (Vec::new(), HashSet::new());
    for file in files {
        for (name, tensor) in Weights::open_file(file)? {
            if !names.insert(name.clone()) {
                let message = format!("two files of {} have a tensor `{}`", whole.display(), brief(&name));
                return Err(InputError::new(message).help("say which file to use, or remove one"));
            }
            tensors.push((name, tensor));
        }
    }
    Ok(tensors)
}
