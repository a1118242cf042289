//! A library's kernels, mapped for execution by the system's loader.
use crate::ffi::{RUNTIME, RuntimeTable, SafeCall};
use crate::image::versions;
use crate::value::Function;
use crate::vm::native::{self, MachineCode, NativeEntry};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use std::ffi::{CStr, c_int};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;
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
    /// Maps a library from its bytes, which were checked, `data` left out: from a copy that nobody else can write to.
    pub(super) fn load(bytes: &[u8], data: &Range<usize>, version: usize) -> Result<Code, String> {
        let file = file_in_memory(bytes, data).map_err(|error| error.to_string())?;
        // SAFETY: our linker writes no initializers, and the seal says that the file is as our linker wrote it.
        let library = unsafe { Library::open(Some(unique_path(&file)), RTLD_NOW | RTLD_LOCAL) };
        let code = Code { library: library.map_err(|error| error.to_string())?, version };
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

/// A path that leads to an open file, and has never been given before: the system's loader takes a library by the path
/// of one that is loaded for that one, and descriptors are used again.
fn unique_path(file: &File) -> String {
    static LOADED: AtomicU64 = AtomicU64::new(0);
    let number = LOADED.fetch_add(1, Ordering::Relaxed);
    let digits = u64::BITS - number.leading_zeros();
    let detours: String = (0..digits).map(|digit| if number >> digit & 1 == 0 { "/" } else { "./" }).collect();
    format!("/proc/self/fd/{detours}{}", file.as_raw_fd())
}

/// A nameless file with the given bytes, with a hole in place of `data`.
fn file_in_memory(bytes: &[u8], data: &Range<usize>) -> io::Result<File> {
    // SAFETY: a plain system call; the name is a C string.
    let descriptor: c_int = unsafe { libc::memfd_create(c"hammock".as_ptr(), libc::MFD_CLOEXEC) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and ours.
    let file = unsafe { File::from_raw_fd(descriptor) };
    file.set_len(bytes.len() as u64)?;
    file.write_all_at(&bytes[..data.start], 0)?;
    file.write_all_at(&bytes[data.end..], data.end as u64)?;
    Ok(file)
}
