//! Constants in a separate file next to the executable, which is mapped and used in place.
use super::ImageError;
use crate::bytes::{Put, Reader, Truncated};
use crate::companion::find_companion;
use crate::memory::MappedFile;
use crate::regular_file::open_regular;
use crate::value::SharedBytes;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Location of the constants' data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct External {
    /// The file's name, in the executable's folder.
    pub file: String,
    /// Offset of the data in the file: a multiple of 64.
    pub start: usize,
    /// Number of bytes, up to the end of the file.
    pub len: usize,
    /// Their CRC-32.
    pub checksum: u32,
}

impl External {
    fn refused(&self, why: &dyn std::fmt::Display) -> ImageError {
        ImageError::External(self.file.clone(), why.to_string())
    }

    /// The path of the file, next to the executable: see [`find_companion`].
    pub(super) fn find(&self, executable: &Path) -> Result<PathBuf, ImageError> {
        if Path::new(&self.file).file_name().is_none_or(|name| name != self.file.as_str()) {
            return Err(self.refused(&"it is not in the executable's folder"));
        }
        find_companion(executable, &self.file).map_err(|error| self.refused(&error))
    }

    /// Maps the file, and verifies that it was written with the executable.
    pub(super) fn open(&self, executable: Option<&Path>) -> Result<(SharedBytes, Range<usize>), ImageError> {
        let refused = |why: &dyn std::fmt::Display| self.refused(why);
        let executable = executable.ok_or_else(|| refused(&"a model in memory has no folder to look for it"))?;
        let map = open_regular(&self.find(executable)?).and_then(|file| MappedFile::new(&file));
        let map = map.map_err(|error| refused(&error))?;
        let other = "it is not the file that was compiled with the executable, or damaged";
        let range = self.start..self.start.saturating_add(self.len);
        let data = map.get(range.clone()).filter(|_| range.end == map.len()).ok_or_else(|| refused(&other))?;
        if crc32fast::hash(data) != self.checksum {
            return Err(refused(&other));
        }
        Ok((Arc::new(map), range))
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.put_blob(self.file.as_bytes());
        out.put_u64(self.start as u64);
        out.put_u64(self.len as u64);
        out.put_u32(self.checksum);
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<External, Truncated> {
        let mut reader = Reader::new(bytes);
        let file = reader.text()?;
        let mut size = || usize::try_from(reader.u64()?).map_err(|_| Truncated);
        let (start, len) = (size()?, size()?);
        let external = External { file, start, len, checksum: reader.u32()? };
        if reader.remaining() == 0 { Ok(external) } else { Err(Truncated) }
    }
}
