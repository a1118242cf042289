//! Kernels' machine code kept on disk, so that what was compiled once is not compiled again.
//!
//! A folder has a file for each entry, named by its [`Key`]: a hash of all that decides on the code. A file is written
//! under another name first and then takes its own, so that any number of processes can share a folder. What is read is
//! compared with its checksum and its key ([`file`]); whatever is wrong with a file, it is as if there were none. Nothing
//! that goes wrong here stops a compilation.
//!
//! Kept code is executed: the folder must be the user's own, and nobody else may write to it.

mod file;
mod key;

pub(crate) use key::{Bytes, Key};

use rustix::process::geteuid;
use std::{
    fs::{self, DirBuilder, File, Metadata},
    io::{Read, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, SystemTime},
};
use tempfile::Builder;

/// What names of files begin with that are being written.
const UNFINISHED: &str = ".unfinished-";
/// How old such a file is when nobody can be writing it anymore.
const ABANDONED: Duration = Duration::from_secs(3600);
/// The largest file that is read.
const LARGEST: u64 = 1 << 30;

/// A folder of machine code.
#[derive(Debug)]
pub struct Cache {
    folder: PathBuf,
    limit: u64,
    /// True if something was added since the folder was last made smaller.
    grown: AtomicBool,
}

/// What a cache holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// How many kernels.
    pub kernels: usize,
    /// The bytes of their files.
    pub bytes: u64,
}

/// An entry's file.
struct Kept {
    path: PathBuf,
    bytes: u64,
    /// When it was last read or written.
    used: SystemTime,
}

impl Cache {
    /// Where a user's cache is, by the XDG Base Directory Specification: `hammock` in `XDG_CACHE_HOME`, else in `~/.cache`.
    pub fn usual_folder() -> Option<PathBuf> {
        xdg::BaseDirectories::with_prefix("hammock").get_cache_home()
    }

    /// Opens a folder, which is made if it is not there. Whenever it takes more than `limit` bytes, what was not used for
    /// the longest time is removed.
    ///
    /// # Errors
    /// Why the folder cannot be used.
    pub fn open(folder: &Path, limit: u64) -> Result<Cache, String> {
        let failed = |e| format!("{} cannot be opened: {e}", folder.display());
        // This changes nothing if it is there.
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

    /// The most bytes that it takes.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// What it holds.
    pub fn usage(&self) -> Usage {
        let add = |sum: Usage, kept: &Kept| Usage { kernels: sum.kernels + 1, bytes: sum.bytes + kept.bytes };
        self.entries().iter().fold(Usage::default(), add)
    }

    /// Removes everything that it holds, and gives what that was.
    pub fn clear(&self) -> Usage {
        self.remove_unfinished(Duration::ZERO);
        let remove = |sum: Usage, kept: &Kept| match fs::remove_file(&kept.path) {
            Ok(()) => Usage { kernels: sum.kernels + 1, bytes: sum.bytes + kept.bytes },
            Err(_) => sum,
        };
        self.entries().iter().fold(Usage::default(), remove)
    }

    /// What was kept under a key.
    pub(crate) fn get(&self, key: &Key) -> Option<Vec<u8>> {
        let path = self.path(key);
        // What is no file may wait for a writer for ever.
        let size = fs::symlink_metadata(&path).ok().filter(Metadata::is_file)?.len();
        let opened = File::open(path).ok().filter(|_| size <= LARGEST)?;
        let mut bytes = Vec::with_capacity(size as usize);
        (&opened).take(LARGEST).read_to_end(&mut bytes).ok()?;
        let content = file::content(key, bytes)?;
        // It was used; if that cannot be noted, it is removed sooner than others.
        let _ = opened.set_modified(SystemTime::now());
        Some(content)
    }

    /// Keeps something under a key, if that is possible.
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

    /// The files of entries; others are none of ours.
    fn entries(&self) -> Vec<Kept> {
        let files = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let entries = files.filter(|file| file.file_name().to_str().is_some_and(Key::is_name));
        let kept = entries.filter_map(|file| {
            let known = file.metadata().ok().filter(Metadata::is_file)?;
            Some(Kept { path: file.path(), bytes: known.len(), used: known.modified().ok()? })
        });
        kept.collect()
    }

    /// Removes what was not used for the longest time, until there is some room below the limit.
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

    /// Removes what processes that were killed left.
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
