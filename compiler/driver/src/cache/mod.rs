//! The kernel cache: machine code of kernels on disk.
//!
//! A folder has a file for each entry, named by its [`Key`]: a hash of everything that determines the code. A file is written
//! under a temporary name and renamed, so any number of processes can share a folder. Files are verified against their
//! checksum and key ([`file`]); a damaged one counts as a miss. No error of the cache stops a compilation.
//!
//! Cached code is executed: the folder must be the user's own, and nobody else may write to it.

mod file;
mod key;

pub(crate) use key::{Bytes, Key};

use hammock_tools::parse_bytes;
use rustix::process::geteuid;
use std::{
    env,
    fs::{self, DirBuilder, File, Metadata},
    io::{Read, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, SystemTime},
};
use tempfile::Builder;

/// Prefix of the names of files that are being written.
const UNFINISHED: &str = ".unfinished-";
/// Age at which such a file is abandoned.
const ABANDONED: Duration = Duration::from_secs(3600);
/// Maximum size of a file that is read.
const LARGEST: u64 = 1 << 30;
/// Environment variable that names the folder, or is `off`.
const FOLDER: &str = "HAMMOCK_CACHE";
/// Environment variable with the maximum size in bytes.
const SIZE: &str = "HAMMOCK_CACHE_SIZE";
/// Default maximum size in bytes.
const DEFAULT_SIZE: usize = 1 << 30;

/// A folder of cached machine code.
#[derive(Debug)]
pub struct Cache {
    folder: PathBuf,
    limit: u64,
    /// True if an entry was added since the last eviction.
    grown: AtomicBool,
}

/// Contents of a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Number of kernels.
    pub kernels: usize,
    /// Total size of their files in bytes.
    pub bytes: u64,
}

/// An entry's file.
struct Kept {
    path: PathBuf,
    bytes: u64,
    /// Time of the last read or write.
    used: SystemTime,
}

impl Cache {
    /// The user's cache folder, by the XDG Base Directory Specification: `hammock` in `XDG_CACHE_HOME`, otherwise in `~/.cache`.
    pub fn usual_folder() -> Option<PathBuf> {
        xdg::BaseDirectories::with_prefix("hammock").get_cache_home()
    }

    /// Opens the folder that `HAMMOCK_CACHE` names, by default the [usual one](Cache::usual_folder). `limit` is its maximum size in
    /// bytes, by default that of `HAMMOCK_CACHE_SIZE`, or 1 GiB.
    ///
    /// # Errors
    /// Why there is no cache: it is `off`, or the folder cannot be used.
    pub fn of_environment(limit: Option<usize>) -> Result<Cache, String> {
        let folder = match env::var_os(FOLDER) {
            Some(off) if off == "off" => return Err(format!("the environment says {FOLDER}=off")),
            Some(folder) if !folder.is_empty() => PathBuf::from(folder),
            _ => Cache::usual_folder().ok_or("neither XDG_CACHE_HOME nor HOME says where it could be")?,
        };
        let size = |text: String| parse_bytes(&text).map_err(|e| format!("{SIZE}={text} is {e}"));
        let given = env::var(SIZE).ok().filter(|text| !text.is_empty());
        let limit = limit.map_or_else(|| given.map_or(Ok(DEFAULT_SIZE), size), Ok)?;
        Cache::open(&folder, limit as u64)
    }

    /// Opens a folder, or creates it. Above `limit` bytes, the least recently used entries are evicted.
    ///
    /// # Errors
    /// If the folder cannot be used.
    pub fn open(folder: &Path, limit: u64) -> Result<Cache, String> {
        let failed = |e| format!("{} cannot be opened: {e}", folder.display());
        // No effect if it exists.
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
        let known = fs::metadata(folder).map_err(failed)?;
        if !known.is_dir() {
            return Err(format!("{} is no folder", folder.display()));
        }
        if known.uid() != geteuid().as_raw() {
            return Err(format!("{} belongs to another user, who could put any code there", folder.display()));
        }
        if known.mode() & 0o022 != 0 {
            let folder = folder.display();
            return Err(format!("others could put any code into {folder}: `chmod go-w {folder}` keeps them out"));
        }
        Ok(Cache { folder: folder.to_owned(), limit, grown: AtomicBool::new(false) })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Maximum size in bytes.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Number and size of its entries.
    pub fn usage(&self) -> Usage {
        let add = |sum: Usage, kept: &Kept| Usage { kernels: sum.kernels + 1, bytes: sum.bytes + kept.bytes };
        self.entries().iter().fold(Usage::default(), add)
    }

    /// Removes all entries, and returns what they were.
    pub fn clear(&self) -> Usage {
        self.remove_unfinished(Duration::ZERO);
        let remove = |sum: Usage, kept: &Kept| match fs::remove_file(&kept.path) {
            Ok(()) => Usage { kernels: sum.kernels + 1, bytes: sum.bytes + kept.bytes },
            Err(_) => sum,
        };
        self.entries().iter().fold(Usage::default(), remove)
    }

    /// The entry of a key.
    pub(crate) fn get(&self, key: &Key) -> Option<Vec<u8>> {
        let path = self.path(key);
        // Opening a FIFO would block until there is a writer.
        let size = fs::symlink_metadata(&path).ok().filter(Metadata::is_file)?.len();
        let opened = File::open(path).ok().filter(|_| size <= LARGEST)?;
        let mut bytes = Vec::with_capacity(size as usize);
        (&opened).take(LARGEST).read_to_end(&mut bytes).ok()?;
        let content = file::content(key, bytes)?;
        // Marks it as used; if that fails, it is only evicted earlier.
        let _ = opened.set_modified(SystemTime::now());
        Some(content)
    }

    /// Stores an entry, if possible.
    pub(crate) fn put(&self, key: &Key, content: &[u8]) {
        let written = || {
            let mut new = Builder::new().prefix(UNFINISHED).tempfile_in(&self.folder).ok()?;
            new.write_all(&file::sealed(key, content)).ok()?;
            new.persist(self.path(key)).ok()
        };
        if written().is_some() {
            self.grown.store(true, Ordering::Relaxed);
        }
    }

    fn path(&self, key: &Key) -> PathBuf {
        self.folder.join(key.to_string())
    }

    /// Files of entries; other files are ignored.
    fn entries(&self) -> Vec<Kept> {
        let files = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let entries = files.filter(|file| file.file_name().to_str().is_some_and(Key::is_name));
        let kept = entries.filter_map(|file| {
            let known = file.metadata().ok().filter(Metadata::is_file)?;
            Some(Kept { path: file.path(), bytes: known.len(), used: known.modified().ok()? })
        });
        kept.collect()
    }

    /// Evicts the least recently used entries until the size is well below the limit.
    fn shrink(&self) {
        self.remove_unfinished(ABANDONED);
        let mut kept = self.entries();
        let mut bytes: u64 = kept.iter().map(|kept| kept.bytes).sum();
        if bytes <= self.limit {
            return;
        }
        kept.sort_by_key(|kept| kept.used);
        for Kept { path, bytes: freed, .. } in kept {
            if bytes <= self.limit - self.limit / 8 {
                break;
            }
            // Another process may have removed it.
            let _ = fs::remove_file(path);
            bytes -= freed;
        }
    }

    /// Removes temporary files of killed processes.
    fn remove_unfinished(&self, age: Duration) {
        for file in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let is_ours = file.file_name().to_str().is_some_and(|name| name.starts_with(UNFINISHED));
            let written = file.metadata().and_then(|known| known.modified()).ok();
            if is_ours && written.and_then(|at| at.elapsed().ok()).is_some_and(|old| old >= age) {
                let _ = fs::remove_file(file.path());
            }
        }
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        if self.grown.load(Ordering::Relaxed) {
            self.shrink();
        }
    }
}

#[cfg(test)]
mod tests;
