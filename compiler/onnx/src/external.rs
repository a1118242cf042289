//! External tensor data: files beside the model.

use crate::{decode_budget, schema::StringStringEntryProto};
use bytes::Bytes;
use hammock_runtime::{
    companion::{CompanionError, find_linked},
    memory::{MappedFile, Reservation, reserve},
    value::SharedBytes,
};
use hammock_tools::map_file;
use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Bytes of a model.
pub enum Data {
    /// Mapped file.
    File(Arc<MappedFile>),
    /// Buffer in memory.
    Bytes(SharedBytes),
}

/// Folder of a model, with the files mapped so far.
pub struct Folder {
    /// Path of the model; `None` if it is not a file.
    model: Option<PathBuf>,
    /// Folders that symbolic links beside the model may point to.
    targets: Vec<PathBuf>,
    files: RefCell<HashMap<PathBuf, (Bytes, Arc<MappedFile>)>>,
    /// Memory reservations for tensors that stay in these files, if memory is limited.
    reservations: RefCell<Vec<Reservation>>,
}

/// Shared data as the owner of `Bytes`.
struct Owner<T: ?Sized>(Arc<T>);

impl<T: AsRef<[u8]> + ?Sized> AsRef<[u8]> for Owner<T> {
    fn as_ref(&self) -> &[u8] {
        (*self.0).as_ref()
    }
}

impl Folder {
    /// Creates the folder of a model; links in it may point to `targets`.
    pub fn of_model(model: Option<&Path>, targets: &[PathBuf]) -> Self {
        let (model, targets) = (model.map(Path::to_owned), targets.to_vec());
        Folder { model, targets, files: RefCell::default(), reservations: RefCell::default() }
    }

    /// Returns the bytes of the model itself, without a copy.
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

    /// Returns the mapped file that contains these bytes, and their range in it.
    pub fn mapped_range(&self, data: &Bytes) -> Option<(Arc<MappedFile>, Range<usize>)> {
        self.files.borrow().values().find_map(|(whole, file)| {
            let begin = (data.as_ptr() as usize).checked_sub(whole.as_ptr() as usize)?;
            let end = begin.checked_add(data.len()).filter(|end| *end <= whole.len())?;
            Some((file.clone(), begin..end))
        })
    }

    /// Counts a tensor in a mapped file towards the memory limit.
    ///
    /// # Errors
    /// If the limit is exceeded.
    pub fn reserve_mapped(&self, bytes: usize) -> Result<(), String> {
        let reservation = reserve(bytes).map_err(|error| error.message().to_owned())?;
        self.reservations.borrow_mut().extend(reservation);
        Ok(())
    }

    /// Returns the `bytes` bytes of a tensor described by `entries`: `location`, `offset` and `length`.
    ///
    /// # Errors
    /// If the file is not in the model's folder, cannot be read, or is too short.
    pub fn external(&self, entries: &[StringStringEntryProto], bytes: usize) -> Result<Bytes, String> {
        let entry = |key: &str| entries.iter().find(|e| e.key == key).map(|e| e.value.as_str());
        let number = |key: &str| match entry(key) {
            None => Ok(None),
            Some(text) => text.parse::<usize>().map(Some).map_err(|_| format!("its `{key}` is `{text}`, not a number")),
        };
        let location = entry("location").ok_or("its data are external, but it has no `location`")?;
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
        let model =
            self.model.as_ref().ok_or("its data are in another file, but the model is read without its folder")?;
        let path = find_linked(model, location, &self.targets).map_err(|error| match error {
            CompanionError::Outside => format!("its data are in `{location}`, which is not in the model's folder"),
            CompanionError::Link(target) => format!(
                "its data are in `{location}`, a link out of the model's folder to {}; links may only lead to where the \
                 model's own file is, and to folders given with `--external-data-dir`",
                target.display()
            ),
            missing => format!("its data are missing: cannot read `{location}`: {missing}"),
        })?;
        if let Some((data, _)) = self.files.borrow().get(&path) {
            return Ok(data.clone());
        }
        let file = map_file(&path).map_err(|e| format!("its data are missing: {}", e.message))?;
        Ok(self.add(path, file))
    }
}

/// Returns the external data files of a model that can be found, without decoding the model. Links may point to
/// `targets`.
pub fn data_files(model: &Path, targets: &[PathBuf]) -> Vec<PathBuf> {
    let Ok(file) = map_file(model) else { return Vec::new() };
    let mut locations = HashSet::new();
    decode_budget::external_locations(&file, &mut |location| _ = locations.insert(location));
    let found = locations.iter().filter_map(|location| find_linked(model, location, targets).ok());
    let mut files: Vec<PathBuf> = found.collect();
    files.sort();
    files
}
