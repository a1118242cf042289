//! Memory-mapped files: loaded on demand, and evictable.
use memmap2::{Mmap, MmapMut, UncheckedAdvice};
use std::fs::File;
use std::io;
use std::ops::{Deref, Range};
use std::os::fd::AsRawFd;

/// A file mapped for reading.
pub struct MappedFile(Mmap);

impl MappedFile {
    /// Maps a file, which nobody may modify while it is mapped.
    ///
    /// # Errors
    /// If the system cannot map the file.
    pub fn new(file: &File) -> io::Result<MappedFile> {
        // SAFETY: the mapping is read only; as with every mapped file, nobody may modify it while it is mapped.
        unsafe { Mmap::map(file) }.map(MappedFile)
    }

    /// Evicts a range of the file from the process's memory. The next read loads it again.
    pub fn evict(&self, part: Range<usize>) {
        let len = self.0[part.clone()].len();
        // SAFETY: the mapping is a file's and nobody writes to it, so evicted pages are read from the file again. A
        // failure changes nothing.
        let _ = unsafe { self.0.unchecked_advise_range(UncheckedAdvice::DontNeed, part.start, len) };
    }
}

/// A mapped scratch file, for data that are written once and read later. The system writes
/// [evicted](ScratchFile::evict) pages to the file.
pub struct ScratchFile(MmapMut);

impl ScratchFile {
    /// Maps zeroes in an empty file that nobody else uses.
    ///
    /// # Errors
    /// If the system cannot map the file or has no space for all of it.
    pub fn new(file: &File, bytes: usize) -> io::Result<ScratchFile> {
        let len = libc::off_t::try_from(bytes).map_err(|_| io::ErrorKind::FileTooLarge)?;
        // Without space on the disk, writing a page would end the process.
        // SAFETY: the descriptor is open as long as the file is borrowed.
        match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, len) } {
            // SAFETY: nobody else changes the file while it is mapped.
            0 => unsafe { MmapMut::map_mut(file) }.map(ScratchFile),
            code => Err(io::Error::from_raw_os_error(code)),
        }
    }

    /// Address of the first byte.
    pub(crate) fn as_ptr(&self) -> *mut u8 {
        self.0.as_ptr().cast_mut()
    }

    /// Evicts all of it from the process's memory; the next access loads it again.
    pub fn evict(&self) {
        // SAFETY: the mapping is shared, so written pages are stored in the file. A failure changes nothing.
        let _ = unsafe { self.0.unchecked_advise(UncheckedAdvice::DontNeed) };
    }
}

impl Deref for MappedFile {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<[u8]> for MappedFile {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}
