//! Files as memory: read when they are needed, and held by nobody else.
use memmap2::{Mmap, UncheckedAdvice};
use std::fs::File;
use std::io;
use std::ops::{Deref, Range};

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
