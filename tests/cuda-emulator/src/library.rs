//! Where a program finds the emulator as `libcuda.so.1`.
//!
//! The dynamic linker reads `LD_LIBRARY_PATH` when a process starts. So a test runs itself again:
//!
//! ```no_run
//! let folder = hammock_cuda_emulator::library::folder().unwrap();
//! let exe = std::env::current_exe().unwrap();
//! std::process::Command::new(exe).env("LD_LIBRARY_PATH", folder).env("CUDA_EMULATOR_CAPABILITY", "9.0");
//! ```
use std::{
    io::{self, ErrorKind},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

/// The library as Cargo builds it beside the tests of every crate that depends on this one.
const BUILT: &str = "libhammock_cuda_emulator.so";
/// Names by which programs load a driver.
const DRIVER: [&str; 2] = ["libcuda.so.1", "libcuda.so"];
/// Name by which programs load cuBLASLt.
const CUBLAS: &str = "libcublasLt.so.12";

/// Returns a folder for `LD_LIBRARY_PATH` in which the emulator is the driver.
///
/// # Errors
/// If the emulator's library was not built, or the folder cannot be made.
pub fn folder() -> io::Result<PathBuf> {
    linked("cuda-emulator", &DRIVER)
}

/// Returns a folder like [`folder`], in which the emulator is cuBLASLt, too.
///
/// # Errors
/// As for [`folder`].
pub fn folder_with_cublas() -> io::Result<PathBuf> {
    linked("cuda-emulator-cublas", &[DRIVER[0], DRIVER[1], CUBLAS])
}

/// Returns a folder beside the emulator's library with links to it.
fn linked(folder: &str, names: &[&str]) -> io::Result<PathBuf> {
    let exe = std::env::current_exe()?;
    let mut beside = exe.ancestors().skip(1).take(2).map(|folder| folder.join(BUILT));
    let library = beside
        .find(|path| path.is_file())
        .ok_or_else(|| io::Error::new(ErrorKind::NotFound, format!("no {BUILT} beside {}", exe.display())))?;
    let folder = library.with_file_name(folder);
    std::fs::create_dir_all(&folder)?;
    for name in names {
        link(&library, &folder.join(name))?;
    }
    Ok(folder)
}

/// Makes a link, unless another test did.
fn link(library: &Path, link: &Path) -> io::Result<()> {
    match symlink(library, link) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        result => result,
    }
}
