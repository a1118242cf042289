//! Incomplete files. They leave nothing behind if writing fails or the process is interrupted.
//!
//! If the file system supports it, such a file has no name until it is complete (`O_TMPFILE`), and disappears with the
//! process, however it ends. Otherwise, the code that gives up removes the name, and so does a handler of the signals
//! that users and systems send to end a process.

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
    /// An empty file of a mode (less the umask) in a folder.
    pub(super) fn create(folder: &Path, mode: u32) -> io::Result<Temporary> {
        handle_signals();
        let nameless = || OpenOptions::new().write(true).mode(mode).custom_flags(libc::O_TMPFILE).open(folder).ok();
        // The way from a file without a name to one that has one.
        let file = if Path::new("/proc/self/fd").exists() { nameless() } else { None };
        if let Some(file) = file {
            return Ok(Temporary { file, name: None, folder: folder.to_owned() });
        }
        let name = Named::new(folder);
        let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&name.path)?;
        Ok(Temporary { file, name: Some(name), folder: folder.to_owned() })
    }

    /// To write to.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Puts the file in the place of another, or of none.
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

/// Gives a name to a file that has none.
fn link(file: &File, path: &Path) -> io::Result<()> {
    let from = c_path(Path::new(&format!("/proc/self/fd/{}", file.as_raw_fd())));
    let to = c_path(path);
    // SAFETY: both are strings that end with a zero byte.
    let result =
        unsafe { libc::linkat(libc::AT_FDCWD, from.as_ptr(), libc::AT_FDCWD, to.as_ptr(), libc::AT_SYMLINK_FOLLOW) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Paths that the system took or will refuse; one with a zero byte it refuses as it refuses the empty one.
fn c_path(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap_or_default()
}

/// The name that the handler removes.
static UNFINISHED: AtomicPtr<c_char> = AtomicPtr::new(ptr::null_mut());
/// Names are given one at a time.
static ONE: Mutex<()> = Mutex::new(());

/// A name in a folder that is removed when this value goes, or a signal ends the process.
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
        // Gone already, if it was renamed.
        let _ = std::fs::remove_file(&self.path);
        if !UNFINISHED.swap(ptr::null_mut(), Ordering::SeqCst).is_null() {
            // SAFETY: it came from `into_raw`; the handler, which took nothing, does not see it any more.
            drop(unsafe { CString::from_raw(self.unfinished) });
        }
    }
}

/// Signals that end a process unless it handles them.
const ENDING: [c_int; 4] = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM];

/// Has signals leave nothing unfinished behind, and files that grow too large fail.
pub(super) fn handle_signals() {
    static HANDLERS: Once = Once::new();
    HANDLERS.call_once(install);
}

fn install() {
    // SAFETY: the handler calls functions only that may be called in one; `sigaction` and `signal` get valid pointers.
    unsafe {
        for signal in ENDING {
            let mut known: libc::sigaction = std::mem::zeroed();
            // What the caller has us ignore (`nohup`), or handles itself, stays so.
            if libc::sigaction(signal, ptr::null(), &mut known) == 0 && known.sa_sigaction == libc::SIG_DFL {
                libc::signal(signal, remove_unfinished as *const () as libc::sighandler_t);
            }
        }
        // A file beyond the limit is an error of `write` then, not the end.
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

/// Removes the unfinished file of a process that is about to end.
pub(super) fn abandon() {
    let path = UNFINISHED.swap(ptr::null_mut(), Ordering::SeqCst);
    if !path.is_null() {
        // SAFETY: the path lives as long as it is to be found: whoever takes it away owns it. `unlink` may be called in
        // a signal's handler.
        unsafe { libc::unlink(path) };
    }
}

/// Removes the unfinished file, and lets the signal do what it does.
extern "C" fn remove_unfinished(signal: c_int) {
    abandon();
    // SAFETY: both may be called in a signal's handler.
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
        // As on a file system that knows no files without names.
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
        // SAFETY: the child calls functions of the system only, and ends by the signal.
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
