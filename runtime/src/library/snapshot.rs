//! A snapshot of a file at the time it was opened: the verified bytes are the ones that run, even if the file changes
//! later.
//!
//! Small files are read into memory. In a large file, the constants stay in the system's page cache, through a private
//! mapping of the file, and everything else is copied. Replacing the file, as `rename` does, does not affect processes
//! that have it open. Writing into it changes constants that were not copied, and truncating it removes them, which
//! stops the process with SIGBUS at the next read. So replace a model in use, do not overwrite it. A file that changed
//! before the first use of its kernels is rejected ([`Snapshot::is_current`]).
use super::{LibraryError, constants_of};
use crate::regular_file::open_regular;
use memmap2::{Mmap, MmapMut, MmapOptions};
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Maximum size of a file that is read as a whole.
const MAX_READ: u64 = 64 << 20;
const PAGE: usize = 4096;

/// The bytes of a file.
pub(super) struct Snapshot {
    bytes: Mmap,
    /// Range of the bytes that are not copied, and their file.
    in_place: Option<(Range<usize>, File, Stamp)>,
}

/// File metadata that changes when a file is written to.
#[derive(PartialEq, Eq)]
struct Stamp {
    len: u64,
    modified: (i64, i64),
}

impl Stamp {
    fn of(metadata: &Metadata) -> Stamp {
        Stamp { len: metadata.len(), modified: (metadata.mtime(), metadata.mtime_nsec()) }
    }
}

impl AsRef<[u8]> for Snapshot {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Snapshot {
    /// Opens a regular file.
    pub(super) fn open(path: &Path) -> Result<Snapshot, LibraryError> {
        Snapshot::open_with(path, MAX_READ)
    }

    /// Like [`open`](Snapshot::open), with another maximum size of files that are read.
    pub(super) fn open_with(path: &Path, max_read: u64) -> Result<Snapshot, LibraryError> {
        let take = || {
            let file = open_regular(path)?;
            let metadata = file.metadata()?;
            if metadata.len() <= max_read { read(file, metadata.len()) } else { map(file, &metadata) }
        };
        take().map_err(|cause| LibraryError::Read { path: path.to_owned(), cause })
    }

    /// Returns true if everything but the constants is a copy, and the file has not been written to.
    pub(super) fn is_current(&self, constants: &Range<usize>) -> bool {
        let Some((in_place, file, stamp)) = &self.in_place else { return true };
        let unwritten = file.metadata().is_ok_and(|now| Stamp::of(&now) == *stamp);
        unwritten && (in_place.is_empty() || (constants.start <= in_place.start && in_place.end <= constants.end))
    }
}

/// Reads a file into memory.
fn read(mut file: File, len: u64) -> io::Result<Snapshot> {
    let len = usize::try_from(len).map_err(io::Error::other)?;
    if len == 0 {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file is empty"));
    }
    let mut bytes = MmapMut::map_anon(len)?;
    file.read_exact(&mut bytes)?;
    Ok(Snapshot { bytes: bytes.make_read_only()?, in_place: None })
}

/// Maps a file and copies all of it except the pages that only contain constants.
fn map(file: File, metadata: &Metadata) -> io::Result<Snapshot> {
    // SAFETY: the mapping is private. Another process that truncates the file while it is mapped can stop this one, as
    // the module's documentation says.
    let mut bytes = unsafe { MmapOptions::new().map_copy(&file) }?;
    let constants = constants_of(&bytes).unwrap_or(0..0);
    let in_place = constants.start.next_multiple_of(PAGE)..constants.end / PAGE * PAGE;
    let in_place = if in_place.is_empty() { 0..0 } else { in_place };
    let (before, after) = (0..in_place.start, in_place.end..bytes.len());
    for position in before.step_by(PAGE).chain(after.step_by(PAGE)) {
        let byte = &raw mut bytes[position];
        // SAFETY: the byte is in our mapping. Writing to a page of a private mapping copies it; the write must not be
        // optimized away although it changes nothing.
        unsafe { byte.write_volatile(byte.read_volatile()) };
    }
    Ok(Snapshot { bytes: bytes.make_read_only()?, in_place: Some((in_place, file, Stamp::of(metadata))) })
}
