//! Files as memory: read when they are needed, and held by nobody else.
use memmap2::{Mmap, MmapMut, UncheckedAdvice};
use std::fs::File;
use std::io;
use std::ops::{Deref, Range};
use std::os::fd::AsRawFd;

/// A mapped file, as bytes to read.
pub struct MappedFile(Mmap);

impl MappedFile {
    /// Maps a file, which nobody may change while it is used.
    ///
    /// # Errors
    /// Those of the system.
    pub fn new(file: &File) -> io::Result<MappedFile> {
        // SAFETY: the mapping is read only; as with every mapped file, nobody may change it while it is used.
        unsafe { Mmap::map(file) }.map(MappedFile)
    }

    /// Takes a part of the file out of the process's memory. Whoever reads it later finds it as before.
    pub fn set_aside(&self, part: Range<usize>) {
        let len = self.0[part.clone()].len();
        // SAFETY: the mapping is a file's and nobody writes to it, so what is dropped is read from the file again. A
        // failure changes nothing.
        let _ = unsafe { self.0.unchecked_advise_range(UncheckedAdvice::DontNeed, part.start, len) };
    }
}

/// Memory for data that are written once and read later: a file that has no other use, mapped. The system writes what is
/// [set aside](ScratchFile::set_aside) to the file.
pub struct ScratchFile(MmapMut);

impl ScratchFile {
    /// Zeroes in a file that is empty, and that nobody else uses.
    ///
    /// # Errors
    /// Those of the system, also where there is no room for all of the file.
    pub fn new(file: &File, bytes: usize) -> io::Result<ScratchFile> {
        let len = libc::off_t::try_from(bytes).map_err(|_| io::ErrorKind::FileTooLarge)?;
        // Without room for it, a page could not be written, which would end the process.
        // SAFETY: the descriptor is open as long as the file is borrowed.
        match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, len) } {
            // SAFETY: nobody else changes the file while it is mapped.
            0 => unsafe { MmapMut::map_mut(file) }.map(ScratchFile),
            code => Err(io::Error::from_raw_os_error(code)),
        }
    }

    /// Where the bytes begin.
    pub(crate) fn as_ptr(&self) -> *mut u8 {
        self.0.as_ptr().cast_mut()
    }

    /// Takes all of it out of the process's memory; whoever reads or writes it later finds it as it was.
    pub fn set_aside(&self) {
        // SAFETY: the mapping is shared, so what was written stays the file's. A failure changes nothing.
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
