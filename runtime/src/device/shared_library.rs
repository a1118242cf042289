//! Code of the CPU: shared libraries, mapped for execution by the system's dynamic loader.
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use std::error::Error as _;
use std::ffi::{c_int, c_void};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// A mapped library.
pub(crate) struct SharedLibrary(Library);

impl SharedLibrary {
    /// Maps a library from its verified bytes, without `unused`: from a copy that nobody else can write to. The copy is
    /// in memory, or in a file where the dynamic loader has no path to memory files.
    ///
    /// # Safety
    /// A linker made the code for this machine, and loading it runs nothing.
    pub(crate) unsafe fn load(bytes: &[u8], unused: &Range<usize>) -> Result<SharedLibrary, String> {
        let mut library = from_memory(bytes, unused);
        for folder in temporary::folders() {
            let Err(why) = library else { break };
            library = temporary::load(&folder, bytes, unused).map_err(|error| format!("{why}; {error}"));
        }
        library.map(SharedLibrary)
    }

    /// The address of a function or variable.
    pub(crate) fn symbol(&self, name: &str) -> Option<NonNull<c_void>> {
        // SAFETY: the address is not used here.
        unsafe { self.0.get::<*mut c_void>(name) }.ok().and_then(|address| NonNull::new(*address))
    }
}

/// Maps a library from memory.
fn from_memory(bytes: &[u8], unused: &Range<usize>) -> Result<Library, String> {
    let file = file_in_memory().map_err(|error| format!("a file in memory: {error}"))?;
    write(&file, bytes, unused).map_err(|error| format!("a file in memory: {error}"))?;
    open(Path::new(&unique_path(&file)))
}

/// Maps a library that [`SharedLibrary::load`] wrote; an error is the dynamic loader's message.
fn open(path: &Path) -> Result<Library, String> {
    // SAFETY: as the caller of `load` promises, loading the library runs nothing.
    let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) };
    library.map_err(|error| error.source().map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}")))
}

/// A path to an open file that was never used before: the dynamic loader identifies loaded libraries by path, and
/// descriptor numbers are reused.
fn unique_path(file: &File) -> String {
    static LOADED: AtomicU64 = AtomicU64::new(0);
    let number = LOADED.fetch_add(1, Ordering::Relaxed);
    let digits = u64::BITS - number.leading_zeros();
    let detours: String = (0..digits).map(|digit| if number >> digit & 1 == 0 { "/" } else { "./" }).collect();
    format!("/proc/self/fd/{detours}{}", file.as_raw_fd())
}

/// An anonymous file in memory.
fn file_in_memory() -> io::Result<File> {
    // SAFETY: a plain system call; the name is a C string.
    let descriptor: c_int = unsafe { libc::memfd_create(c"hammock".as_ptr(), libc::MFD_CLOEXEC) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and ours.
    Ok(unsafe { File::from_raw_fd(descriptor) })
}

/// Writes the bytes, with a hole for `unused`.
fn write(file: &File, bytes: &[u8], unused: &Range<usize>) -> io::Result<()> {
    file.set_len(bytes.len() as u64)?;
    file.write_all_at(&bytes[..unused.start], 0)?;
    file.write_all_at(&bytes[unused.end..], unused.end as u64)
}

/// Libraries in temporary files, for processes that have no paths to their open files, as without `/proc`.
pub(crate) mod temporary {
    use super::{File, Library, Ordering, Path, PathBuf, Range, open, write};
    use std::fs::{self, OpenOptions};
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
    use std::sync::atomic::AtomicU64;

    /// Folders in which a file may be written, the likeliest first.
    pub(crate) fn folders() -> impl Iterator<Item = PathBuf> {
        [std::env::temp_dir()].into_iter().chain(["/dev/shm", "/tmp", "/var/tmp", "."].map(PathBuf::from))
    }

    /// Maps a library from a temporary file in a folder, which nobody else can write to or replace, and which is
    /// removed afterwards.
    pub(crate) fn load(folder: &Path, bytes: &[u8], unused: &Range<usize>) -> Result<Library, String> {
        static WRITTEN: AtomicU64 = AtomicU64::new(0);
        let failed = |why: &dyn std::fmt::Display| format!("a file in {}: {why}", folder.display());
        let name = format!("hammock-{}-{}.so", std::process::id(), WRITTEN.fetch_add(1, Ordering::Relaxed));
        check(folder).map_err(|why| failed(&why))?;
        // A path without a slash is searched among the system's libraries.
        let path = fs::canonicalize(folder).map_err(|error| failed(&error))?.join(name);
        let file: File =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).map_err(|error| failed(&error))?;
        let written = write(&file, bytes, unused).map_err(|error| failed(&error));
        drop(file);
        let library = written.and_then(|()| open(&path).map_err(|why| failed(&why)));
        // If it cannot be removed, it stays: nothing depends on it any more.
        let _ = fs::remove_file(&path);
        library
    }

    /// Rejects a folder in which others could replace our file.
    fn check(folder: &Path) -> Result<(), String> {
        let about = fs::metadata(folder).map_err(|error| error.to_string())?;
        // SAFETY: a plain system call.
        let us = unsafe { libc::geteuid() };
        let (is_shared, is_sticky) = (about.mode() & 0o022 != 0, about.mode() & 0o1000 != 0);
        match (about.uid() == us || about.uid() == 0) && (!is_shared || is_sticky) {
            true => Ok(()),
            false => Err("others may replace files in it".to_owned()),
        }
    }
}
