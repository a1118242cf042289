//! Detects the kind of a file by its first bytes.

use hammock_runtime::{executable::is_executable, open_regular};
use std::{io::Read, path::Path};

/// A kind of binary file that users have around models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A shared library or program: compiled by Hammock or TVM, or something else.
    Elf,
    /// The section of an executable in TVM's format, without kernels.
    Bytecode,
    /// Arrays: `.npy`, `.npz`, `.safetensors`.
    Tensors,
}

/// Number of bytes that are read.
const HEAD: u64 = 64;

impl FileKind {
    /// The kind of a file with these first bytes; `None` for text and unknown formats.
    pub fn of(head: &[u8]) -> Option<FileKind> {
        match head {
            _ if head.starts_with(b"\x7fELF") => Some(FileKind::Elf),
            _ if is_executable(head) => Some(FileKind::Bytecode),
            _ if head.starts_with(b"\x93NUMPY") || head.starts_with(b"PK\x03\x04") => Some(FileKind::Tensors),
            // The length of the header, and the header: a JSON object (safetensors).
            [_, _, _, _, 0, 0, 0, 0, b'{', ..] => Some(FileKind::Tensors),
            _ => None,
        }
    }

    /// The kind of a file; `None` if it cannot be read, or only once.
    pub fn of_file(path: &Path) -> Option<FileKind> {
        let mut head = Vec::new();
        open_regular(path).ok()?.take(HEAD).read_to_end(&mut head).ok()?;
        FileKind::of(&head)
    }

    /// A description of the file and advice, for a command that expects a model; `None` if it may be a model.
    pub fn mistaken(self, file: &str) -> Option<(String, &'static str)> {
        match self {
            FileKind::Elf => None,
            FileKind::Bytecode => Some((
                format!("{file} is bytecode without kernels, which cannot run by itself"),
                "`hammock run MODULE.py --bytecode FILE` takes the kernels from a text module, `hammock inspect` shows it",
            )),
            FileKind::Tensors => Some((
                format!("{file} holds tensors, not a model"),
                "give weights with `--params FILE`, arguments with `--arg @FILE`",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_their_beginnings() {
        let bytecode = hammock_runtime::Executable::default().save();
        assert_eq!(FileKind::of(&bytecode), Some(FileKind::Bytecode));
        for tensors in [&b"\x93NUMPY\x01\x00"[..], b"PK\x03\x04", b"\x58\x01\0\0\0\0\0\0{\"w\""] {
            assert_eq!(FileKind::of(tensors), Some(FileKind::Tensors));
        }
        assert_eq!((FileKind::of(b"# from tvm"), FileKind::of(b"")), (None, None));
    }
}
