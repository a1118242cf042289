//! Data of tensors that lie in files beside the model.

use crate::schema::StringStringEntryProto;
use bytes::Bytes;
use hammock_runtime::{memory::MappedFile, tools::map_file, value::SharedBytes};
use std::{
    cell::RefCell,
    collections::HashMap,
    ops::Range,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

/// The bytes of a model.
pub enum Data {
    /// Of a file.
    File(Arc<MappedFile>),
    /// Of anything else.
    Bytes(SharedBytes),
}

/// The folder of a model, with the files that were mapped.
pub struct Folder {
    /// None for a model that is not a file.
    path: Option<PathBuf>,
    files: RefCell<HashMap<PathBuf, (Bytes, Arc<MappedFile>)>>,
}

/// Shared memory as the owner of `Bytes`.
struct Owner<T: ?Sized>(Arc<T>);

impl<T: AsRef<[u8]> + ?Sized> AsRef<[u8]> for Owner<T> {
    fn as_ref(&self) -> &[u8] {
        (*self.0).as_ref()
    }
}

impl Folder {
    /// The folder that a model lies in.
    pub fn of_model(model: Option<&Path>) -> Self {
        let folder = model.map(|file| file.parent().map_or(PathBuf::from("."), Path::to_owned));
        Folder { path: folder, files: RefCell::default() }
    }

    /// The bytes of the model itself; nothing is copied.
    pub fn model(&self, data: Data) -> Bytes {
        match data {
            Data::Bytes(bytes) => Bytes::from_owner(Owner(bytes)),
            Data::File(file) => self.add(PathBuf::new(), file),
        }
    }

    fn add(&self, path: PathBuf, file: Arc<MappedFile>) -> Bytes {
        let bytes = Bytes::from_owner(Owner(file.clone()));
        self.files.borrow_mut().insert(path, (bytes.clone(), file));
        bytes
    }

    /// The mapped file that bytes are a part of, and which.
    pub fn place(&self, data: &Bytes) -> Option<(Arc<MappedFile>, Range<usize>)> {
        self.files.borrow().values().find_map(|(whole, file)| {
            let begin = (data.as_ptr() as usize).checked_sub(whole.as_ptr() as usize)?;
            let end = begin.checked_add(data.len()).filter(|end| *end <= whole.len())?;
            Some((file.clone(), begin..end))
        })
    }

    /// The `bytes` bytes of a tensor that `entries` describe: `location`, `offset` and `length`.
    ///
    /// # Errors
    /// When the file is not in the model's folder, cannot be read, or is too short.
    pub fn external(&self, entries: &[StringStringEntryProto], bytes: usize) -> Result<Bytes, String> {
        let entry = |key: &str| entries.iter().find(|e| e.key == key).map(|e| e.value.as_str());
        let number = |key: &str| match entry(key) {
            None => Ok(None),
            Some(text) => text.parse::<usize>().map(Some).map_err(|_| format!("its `{key}` is `{text}`, not a number")),
        };
        let location = entry("location").ok_or("its data are in another file, which it does not name")?;
        let data = self.open(location)?;
        let offset = number("offset")?.unwrap_or(0);
        let length = number("length")?.unwrap_or(bytes);
        let end = offset.checked_add(length).filter(|end| *end <= data.len());
        match end {
            Some(end) => Ok(data.slice(offset..end)),
            None => {
                Err(format!("its data are {length} bytes at {offset} of `{location}`, which has {} bytes", data.len()))
            }
        }
    }

    fn open(&self, location: &str) -> Result<Bytes, String> {
        let folder =
            self.path.as_ref().ok_or("its data are in another file, but the model is read without its folder")?;
        let inside = |part: Component| matches!(part, Component::Normal(_) | Component::CurDir);
        if !Path::new(location).components().all(inside) || location.is_empty() {
            return Err(format!("its data are in `{location}`, which is not in the model's folder"));
        }
        let path = folder.join(location);
        if let Some((data, _)) = self.files.borrow().get(&path) {
            return Ok(data.clone());
        }
        self.expect_inside(folder, &path, location)?;
        let file = map_file(&path).map_err(|e| format!("its data are missing: {}", e.message))?;
        Ok(self.add(path, file))
    }

    /// Refuses a link that leads out of the folder.
    fn expect_inside(&self, folder: &Path, path: &Path, location: &str) -> Result<(), String> {
        match (folder.canonicalize(), path.canonicalize()) {
            (Ok(folder), Ok(path)) if !path.starts_with(&folder) => {
                Err(format!("its data are in `{location}`, a link out of the model's folder"))
            }
            _ => Ok(()),
        }
    }
}
