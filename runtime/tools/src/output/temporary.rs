//! Incomplete files, which leave nothing behind if writing fails or the process is interrupted.
//!
//! If the file system supports it, such a file has no name until it is complete (`O_TMPFILE`), and disappears with the
//! process, however it ends. Otherwise, its name is removed on drop, and by a handler of the signals that end a
//! process.

use std::{
    ffi::{CString, c_char, c_int},
    fs::{File, OpenOptions},
    io,
    os::{
        fd::AsRawFd,
        unix::{ffi::OsStrExt, fs::OpenOptionsExt},
    },
    path::{Path, PathBuf},
    ptr,
    sync::{
        Mutex, MutexGuard, Once, PoisonError,
        atomic::{AtomicPtr, Ordering},
    },
};

/// A file that is not complete yet.
pub(super) struct Temporary {
    file: File,
    name: Option<Named>,
    folder: PathBuf,
}

impl Temporary {
    /// Creates an empty file in a folder, with a mode (less the umask).
    pub(super) fn create(folder: &Path, mode: u32) -> io::Result<Temporary> {
        handle_signals();
        let nameless = || OpenOptions::new().write(true).mode(mode).custom_flags(libc::O_TMPFILE).open(folder).ok();
        // An unnamed file is linked through `/proc`.
        let file = if Path::new("/proc/self/fd").exists() { nameless() } else { None };
        if let Some(file) = file {
            return Ok(Temporary { file, name: None, folder: folder.to_owned() });
        }
        let name = Named::new(folder);
        let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&name.path)?;
        Ok(Temporary { file, name: Some(name), folder: folder.to_owned() })
    }

    /// The file, for writing.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Renames the complete file, replacing an existing one.
    pub(super) fn rename(self, path: &Path) -> io::Result<()> {
        let name = match self.name {
            Some(name) => name,
            None => {
                let name = Named::new(&self.folder);
                link(&self.file, &name.path)?;
                name
            }
        };
        std::fs::rename(&name.path, path)
    }
}

/// Links an unnamed file to a path.
fn link(file: &File, path: &Path) -> io::Result<()> {
    let from = c_path(Path::new(&format!("/proc/self/fd/{}", file.as_raw_fd())));
    let to = c_path(path);
    // SAFETY: both are NUL-terminated strings.
    let result =
        unsafe { libc::linkat(libc::AT_FDCWD, from.as_ptr(), libc::AT_FDCWD, to.as_ptr(), libc::AT_SYMLINK_FOLLOW) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A path for a system call. Paths with a NUL byte become empty, which the system rejects too.
fn c_path(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap_or_default()
}

/// The path that the signal handler removes.
static UNFINISHED: AtomicPtr<c_char> = AtomicPtr::new(ptr::null_mut());
/// Held while `UNFINISHED` is in use: there is one named file at a time.
static ONE: Mutex<()> = Mutex::new(());

/// A path that is removed when this value is dropped, or when a signal ends the process.
struct Named {
    path: PathBuf,
    unfinished: *mut c_char,
    _one: MutexGuard<'static, ()>,
}

impl Named {
    fn new(folder: &Path) -> Named {
        let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let path = folder.join(format!(".hammock-{}", std::process::id()));
        let unfinished = c_path(&path).into_raw();
        UNFINISHED.store(unfinished, Ordering::SeqCst);
        Named { path, unfinished, _one: one }
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        // It does not exist any more if it was renamed.
        let _ = std::fs::remove_file(&self.path);
        if !UNFINISHED.swap(ptr::null_mut(), Ordering::SeqCst).is_null() {
            // SAFETY: it came from `into_raw`, and the handler, which has not taken it, cannot see it any more.
            drop(unsafe { CString::from_raw(self.unfinished) });
        }
    }
}

/// Signals that end a process by default.
const ENDING: [c_int; 4] = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM];

/// Installs the handler of signals that removes an unfinished file. Files that exceed the size limit fail to be
/// written.
pub(super) fn handle_signals() {
    static HANDLERS: Once = Once::new();
    HANDLERS.call_once(install);
}

fn install() {
    // SAFETY: the handler only calls async-signal-safe functions; `sigaction` and `signal` get valid pointers.
    unsafe {
        for signal in ENDING {
            let mut known: libc::sigaction = std::mem::zeroed();
            // Signals that the caller has us ignore (`nohup`) or handles itself are left alone.
            if libc::sigaction(signal, ptr::null(), &mut known) == 0 && known.sa_sigaction == libc::SIG_DFL {
                libc::signal(signal, remove_unfinished as *const () as libc::sighandler_t);
            }
        }
        // Exceeding the limit becomes an error of `write` instead of a signal.
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

/// Removes the unfinished file before the process exits.
pub(crate) fn abandon() {
    let path = UNFINISHED.swap(ptr::null_mut(), Ordering::SeqCst);
    if !path.is_null() {
        // SAFETY: whoever takes the path out owns it, so it is alive. `unlink` is async-signal-safe.
        unsafe { libc::unlink(path) };
    }
}

/// Removes the unfinished file, and raises the signal again with its default action.
extern "C" fn remove_unfinished(signal: c_int) {
    abandon();
    // SAFETY: both are async-signal-safe.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, io::Write};

    fn count(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn names_go_with_their_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        drop(Temporary::create(folder.path(), 0o600).unwrap());
        assert_eq!(count(folder.path()), 0);
        // As on a file system without unnamed files.
        let named = || {
            let name = Named::new(folder.path());
            let file = File::create(&name.path).unwrap();
            Temporary { file, name: Some(name), folder: folder.path().to_owned() }
        };
        drop(named());
        assert_eq!(count(folder.path()), 0);
        let temporary = named();
        temporary.file().write_all(b"x").unwrap();
        temporary.rename(&path).unwrap();
        assert_eq!((fs::read(&path).unwrap(), count(folder.path())), (b"x".to_vec(), 1));
        assert!(named().rename(&folder.path().join("no/b")).is_err());
        assert_eq!(count(folder.path()), 1);
    }

    #[test]
    fn a_signal_removes_the_unfinished_file() {
        let folder = tempfile::tempdir().unwrap();
        handle_signals();
        // SAFETY: the child only makes system calls, and ends by the signal.
        unsafe {
            let name = Named::new(folder.path());
            File::create(&name.path).unwrap();
            let child = libc::fork();
            if child == 0 {
                libc::raise(libc::SIGTERM);
                libc::_exit(0);
            }
            let mut status = 0;
            assert_eq!(libc::waitpid(child, &mut status, 0), child);
            assert!(libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGTERM, "{status}");
            assert!(!name.path.exists());
        }
    }
}
