//! A library's kernels, mapped for execution by the system's dynamic loader.
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

/// The symbol of the pointer that receives the address of the runtime's table.
pub const RUNTIME_SYMBOL: &str = "__hammock_runtime";

/// Loaded code; it stays mapped while any of its kernels lives.
pub(super) struct Code {
    library: Library,
    /// The selected version of the kernels.
    version: usize,
}

impl Code {
    /// Maps a library from its verified bytes, without `data`: from a copy that nobody else can write to. The copy is
    /// in memory, or in a file where the dynamic loader has no path to memory files.
    pub(super) fn load(bytes: &[u8], data: &Range<usize>, version: usize) -> Result<Code, String> {
        let mut library = from_memory(bytes, data);
        for folder in temporary::folders() {
            let Err(why) = library else { break };
            library = temporary::load(&folder, bytes, data).map_err(|error| format!("{why}; {error}"));
        }
        let code = Code { library: library?, version };
        code.set_runtime_pointer();
        Ok(code)
    }

    fn set_runtime_pointer(&self) {
        // SAFETY: the symbol, if it exists, is a pointer that the loader fills, as the linker's contract says.
        unsafe {
            if let Ok(slot) = self.library.get::<*mut *const RuntimeTable>(RUNTIME_SYMBOL) {
                **slot = &raw const RUNTIME;
            }
        }
    }

    /// The machine code of function `name`, and the version of the runtime that it was compiled for.
    pub(super) fn machine_code(self: &Arc<Self>, name: &str) -> Option<Result<MachineCode, u64>> {
        // SAFETY: symbols with this prefix are functions' machine code, and their version has a symbol too, as the
        // linker's contract says.
        unsafe {
            let entry = *self.library.get::<NativeEntry>(format!("{}{name}", native::PREFIX)).ok()?;
            let version = **self.library.get::<*const u64>(native::VERSION_SYMBOL).ok()?;
            let is_ours = version == native::VERSION;
            Some(if is_ours { Ok(MachineCode::new(entry, self.clone())) } else { Err(version) })
        }
    }

    /// The kernel `name`, in the selected version.
    pub(super) fn kernel(self: &Arc<Self>, name: &str) -> Option<Function> {
        // SAFETY: symbols of kernels follow the packed convention, as the linker's contract says; the function keeps
        // its code mapped.
        unsafe {
            let find = |version| self.library.get::<SafeCall>(versions::symbol(name, version));
            let call = *find(self.version).or_else(|_| find(0)).ok()?;
            Some(Function::from_c(call, self.clone()))
        }
    }
}

/// The version of kernels that the environment requests. The standard library's functions need far more code.
pub(super) fn requested_version() -> Option<&'static CStr> {
    // SAFETY: the name is a C string. As for every reader of the environment, nobody may change it at the same time;
    // the value is read at once.
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

/// Maps a library that [`Code::load`] wrote; an error is the dynamic loader's message.
fn open(path: &Path) -> Result<Library, String> {
    // SAFETY: our linker writes no initializers, and the seal proves that the file is as our linker wrote it.
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

/// Writes the bytes, with a hole for `data`.
pub(super) fn write(file: &File, bytes: &[u8], data: &Range<usize>) -> io::Result<()> {
    file.set_len(bytes.len() as u64)?;
    file.write_all_at(&bytes[..data.start], 0)?;
    file.write_all_at(&bytes[data.end..], data.end as u64)
}

/// Libraries in temporary files, for processes that have no paths to their open files, as without `/proc`.
pub(super) mod temporary {
    use super::{File, Library, Ordering, Path, PathBuf, Range, open, write};
    use std::fs::{self, OpenOptions};
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
    use std::sync::atomic::AtomicU64;

    /// Folders in which a file may be written, the likeliest first.
    pub(in crate::library) fn folders() -> impl Iterator<Item = PathBuf> {
        [std::env::temp_dir()].into_iter().chain(["/dev/shm", "/tmp", "/var/tmp", "."].map(PathBuf::from))
    }

    /// Maps a library from a temporary file in a folder, which nobody else can write to or replace, and which is
    /// removed afterwards.
    pub(in crate::library) fn load(folder: &Path, bytes: &[u8], data: &Range<usize>) -> Result<Library, String> {
        static WRITTEN: AtomicU64 = AtomicU64::new(0);
        let failed = |why: &dyn std::fmt::Display| format!("a file in {}: {why}", folder.display());
        let name = format!("hammock-{}-{}.so", std::process::id(), WRITTEN.fetch_add(1, Ordering::Relaxed));
        check(folder).map_err(|why| failed(&why))?;
        // A path without a slash is searched among the system's libraries.
        let path = fs::canonicalize(folder).map_err(|error| failed(&error))?.join(name);
        let file: File =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).map_err(|error| failed(&error))?;
        let written = write(&file, bytes, data).map_err(|error| failed(&error));
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
