//! Array files: `.npy` with one array, `.npz` with several by name.

use super::{failed, npy, string_array::StringArray};
use crate::{
    error::{InputError, ToolError, brief, listed},
    output::{Content, write_file},
};
use hammock_runtime::{Any, Tensor, open_regular, show::leaves};
use std::{
    collections::HashSet,
    fs::File,
    io::{self, BufReader, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};
use zip::{CompressionMethod, ZipArchive, ZipWriter, write::SimpleFileOptions};

/// Magic number of zip files, such as `.npz` files.
pub(super) const ZIP: &[u8] = b"PK\x03\x04";

/// Maximum compression ratio of deflate.
const MAX_INFLATION: u64 = 1032;

/// Reads a `.npy` file.
///
/// # Errors
/// If it cannot be read, is damaged, or has elements that are not numbers.
pub fn load_npy(path: &Path) -> Result<Tensor, InputError> {
    let file = File::open(path).map_err(|e| failed(path, e))?;
    let about = file.metadata().map_err(|e| failed(path, e))?;
    let size = about.is_file().then_some(about.len());
    let mut start = [0; ZIP.len()];
    let mut file = BufReader::new(file);
    if size.is_some() && file.read_exact(&mut start).and_then(|()| file.rewind()).is_ok() && start == *ZIP {
        return Err(unnamed(path));
    }
    npy::read(file, size).map_err(|why| failed(path, why))
}

/// Error for an archive where an array is expected.
fn unnamed(path: &Path) -> InputError {
    let error = InputError::new(format!("{} holds arrays by name: say which one", path.display()));
    match Archive::open(path) {
        Ok(archive) => error.help(format!("write @{}#NAME; it has {}", path.display(), listed(archive.names()))),
        Err(error) => error,
    }
}

/// Reads one array of a `.npz` file.
///
/// # Errors
/// If the file cannot be read or is damaged, or has no array of that name.
pub fn load_npz(path: &Path, name: &str) -> Result<Tensor, InputError> {
    Archive::open(path)?.array(name)
}

/// Reads all arrays of a `.npz` file.
///
/// # Errors
/// If the file cannot be read or is damaged.
pub(super) fn load_all(path: &Path) -> Result<Vec<(String, Tensor)>, InputError> {
    let mut archive = Archive::open(path)?;
    let names: Vec<String> = archive.names().map(str::to_owned).collect();
    names.into_iter().map(|n| archive.array(&n).map(|t| (n, t))).collect()
}

/// An open `.npz` file.
struct Archive {
    path: PathBuf,
    zip: ZipArchive<BufReader<File>>,
    /// Remaining bytes of the file that members can occupy: members do not overlap.
    room: u64,
}

impl Archive {
    /// Opens a file.
    ///
    /// # Errors
    /// If it cannot be read, or its directory is damaged.
    pub fn open(path: &Path) -> Result<Archive, InputError> {
        let file = open_regular(path).map_err(|e| failed(path, e))?;
        let room = file.metadata().map_err(|e| failed(path, e))?.len();
        let directory = file.try_clone().map_err(|e| failed(path, e))?;
        let zip = ZipArchive::new(BufReader::new(file)).map_err(|e| failed(path, e))?;
        match repeated_name(BufReader::new(directory), zip.central_directory_start()) {
            Ok(None) => {}
            Ok(Some(twice)) => return Err(failed(path, format!("two of its members are called `{twice}`"))),
            Err(error) => return Err(failed(path, error)),
        }
        Ok(Archive { path: path.to_owned(), zip, room })
    }

    /// The arrays' names, in the order of the file.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.zip.file_names().filter_map(|name| name.strip_suffix(".npy"))
    }

    /// Reads an array; each can be read only once.
    ///
    /// # Errors
    /// If there is none of that name, or it is damaged.
    pub fn array(&mut self, name: &str) -> Result<Tensor, InputError> {
        let entry = format!("{name}.npy");
        if self.zip.index_for_name(&entry).is_none() {
            let error = InputError::new(format!("{} has no array `{}`", self.path.display(), brief(name)));
            let near = hammock_runtime::suggest::nearest(name, self.names())
                .map(|near| format!("did you mean `{}`? ", brief(near)));
            return Err(error.help(format!("{}it has {}", near.unwrap_or_default(), listed(self.names()))));
        }
        self.member(&entry).map_err(|why| {
            let (name, path) = (brief(name), self.path.display());
            InputError::new(format!("cannot read `{name}` of {path}: {why}"))
        })
    }

    fn member(&mut self, entry: &str) -> Result<Tensor, String> {
        let member = self.zip.by_name(entry).map_err(|e| e.to_string())?;
        let (size, packed) = (member.size(), member.compressed_size());
        if size > packed.saturating_mul(MAX_INFLATION).saturating_add(MAX_INFLATION) {
            return Err(format!("{packed} bytes of the archive cannot hold {size}"));
        }
        self.room = self.room.checked_sub(packed).ok_or("the archive's members overlap")?;
        npy::read(member, Some(size))
    }
}

/// Magic number of the entries of a zip file's directory, and their size without names.
const ENTRY: (&[u8; 4], usize) = (b"PK\x01\x02", 46);

/// A name that two members of an archive have; readers differ in which member they use. The directory begins at
/// `start`.
fn repeated_name(mut file: impl Read + Seek, start: u64) -> io::Result<Option<String>> {
    file.seek(SeekFrom::Start(start))?;
    let mut names = HashSet::new();
    let mut entry = [0; ENTRY.1];
    while file.read_exact(&mut entry).is_ok() && entry.starts_with(ENTRY.0) {
        let length = |at: usize| usize::from(u16::from_le_bytes([entry[at], entry[at + 1]]));
        let (name, rest) = (length(28), length(30) + length(32));
        let mut bytes = vec![0; name + rest];
        file.read_exact(&mut bytes)?;
        bytes.truncate(name);
        if let Some(twice) = names.replace(bytes) {
            return Ok(Some(String::from_utf8_lossy(&twice).into_owned()));
        }
    }
    Ok(None)
}

/// Writes arrays to a `.npz` file, atomically.
///
/// # Errors
/// If it cannot be written.
pub fn save_npz(path: &Path, arrays: &[(String, Tensor)]) -> Result<(), InputError> {
    save_arrays(path, arrays, &[])
}

/// Writes the tensors and strings of a result to a `.npz` file.
///
/// # Errors
/// If the result has too many parts, or the file cannot be written.
pub fn save_result(path: &Path, result: &Any) -> Result<(), ToolError> {
    let tensors = leaves(result)?;
    Ok(save_arrays(path, &tensors, &StringArray::all(result))?)
}

fn save_arrays(path: &Path, arrays: &[(String, Tensor)], strings: &[(String, StringArray)]) -> Result<(), InputError> {
    write_file(path, Content::Data, |out| {
        let mut npz = ZipWriter::new(out);
        let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        for (name, tensor) in arrays {
            npz.start_file(format!("{name}.npy"), stored.large_file(tensor.nbytes() >= u32::MAX as usize))?;
            npy::write(&mut npz, tensor).map_err(system_error)?;
        }
        for (name, array) in strings {
            npz.start_file(format!("{name}.npy"), stored.large_file(true))?;
            npy::write_strings(&mut npz, array).map_err(system_error)?;
        }
        npz.finish()?;
        Ok(())
    })
}

/// Extracts the system's error, if it is one.
fn system_error(error: Box<dyn std::error::Error>) -> io::Error {
    match error.downcast::<io::Error>() {
        Ok(error) => *error,
        Err(error) => io::Error::other(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Weights, formats::npy::tests::file};
    use hammock_runtime::memory::within_limit;
    use std::io::Write;

    /// An archive of one member with these bytes.
    fn archive(path: &Path, members: &[(&str, &[u8])]) {
        let mut zip = ZipWriter::new(File::create(path).unwrap());
        for (name, bytes) in members {
            let deflated = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
            zip.start_file(format!("{name}.npy"), deflated).unwrap();
            zip.write_all(bytes).unwrap();
        }
        zip.finish().unwrap();
    }

    #[test]
    fn inflated_arrays_count_towards_a_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("zeros.npz");
        let zeros = file("{'descr': '|u1', 'fortran_order': False, 'shape': (4194304,)}", &vec![0; 4 << 20]);
        archive(&path, &[("a", &zeros), ("b", &zeros)]);
        assert!(std::fs::metadata(&path).unwrap().len() < 64 << 10);
        let one = |limit| within_limit(limit, || load_npz(&path, "a").map(drop)).unwrap();
        assert!(one(1 << 20).unwrap_err().message.contains("limit of 1048576"));
        one(5 << 20).unwrap();
        let both = |limit| within_limit(limit, || Weights::open(&path).map(drop)).unwrap();
        assert!(both(5 << 20).unwrap_err().message.contains("limit of 5242880"));
        both(9 << 20).unwrap();
    }

    #[test]
    fn arrays_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npz");
        let arrays = vec![
            ("0".to_owned(), Tensor::from_slice(&[2, 3], &[1f32, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap()),
            ("1.0".to_owned(), Tensor::from_slice(&[2], &[true, false]).unwrap()),
            ("1.1".to_owned(), Tensor::from_slice(&[], &[7i64]).unwrap()),
            ("h".to_owned(), Tensor::from_slice(&[1], &[half::f16::from_f32(0.5)]).unwrap()),
            ("none".to_owned(), Tensor::from_slice(&[0, 4], &[] as &[u8]).unwrap()),
        ];
        save_npz(&path, &arrays).unwrap();
        for (name, tensor) in &arrays {
            let back = load_npz(&path, name).unwrap();
            assert_eq!((back.dtype(), back.shape()), (tensor.dtype(), tensor.shape()), "{name}");
            assert_eq!(back.as_bytes().unwrap(), tensor.as_bytes().unwrap(), "{name}");
        }
        let missing = load_npz(&path, "nome").unwrap_err().help.unwrap();
        assert!(missing.contains("did you mean `none`") && missing.contains("1.0"), "{missing}");
        assert!(load_npy(&path).unwrap_err().help.unwrap().contains("1.0"));
    }

    #[test]
    fn changed_bytes_never_change_values() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d.npz");
        let values: Vec<f64> = (0..64).map(f64::from).collect();
        let tensor = Tensor::from_slice(&[64], &values).unwrap();
        save_npz(&path, &[("x".to_owned(), tensor)]).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let damaged = folder.path().join("e.npz");
        for at in 0..bytes.len() {
            std::fs::write(&damaged, &bytes[..at]).unwrap();
            assert!(load_npz(&damaged, "x").is_err(), "cut at {at}");
            let mut changed = bytes.clone();
            changed[at] ^= 1 << (at % 8);
            std::fs::write(&damaged, changed).unwrap();
            if let Ok(read) = load_npz(&damaged, "x") {
                assert_eq!(read.as_slice::<f64>().unwrap(), values, "byte {at}");
            }
        }
    }

    #[test]
    fn archives_with_a_name_twice_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("twice.npz");
        let one = |value| {
            let mut bytes = Vec::new();
            npy::write(&mut bytes, &Tensor::from_slice(&[1], &[value]).unwrap()).unwrap();
            bytes
        };
        archive(&path, &[("x", &one(1f32)), ("y", &one(2f32)), ("z", &one(3f32))]);
        assert_eq!(load_npz(&path, "z").unwrap().as_slice::<f32>().unwrap(), [3.0]);
        // Member z gets the name of x, in its header and in the directory.
        let mut bytes = std::fs::read(&path).unwrap();
        while let Some(at) = bytes.windows(5).position(|window| window == b"z.npy") {
            bytes[at] = b'x';
        }
        std::fs::write(&path, bytes).unwrap();
        for name in ["x", "y"] {
            let error = load_npz(&path, name).unwrap_err().message;
            assert!(error.contains("two of its members are called `x.npy`"), "{error}");
        }
    }

    #[test]
    fn members_with_a_wrong_inflated_size_are_refused_early() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bomb.npz");
        let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (2,)}";
        archive(&path, &[("x", &file(header, &vec![0; 64 << 20]))]);
        assert!(load_npz(&path, "x").unwrap_err().message.contains("2 bytes, but 67108864 follow"));
        // The directory states a smaller size than the actual one.
        let mut bytes = std::fs::read(&path).unwrap();
        let real = ((64 << 20) + 128u32).to_le_bytes();
        while let Some(at) = bytes.windows(4).position(|window| window == real) {
            bytes[at..at + 4].copy_from_slice(&130u32.to_le_bytes());
        }
        std::fs::write(&path, bytes).unwrap();
        assert!(load_npz(&path, "x").is_err());
    }
}
