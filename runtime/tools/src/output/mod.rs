//! The output of commands: files, standard output, standard error. All output goes through here.
//!
//! - A file is written atomically: as an unnamed file that replaces the old one when it is complete. It has the mode
//!   and owner of the old file; a new file's mode follows the umask.
//! - Links are followed: the file that a link points to is replaced.
//! - A file that is not regular (`/dev/null`, a FIFO, `/dev/stdout`) is written to directly. `-` is standard output.
//! - Text is escaped for a terminal ([`printable`]).
//! - Failing to write is an error, unless the reader has gone away (`… | head`).

pub(crate) mod temporary;
pub(crate) mod terminal;

use crate::error::InputError;
use hammock_runtime::printable;
use std::{
    fs::{self, File, Metadata, OpenOptions},
    io::{self, BufWriter, Cursor, ErrorKind, IsTerminal, Seek, Write},
    os::{
        fd::{BorrowedFd, RawFd},
        unix::fs::{MetadataExt, PermissionsExt, fchown},
    },
    path::{Path, PathBuf},
};
use temporary::Temporary;

/// Kind of contents, which determines the mode of a new file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Text for people.
    Text,
    /// Bytes.
    Data,
    /// A program or a library, which may be executed.
    Program,
}

impl Content {
    /// The mode of new files, before the umask.
    fn mode(self) -> u32 {
        if self == Content::Program { 0o777 } else { 0o666 }
    }
}

/// Destination of a file's contents.
pub trait Sink: Write + Seek {}
impl<T: Write + Seek> Sink for T {}

/// Writes text to standard output.
///
/// # Errors
/// If it cannot be written.
pub fn print(text: &str) -> Result<(), InputError> {
    print_colored(&printable(text))
}

/// Writes text to standard output; its only control sequences are colors.
///
/// # Errors
/// If it cannot be written.
pub fn print_colored(text: &str) -> Result<(), InputError> {
    put(io::stdout().lock(), text.as_bytes()).map_err(|e| cannot("to standard output", &e))
}

/// Writes text to standard error.
///
/// # Errors
/// If it cannot be written.
pub fn print_stderr(text: &str) -> Result<(), InputError> {
    print_stderr_colored(&printable(text))
}

/// Writes text to standard error; its only control sequences are colors.
///
/// # Errors
/// If it cannot be written.
pub fn print_stderr_colored(text: &str) -> Result<(), InputError> {
    put(io::stderr().lock(), text.as_bytes()).map_err(|e| cannot("to standard error", &e))
}

/// Writes a file, or to the stream at the path: see the [module](self). `fill` writes the contents.
///
/// # Errors
/// If it cannot be written; an existing file is then unchanged.
pub fn write_file(
    path: &Path,
    content: Content,
    fill: impl FnOnce(&mut dyn Sink) -> io::Result<()>,
) -> Result<(), InputError> {
    Destination::of(path)
        .and_then(|destination| destination.write(content, fill))
        .map_err(|e| cannot(&display_name(path), &e))
}

/// Checks that [`write_file`] can write a file, before its contents are computed. It leaves nothing behind.
///
/// # Errors
/// If it cannot.
pub fn check_writable(path: &Path) -> Result<(), InputError> {
    // Opening and closing a pipe would signal its end to the reader.
    if fs::metadata(path).is_ok_and(|known| !known.is_file() && !known.is_dir()) {
        return Ok(());
    }
    let check = |destination| match destination {
        Destination::Regular(path, _) => Temporary::create(folder(&path), Content::Data.mode()).map(drop),
        Destination::Stdout | Destination::Stream(_) => Ok(()),
    };
    Destination::of(path).and_then(check).map_err(|e| cannot(&display_name(path), &e))
}

/// The name of a path in messages.
fn display_name(path: &Path) -> String {
    if path == Path::new("-") { "to standard output".to_owned() } else { path.display().to_string() }
}

/// Destination at a path.
enum Destination {
    /// Standard output.
    Stdout,
    /// A file that is not regular, such as a pipe.
    Stream(File),
    /// A regular file, with the metadata of the existing file.
    Regular(PathBuf, Option<Metadata>),
}

/// Maximum number of links that are followed, as in Linux.
const MAX_LINKS: usize = 40;

impl Destination {
    fn of(path: &Path) -> io::Result<Destination> {
        let path = match follow(path) {
            Ok(path) => path,
            Err(1) => return Ok(Destination::Stdout),
            Err(descriptor) => return duplicate(descriptor).map(Destination::Stream),
        };
        match fs::metadata(&path) {
            Ok(known) if known.is_dir() => Err(ErrorKind::IsADirectory.into()),
            Ok(known) if known.is_file() => {
                may_write(&path)?;
                Ok(Destination::Regular(path, Some(known)))
            }
            Ok(_) => OpenOptions::new().write(true).open(&path).map(Destination::Stream),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Destination::Regular(path, None)),
            Err(error) => Err(error),
        }
    }

    fn write(self, content: Content, fill: impl FnOnce(&mut dyn Sink) -> io::Result<()>) -> io::Result<()> {
        match self {
            Destination::Regular(path, old) => replace(&path, old.as_ref(), content, fill),
            Destination::Stdout => stream(io::stdout().lock(), content, fill),
            Destination::Stream(file) => stream(file, content, fill),
        }
    }
}

/// Resolves symbolic links, also to a file that does not exist yet. The error is the descriptor of this process that
/// the path refers to: 1 for standard output.
pub(crate) fn follow(path: &Path) -> Result<PathBuf, RawFd> {
    if path == Path::new("-") {
        return Err(1);
    }
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        if let Some(descriptor) = descriptor(&path) {
            return Err(descriptor);
        }
        let Ok(target) = fs::read_link(&path) else { break };
        path = folder(&path).join(target);
    }
    Ok(path)
}

pub(crate) fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The descriptor of this process that the path refers to, as `/dev/fd/3` and `/proc/self/fd/3` do.
fn descriptor(path: &Path) -> Option<RawFd> {
    let number = path.file_name()?.to_str()?.parse().ok()?;
    let ours = fs::canonicalize("/proc/self/fd").ok()?;
    (fs::canonicalize(folder(path)).ok()? == ours).then_some(number)
}

fn duplicate(descriptor: RawFd) -> io::Result<File> {
    // SAFETY: it is open, because `/proc/self/fd` lists it. If it is closed in between, duplicating fails.
    let open = unsafe { BorrowedFd::borrow_raw(descriptor) };
    Ok(open.try_clone_to_owned()?.into())
}

/// Checks that an existing file may be replaced, which needs write permission. A running program cannot be written, but
/// replaced.
/// replaced.
fn may_write(path: &Path) -> io::Result<()> {
    match OpenOptions::new().write(true).open(path) {
        Err(error) if error.kind() != ErrorKind::ExecutableFileBusy => Err(error),
        _ => Ok(()),
    }
}

/// Writes to a stream.
fn stream(
    out: impl Write + IsTerminal,
    content: Content,
    fill: impl FnOnce(&mut dyn Sink) -> io::Result<()>,
) -> io::Result<()> {
    if content != Content::Text && out.is_terminal() {
        return Err(io::Error::other("it is binary, and standard output is a terminal: redirect it, or name a file"));
    }
    let mut bytes = Cursor::new(Vec::new());
    fill(&mut bytes)?;
    let bytes = bytes.into_inner();
    match content {
        Content::Text => put(out, printable(&String::from_utf8_lossy(&bytes)).as_bytes()),
        Content::Data | Content::Program => put(out, &bytes),
    }
}

/// Writes all bytes. A closed pipe is not an error.
fn put(mut out: impl Write, bytes: &[u8]) -> io::Result<()> {
    let written = out.write_all(bytes).and_then(|()| out.flush());
    written.or_else(|error| if error.kind() == ErrorKind::BrokenPipe { Ok(()) } else { Err(error) })
}

/// Creates or replaces a regular file.
fn replace(
    path: &Path,
    old: Option<&Metadata>,
    content: Content,
    fill: impl FnOnce(&mut dyn Sink) -> io::Result<()>,
) -> io::Result<()> {
    let temporary = Temporary::create(folder(path), content.mode())?;
    let mut out = BufWriter::new(temporary.file());
    fill(&mut out)?;
    out.flush()?;
    drop(out);
    if let Some(old) = old {
        let new = temporary.file().metadata()?;
        if (old.uid(), old.gid()) != (new.uid(), new.gid()) {
            // Only root can change the owner; otherwise the file belongs to the user.
            let _ = fchown(temporary.file(), Some(old.uid()), Some(old.gid()));
        }
        temporary.file().set_permissions(fs::Permissions::from_mode(old.mode() & 0o777))?;
    }
    temporary.rename(path)
}

fn cannot(what: &str, error: &io::Error) -> InputError {
    let reason = match error.kind() {
        ErrorKind::NotFound => "there is no such folder".to_owned(),
        ErrorKind::NotADirectory => "a part of its path is not a folder".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        ErrorKind::ReadOnlyFilesystem => "its folder is read-only".to_owned(),
        ErrorKind::IsADirectory => "it is a folder".to_owned(),
        ErrorKind::StorageFull => "no space is left".to_owned(),
        ErrorKind::FileTooLarge => "it would exceed the file size limit".to_owned(),
        _ => error.to_string(),
    };
    InputError::new(format!("cannot write {what}: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn write(path: &Path, text: &str) -> Result<(), InputError> {
        write_file(path, Content::Data, |out| out.write_all(text.as_bytes()))
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn files_are_replaced_atomically() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        write(&path, "one").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        write(&path, "two").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o640, "the mode stays");
        let failed = write_file(&path, Content::Data, |out| {
            out.write_all(b"half")?;
            Err(ErrorKind::StorageFull.into())
        });
        assert!(failed.unwrap_err().message.ends_with("no space is left"));
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(names(folder.path()), ["a"]);
    }

    #[test]
    fn links_are_followed() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link, far] = ["file", "link", "far"].map(|name| folder.path().join(name));
        symlink("file", &link).unwrap();
        symlink(&link, &far).unwrap();
        // First through a dangling link.
        for text in ["one", "two"] {
            write(&far, text).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
        }
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink() && fs::symlink_metadata(&far).unwrap().is_symlink());
        symlink("round", folder.path().join("round")).unwrap();
        assert!(write(&folder.path().join("round"), "").is_err());
    }

    #[test]
    fn other_than_regular_files_are_written_in_place() {
        write(Path::new("/dev/null"), "nothing").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        assert!(write(Path::new("/dev/full"), "x").unwrap_err().message.contains("no space is left"));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("open");
        let file = File::create(&path).unwrap();
        let name = format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
        write(Path::new(&name), "one").unwrap();
        write(Path::new(&name), "two").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "onetwo");
    }

    #[test]
    fn unwritable_destinations_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        let message = |path: &Path| {
            let message = write(path, "").unwrap_err().message;
            assert_eq!(check_writable(path).unwrap_err().message, message);
            message
        };
        assert!(message(&folder.path().join("no/file")).ends_with("there is no such folder"));
        assert!(message(folder.path()).ends_with("it is a folder"));
        assert!(message(Path::new("/proc/version/x")).contains("not a folder"));
        check_writable(&folder.path().join("file")).unwrap();
        assert!(names(folder.path()).is_empty());
    }
}
