//! A library's kernels, mapped for execution by the system's loader.
use crate::ffi::{RUNTIME, RuntimeTable, SafeCall};
use crate::image::versions;
use crate::value::Function;
use crate::vm::native::{self, MachineCode, NativeEntry};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use std::error::Error as _;
use std::ffi::{CStr, c_int};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The symbol of the pointer that gets the address of the runtime's table.
pub const RUNTIME_SYMBOL: &str = "__hammock_runtime";

/// Loaded code; it stays mapped while any of its kernels lives.
pub(super) struct Code {
    library: Library,
    /// Which of the kernels' versions runs.
    version: usize,
}

impl Code {
    /// Maps a library from its bytes, which were checked, `data` left out: from a copy that nobody else can write to. It is
    /// in memory, or, where the system's loader finds no path to that, in a file.
    pub(super) fn load(bytes: &[u8], data: &Range<usize>, version: usize) -> Result<Code, String> {
        let mut library = from_memory(bytes, data);
        for folder in temporary::folders() {
            let Err(why) = library else { break };
            library = temporary::load(&folder, bytes, data).map_err(|error| format!("{why}; {error}"));
        }
        let code = Code { library: library?, version };
        code.lend_runtime();
        Ok(code)
    }

    fn lend_runtime(&self) {
        // SAFETY: the symbol, where it exists, is a pointer that the loader fills, as the linker's contract says.
        unsafe {
            if let Ok(slot) = self.library.get::<*mut *const RuntimeTable>(RUNTIME_SYMBOL) {
                **slot = &raw const RUNTIME;
            }
        }
    }

    /// The machine code of function `name`, and the version of the runtime that it was made for.
    pub(super) fn machine_code(self: &Arc<Self>, name: &str) -> Option<Result<MachineCode, u64>> {
        // SAFETY: symbols with this prefix are functions' machine code, and beside them stands their version, as the
        // linker's contract says.
        unsafe {
            let entry = *self.library.get::<NativeEntry>(format!("{}{name}", native::PREFIX)).ok()?;
            let version = **self.library.get::<*const u64>(native::VERSION_SYMBOL).ok()?;
            let is_ours = version == native::VERSION;
            Some(if is_ours { Ok(MachineCode::new(entry, self.clone())) } else { Err(version) })
        }
    }

    /// The kernel called `name`, in the version that this machine runs if it comes in several.
    pub(super) fn kernel(self: &Arc<Self>, name: &str) -> Option<Function> {
        // SAFETY: symbols of kernels follow the packed convention, as the linker's contract says; the function holds the
        // code it lies in.
        unsafe {
            let find = |version| self.library.get::<SafeCall>(versions::symbol(name, version));
            let call = *find(self.version).or_else(|_| find(0)).ok()?;
            Some(Function::from_c(call, self.clone()))
        }
    }
}

/// The version of kernels that the environment asks for. Standard functions for this take far more code.
pub(super) fn wanted_version() -> Option<&'static CStr> {
    // SAFETY: the name is a C string. As for every reader of the environment, nobody may change it at the same time; what
    // is found is read at once.
    unsafe {
        let value = libc::getenv(versions::VARIABLE.as_ptr());
        (!value.is_null()).then(|| CStr::from_ptr(value))
    }
}

/// Maps a library from memory.
fn from_memory(bytes: &[u8], data: &Range<usize>) -> Result<Library, String> {
    let file = file_in_memory().map_err(|error| format!("a file in memory: {error}"))?;
    write(&file, bytes, data).map_err(|error| format!("a file in memory: {error}"))?;
    open(Path::new(&unique_path(&file)))
}

/// Maps a library that [`Code::load`] wrote; an error says what the system's loader does.
fn open(path: &Path) -> Result<Library, String> {
    // SAFETY: our linker writes no initializers, and the seal says that the file is as our linker wrote it.
    let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) };
    library.map_err(|error| error.source().map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}")))
}

/// A path that leads to an open file, and has never been given before: the system's loader takes a library by the path
/// of one that is loaded for that one, and descriptors are used again.
fn unique_path(file: &File) -> String {
    static LOADED: AtomicU64 = AtomicU64::new(0);
    let number = LOADED.fetch_add(1, Ordering::Relaxed);
    let digits = u64::BITS - number.leading_zeros();
    let detours: String = (0..digits).map(|digit| if number >> digit & 1 == 0 { "/" } else { "./" }).collect();
    format!("/proc/self/fd/{detours}{}", file.as_raw_fd())
}

/// A nameless file.
fn file_in_memory() -> io::Result<File> {
    // SAFETY: a plain system call; the name is a C string.
    let descriptor: c_int = unsafe { libc::memfd_create(c"hammock".as_ptr(), libc::MFD_CLOEXEC) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and ours.
    Ok(unsafe { File::from_raw_fd(descriptor) })
}

/// Writes the bytes, with a hole in place of `data`.
pub(super) fn write(file: &File, bytes: &[u8], data: &Range<usize>) -> io::Result<()> {
    file.set_len(bytes.len() as u64)?;
    file.write_all_at(&bytes[..data.start], 0)?;
    file.write_all_at(&bytes[data.end..], data.end as u64)
}

/// Libraries in files, for processes that do not see their own open files, as without `/proc`.
pub(super) mod temporary {
    use super::{File, Library, Ordering, Path, PathBuf, Range, open, write};
    use std::fs::{self, OpenOptions};
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
    use std::sync::atomic::AtomicU64;

    /// Where a file may be written, the likeliest first.
    pub(in crate::library) fn folders() -> impl Iterator<Item = PathBuf> {
        [std::env::temp_dir()].into_iter().chain(["/dev/shm", "/tmp", "/var/tmp", "."].map(PathBuf::from))
    }

    /// Maps a library from a file of its own in a folder, which nobody else can write to or replace, and which is gone after
    /// that.
    pub(in crate::library) fn load(folder: &Path, bytes: &[u8], data: &Range<usize>) -> Result<Library, String> {
        static WRITTEN: AtomicU64 = AtomicU64::new(0);
        let failed = |why: &dyn std::fmt::Display| format!("a file in {}: {why}", folder.display());
        let name = format!("hammock-{}-{}.so", std::process::id(), WRITTEN.fetch_add(1, Ordering::Relaxed));
        check(folder).map_err(|why| failed(&why))?;
        // A path without a slash is looked for among the system's libraries.
        let path = fs::canonicalize(folder).map_err(|error| failed(&error))?.join(name);
        let file: File =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).map_err(|error| failed(&error))?;
        let written = write(&file, bytes, data).map_err(|error| failed(&error));
        drop(file);
        let library = written.and_then(|()| open(&path).map_err(|why| failed(&why)));
        // It stays where it cannot be removed: nothing depends on it any more.
        let _ = fs::remove_file(&path);
        library
    }

    /// Refuses a folder in which others could put a file in place of ours.
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
