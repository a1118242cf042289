//! Opening regular files only.

use std::{
    fs::{File, OpenOptions, metadata},
    io::{self, ErrorKind},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

/// Opens a regular file for reading. A FIFO, a device or a folder is rejected before it is opened: opening a FIFO waits
/// for a writer, and a device may have no end.
///
/// # Errors
/// If it is not a regular file, or cannot be opened.
pub fn open_regular(path: &Path) -> io::Result<File> {
    expect_regular(&metadata(path)?)?;
    // It may have been replaced in between.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    expect_regular(&file.metadata()?)?;
    Ok(file)
}

fn expect_regular(known: &std::fs::Metadata) -> io::Result<()> {
    match known {
        _ if known.is_file() => Ok(()),
        _ if known.is_dir() => Err(ErrorKind::IsADirectory.into()),
        _ => Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file")),
    }
}
