//! Loading linked models: a shared library that holds kernels and an image ([`crate::image`]), from a file, from
//! memory, or appended to the running program.
//!
//! Nothing in a file is trusted until its [`seal`] has been verified. The image is found and read without running
//! anything. Kernels are mapped for execution at first use, from the bytes that were verified: a file is opened once,
//! and later changes to its path or contents have no effect ([`snapshot`]).
//!
//! Symbols that a linker must define:
//!
//! | symbol | contents |
//! |---|---|
//! | [`image::SYMBOL`] | the image, aligned to 64 bytes, with its size |
//! | [`KERNEL_PREFIX`]`name` | a kernel in the packed calling convention |
//! | [`versions::symbol`] | (with several versions of kernels) a kernel in a version other than the first |
//! | [`native::PREFIX`]`name`, [`native::VERSION_SYMBOL`] | (with compiled functions) a function's machine code |
//! | [`RUNTIME_SYMBOL`] | (if kernels need it) a pointer that receives the address of the [`RuntimeTable`] |
//!
//! [`RuntimeTable`]: crate::ffi::RuntimeTable
mod code;
mod elf;
mod imports;
pub mod seal;
mod shared_library;
mod snapshot;
pub mod tvm;

pub use crate::image::versions::KERNEL_PREFIX;
pub use code::RUNTIME_SYMBOL;
pub use elf::ElfError;
pub use imports::SystemLibrary;
pub use seal::SealError;
pub use tvm::TvmError;

use crate::Error;
use crate::cpu_features::Features;
use crate::executable::{ConstantData, Executable, is_executable};
use crate::image::{self, Image, ImageError, Integrity, versions};
use crate::memory::MappedFile;
use crate::regular_file::open_regular;
use crate::value::{Function, SharedBytes};
use crate::vm::{
    Options, Vm,
    native::{self, MachineCode},
};
use code::Code;
use memmap2::MmapOptions;
use snapshot::Snapshot;
use std::borrow::Cow;
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Reason why a library is rejected.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// The file cannot be read.
    #[error("cannot read {}: {cause}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
    /// The file was written to while it was open.
    #[error("the file was changed while it was being read: open it again once it is complete")]
    Changed,
    /// The file has no seal.
    #[error("`{}` is not a compiled model, or is truncated", .0.display())]
    NotAModel(PathBuf),
    /// The file is damaged.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// The file is not a shared library for this machine.
    #[error(transparent)]
    Elf(#[from] ElfError),
    /// The library has no image.
    #[error("the library holds no compiled model: it has no symbol `{}`", image::SYMBOL)]
    NoImage,
    /// The library is in TVM's format, which only TVM's runtime can run.
    #[error("the library was made for TVM's runtime, which its kernels need")]
    TvmFormat,
    /// The modules of a library in TVM's format are damaged, or none of them is bytecode.
    #[error(transparent)]
    Tvm(#[from] TvmError),
    /// The image is damaged or invalid.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The library's functions were compiled for another version of the runtime.
    #[error("the functions were compiled for another version of the runtime ({made_for:#x}, not {runtime:#x})")]
    Version {
        /// Runtime version that they were compiled for.
        made_for: u64,
        /// This runtime's version.
        runtime: u64,
    },
    /// The kernels cannot be mapped.
    #[error("cannot load the kernels: {0}")]
    Load(String),
}

/// A linked model: its image, and its kernels, which are loaded at first use.
pub struct Library {
    image: Arc<Image>,
    kernels: Vec<String>,
    contents: Contents,
    code: OnceLock<Result<Arc<Code>, String>>,
}

/// The library's bytes.
struct Contents {
    owner: SharedBytes,
    range: Range<usize>,
    /// Range of the constants' data, which is used in place and which kernels never read.
    data: Range<usize>,
    /// The file of the bytes, if there is one.
    file: Option<Arc<Snapshot>>,
    /// The constants, if `data` has no bytes for them.
    constants: Option<ConstantData>,
}

impl Contents {
    fn bytes(&self) -> &[u8] {
        &(*self.owner).as_ref()[self.range.clone()]
    }
}

/// The image in a file of any format: a linked model, a library that TVM exported, or plain bytecode. The last two have
/// no sources and kernels.
pub fn image_of(path: &Path) -> Result<Arc<Image>, LibraryError> {
    let file = Arc::new(Snapshot::open(path)?);
    let bytes = (*file).as_ref();
    let executable = match tvm_modules(bytes)? {
        Some(modules) => tvm::executable(&bytes[modules])?,
        None if is_executable(bytes) => bytes,
        None => return Library::of_file(file, Some(path)).map(|library| library.image().clone()),
    };
    let executable = Executable::load(executable).map_err(ImageError::from)?;
    Ok(Arc::new(Image { executable, ..Image::default() }))
}

/// Range of TVM's modules in a library, if it has any.
fn tvm_modules(bytes: &[u8]) -> Result<Option<Range<usize>>, ElfError> {
    match elf::Elf::read(bytes) {
        Ok(elf) => Ok(elf.find(tvm::SYMBOL)),
        Err(ElfError::NotElf) => Ok(None),
        Err(error) => Err(error),
    }
}

impl Vm {
    /// Creates a virtual machine for a linked model.
    pub fn from_library(library: &Arc<Library>, options: Options) -> Result<Vm, Error> {
        let failed = |error: LibraryError| Error::runtime(error.to_string());
        let kernel = |name: &str| library.kernel(name).map_err(failed);
        let machine_code = |name: &str| library.machine_code(name).map_err(failed);
        Vm::with_code(library.image().clone(), library.size(), options, &kernel, &machine_code)
    }
}

impl Library {
    /// Opens a file that a linker wrote and sealed.
    pub fn open(path: &Path) -> Result<Library, LibraryError> {
        Library::of_file(Arc::new(Snapshot::open(path)?), Some(path))
    }

    /// Opens a library from an open file; its companion files are next to `path`.
    fn of_file(file: Arc<Snapshot>, path: Option<&Path>) -> Result<Library, LibraryError> {
        let range = 0..(*file).as_ref().len();
        Library::load(file.clone(), range, Some((file, path)), Integrity::Check, None)
    }

    /// Loads a library from memory. With [`Integrity::Trust`], it needs no seal: the caller has just created the bytes.
    pub fn from_bytes(owner: SharedBytes, integrity: Integrity) -> Result<Library, LibraryError> {
        let range = 0..(*owner).as_ref().len();
        Library::load(owner, range, None, integrity, None)
    }

    /// Loads a library that was just linked: the bytes before its constants, the constants, and the bytes after them.
    /// The constants are not copied, so a model takes no more memory than its weights.
    pub fn from_linked(before: &[u8], constants: &ConstantData, after: &[u8]) -> Result<Library, LibraryError> {
        let begin = before.len() + constants.len();
        let room = MmapOptions::new().len(begin + after.len()).no_reserve_swap().map_anon();
        // The bytes in between are never read, so they take no memory.
        let bytes = room.and_then(|mut bytes| {
            bytes[..before.len()].copy_from_slice(before);
            bytes[begin..].copy_from_slice(after);
            bytes.make_read_only()
        });
        let owner: SharedBytes = Arc::new(bytes.map_err(|error| LibraryError::Load(error.to_string()))?);
        let range = 0..(*owner).as_ref().len();
        Library::load(owner, range, None, Integrity::Trust, Some(constants))
    }

    /// Loads the library appended to the running program's file ([`seal`]); `None` if there is none.
    pub fn appended() -> Result<Option<Library>, LibraryError> {
        // A program that cannot read its own file has no appended library.
        let Ok(program) = map_program() else { return Ok(None) };
        let owner: SharedBytes = Arc::new(program);
        match seal::appended((*owner).as_ref()) {
            Some(range) => Library::load(owner, range, None, Integrity::Check, None).map(Some),
            None => Ok(None),
        }
    }

    fn load(
        owner: SharedBytes,
        range: Range<usize>,
        file: Option<(Arc<Snapshot>, Option<&Path>)>,
        integrity: Integrity,
        constants: Option<&ConstantData>,
    ) -> Result<Library, LibraryError> {
        let bytes = &(*owner).as_ref()[range.clone()];
        let (file, path) = file.map_or((None, None), |(file, path)| (Some(file), path));
        if integrity == Integrity::Check {
            seal::check(bytes).map_err(|error| seal_error(error, bytes, path))?;
        }
        let elf = elf::Elf::read(bytes)?;
        let image_range = match (elf.find(image::SYMBOL), elf.find(tvm::SYMBOL)) {
            (Some(range), _) => range,
            (None, Some(_)) => return Err(LibraryError::TvmFormat),
            (None, None) => return Err(LibraryError::NoImage),
        };
        let kernels = elf.names().filter_map(|name| name.strip_prefix(KERNEL_PREFIX)).map(str::to_owned).collect();
        let data = constants_in(bytes, &image_range).unwrap_or(0..0);
        if file.as_ref().is_some_and(|file| !file.is_current(&data)) {
            return Err(LibraryError::Changed);
        }
        let in_owner = range.start + image_range.start..range.start + image_range.end;
        let image = Arc::new(match constants {
            Some(constants) => Image::load_with(owner.clone(), in_owner, constants)?,
            None => Image::load_with_companions(owner.clone(), in_owner, Integrity::Trust, path)?,
        });
        let contents = Contents { owner, range, data, file, constants: constants.cloned() };
        Ok(Library { image, kernels, contents, code: OnceLock::new() })
    }

    /// The image.
    pub fn image(&self) -> &Arc<Image> {
        &self.image
    }

    /// Names of the kernels.
    pub fn kernels(&self) -> &[String] {
        &self.kernels
    }

    /// Size of the shared library in bytes.
    pub fn size(&self) -> usize {
        self.contents.range.len()
    }

    /// The bytes of the shared library.
    pub fn to_bytes(&self) -> Cow<'_, [u8]> {
        let Contents { data, constants, .. } = &self.contents;
        let bytes = self.contents.bytes();
        let Some(constants) = constants else { return bytes.into() };
        let mut whole = bytes[..data.start].to_vec();
        constants.append_to(&mut whole);
        whole.extend_from_slice(&bytes[data.end..]);
        whole.into()
    }

    /// The kernel `name`, which checks its arguments when it is called. The first call maps the code.
    pub fn kernel(&self, name: &str) -> Result<Option<Function>, LibraryError> {
        if !self.kernels.iter().any(|kernel| kernel == name) {
            return Ok(None);
        }
        let kernel = self.code()?.kernel(name);
        Ok(kernel.map(|kernel| match self.image.kernel(name) {
            Some(signature) => signature.guard(kernel),
            None => kernel,
        }))
    }

    /// The machine code of a function of the image, if the library has it.
    pub fn machine_code(&self, name: &str) -> Result<Option<MachineCode>, LibraryError> {
        let found = self.code()?.machine_code(name).transpose();
        found.map_err(|made_for| LibraryError::Version { made_for, runtime: native::VERSION })
    }

    fn code(&self) -> Result<&Arc<Code>, LibraryError> {
        let Contents { data, file, .. } = &self.contents;
        if self.code.get().is_none() && file.as_ref().is_some_and(|file| !file.is_current(data)) {
            return Err(LibraryError::Changed);
        }
        let load = || {
            let wanted = code::requested_version().map(CStr::to_bytes);
            let version = versions::choose(&self.image.versions, Features::detected(), wanted);
            let version = version.map_err(|unfit| unfit.to_string())?;
            let code = Code::load(self.contents.bytes(), data, version);
            code.map(Arc::new).map_err(|error| error.message().to_owned())
        };
        self.code.get_or_init(load).as_ref().map_err(|reason| LibraryError::Load(reason.clone()))
    }
}

/// The file next to a library that has its weights, if there is one. Neither file is verified.
pub fn external_weights(path: &Path) -> Option<PathBuf> {
    let bytes = MappedFile::new(&open_regular(path).ok()?).ok()?;
    let image = elf::Elf::read(&bytes).ok()?.find(image::SYMBOL)?;
    image::external_file(bytes.get(image)?, path)
}

/// Range of the constants' data in a library's bytes, which need not be verified.
fn constants_of(bytes: &[u8]) -> Option<Range<usize>> {
    let image = elf::Elf::read(bytes).ok()?.find(image::SYMBOL)?;
    constants_in(bytes, &image)
}

/// Like [`constants_of`], for a known range of the image.
fn constants_in(bytes: &[u8], image: &Range<usize>) -> Option<Range<usize>> {
    let constants = image::constants_range(&bytes[image.clone()])?;
    Some(image.start + constants.start..image.start + constants.end)
}

/// The error for a library whose seal is invalid.
fn seal_error(error: SealError, bytes: &[u8], path: Option<&Path>) -> LibraryError {
    match (tvm_modules(bytes), path) {
        (Ok(Some(_)), _) if error == SealError::Missing => LibraryError::TvmFormat,
        (_, Some(path)) if error == SealError::Missing => LibraryError::NotAModel(path.to_owned()),
        _ => error.into(),
    }
}

/// Maps the running program's file, which nobody can write to. If the system does not show it, as without `/proc`, it
/// is the file from which the program was started.
fn map_program() -> io::Result<MappedFile> {
    let file = File::open("/proc/self/exe").or_else(|error| File::open(started_from().ok_or(error)?))?;
    MappedFile::new(&file)
}

/// The path that the system received to start the program.
#[cfg(target_os = "linux")]
fn started_from() -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    // SAFETY: the system's entry is null or a C string that does not change.
    unsafe {
        let path = std::ptr::with_exposed_provenance::<std::ffi::c_char>(libc::getauxval(libc::AT_EXECFN) as usize);
        (!path.is_null()).then(|| std::ffi::OsStr::from_bytes(CStr::from_ptr(path).to_bytes()).into())
    }
}

#[cfg(not(target_os = "linux"))]
fn started_from() -> Option<PathBuf> {
    None
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
