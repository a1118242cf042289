//! Weights in several files: a folder of shards, or an index that maps tensors to shards.

use crate::{
    error::{InputError, brief, listed},
    formats::load_tensors,
};
use hammock_runtime::{Tensor, json::Json, open_regular};
use std::{
    collections::{BTreeSet, HashSet},
    fs,
    io::Read,
    path::{Path, PathBuf},
};

/// File name suffix of an index.
const INDEX: &str = ".safetensors.index.json";
/// Maximum size of an index in bytes.
const MAX_INDEX: u64 = 64 << 20;

/// The weights files that a path refers to: for a folder or an index, its shards and the index itself.
///
/// # Errors
/// If the folder or the index cannot be read.
pub(crate) fn weight_files(path: &Path) -> Result<Vec<PathBuf>, InputError> {
    let index = match path {
        _ if path.is_dir() => match files_of_folder(path)? {
            FolderFiles::Index(index) => index,
            FolderFiles::Shards(shards) => return Ok(shards),
        },
        _ if is_index(path) => path.to_owned(),
        _ => return Ok(vec![path.to_owned()]),
    };
    let shards = Index::read(&index)?.shards;
    Ok(shards.into_iter().chain([index]).collect())
}

/// Returns true if a path is the name of an index of shards.
pub(super) fn is_index(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "json")
}

/// The tensors of all files of a folder; if it has an index, those of the index's shards.
pub(super) fn of_folder(folder: &Path) -> Result<Vec<(String, Tensor)>, InputError> {
    match files_of_folder(folder)? {
        FolderFiles::Index(index) => of_index(&index),
        FolderFiles::Shards(shards) => joined(folder, shards.iter().map(PathBuf::as_path)),
    }
}

/// The weights files of a folder.
enum FolderFiles {
    /// The shards of this index.
    Index(PathBuf),
    /// These files.
    Shards(Vec<PathBuf>),
}

fn files_of_folder(folder: &Path) -> Result<FolderFiles, InputError> {
    let failed = |error: std::io::Error| InputError::new(format!("cannot read {}: {error}", folder.display()));
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        files.push(entry.map_err(failed)?.path());
    }
    files.sort();
    let ends = |path: &&PathBuf, end: &str| path.to_str().is_some_and(|path| path.ends_with(end));
    let mut indices = files.iter().filter(|path| ends(path, INDEX));
    if let (Some(index), None) = (indices.next(), indices.next()) {
        return Ok(FolderFiles::Index(index.clone()));
    }
    let shards: Vec<PathBuf> = files.iter().filter(|path| ends(path, ".safetensors")).cloned().collect();
    if shards.is_empty() {
        return Err(InputError::new(format!("the folder {} has no .safetensors files", folder.display())));
    }
    Ok(FolderFiles::Shards(shards))
}

/// An index: names of tensors, and the shards that contain them.
struct Index {
    tensors: Vec<String>,
    shards: BTreeSet<PathBuf>,
}

fn wrong_index(path: &Path, why: &dyn std::fmt::Display) -> InputError {
    InputError::new(format!("cannot use the index {}: {why}", path.display()))
}

impl Index {
    fn read(path: &Path) -> Result<Index, InputError> {
        let wrong = |why: &dyn std::fmt::Display| wrong_index(path, why);
        let file = open_regular(path).map_err(|e| wrong(&e))?;
        if file.metadata().map_err(|e| wrong(&e))?.len() > MAX_INDEX {
            return Err(wrong(&"it is too large for one"));
        }
        let mut text = String::new();
        // A file in /proc does not have a length.
        file.take(MAX_INDEX).read_to_string(&mut text).map_err(|e| wrong(&e))?;
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
        Ok(Index { tensors: map.iter().map(|(name, _)| name.to_string()).collect(), shards })
    }
}

/// The tensors of an index's shards.
pub(super) fn of_index(path: &Path) -> Result<Vec<(String, Tensor)>, InputError> {
    let Index { tensors: names, shards } = Index::read(path)?;
    let tensors = joined(path, shards.iter().map(PathBuf::as_path))?;
    let found: HashSet<&str> = tensors.iter().map(|(name, _)| name.as_str()).collect();
    let missing: Vec<&str> = names.iter().map(String::as_str).filter(|name| !found.contains(name)).collect();
    match missing.is_empty() {
        true => Ok(tensors),
        false => Err(wrong_index(path, &format_args!("its files lack the tensors {}", listed(missing.into_iter())))),
    }
}

/// The tensors of several files; duplicate names are an error.
fn joined<'a>(whole: &Path, files: impl Iterator<Item = &'a Path>) -> Result<Vec<(String, Tensor)>, InputError> {
    let (mut tensors, mut names): (Vec<(String, Tensor)>, _) = (Vec::new(), HashSet::new());
    for file in files {
        for (name, tensor) in load_tensors(file)? {
            if !names.insert(name.clone()) {
                let message = format!("two files of {} have a tensor `{}`", whole.display(), brief(&name));
                return Err(InputError::new(message).help("say which file to use, or remove one"));
            }
            tensors.push((name, tensor));
        }
    }
    Ok(tensors)
}
