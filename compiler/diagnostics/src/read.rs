//! Creates source files from texts; a text that is too long, or not UTF-8, is an error.

use crate::{
    Diagnostic, SourceFile, codes,
    source::{count_chars, line_starts},
};
use std::sync::Arc;

impl SourceFile {
    /// A file of the given name and text. Fails when the text is longer than [`SourceFile::MAX_LEN`].
    pub fn new(name: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> Result<Self, Diagnostic> {
        let (name, text) = (name.into(), text.into());
        SourceFile::expect_length(&name, text.len() as u64)?;
        Ok(SourceFile::of_text(name, text))
    }

    /// Fails when a text of that many bytes is longer than [`SourceFile::MAX_LEN`].
    pub fn expect_length(name: &str, len: u64) -> Result<(), Diagnostic> {
        if len <= Self::MAX_LEN as u64 {
            return Ok(());
        }
        Err(Diagnostic::error(codes::FILE_TOO_LONG, format!("`{name}` is too long: {len} bytes"))
            .help(format!("the limit is {} bytes; keep weights in a file beside the text", Self::MAX_LEN)))
    }

    /// A file from bytes. Fails if they are not UTF-8, with the location, or too many.
    pub fn from_bytes(name: impl Into<Arc<str>>, bytes: Vec<u8>) -> Result<Self, Diagnostic> {
        let name = name.into();
        match String::from_utf8(bytes) {
            Ok(text) => SourceFile::new(name, text),
            Err(error) => Err(not_utf8(&name, error.as_bytes(), error.utf8_error().valid_up_to())),
        }
    }
}

fn not_utf8(name: &str, bytes: &[u8], at: usize) -> Diagnostic {
    let before = &bytes[..at];
    let starts = line_starts(before);
    let column = count_chars(&before[starts[starts.len() - 1] as usize..]) + 1;
    Diagnostic::error(
        codes::NOT_UTF8,
        format!("`{name}` is not UTF-8: byte 0x{:02X} at {}:{column} (offset {at})", bytes[at], starts.len()),
    )
    .help("a compiled or binary file? text modules are UTF-8; save the file in that encoding")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_beyond_the_limit_are_refused_by_their_length() {
        assert!(SourceFile::expect_length("a.py", SourceFile::MAX_LEN as u64).is_ok());
        let error = SourceFile::expect_length("a.py", SourceFile::MAX_LEN as u64 + 1).unwrap_err();
        assert_eq!((error.code, &*error.message), ("E0402", "`a.py` is too long: 4294967295 bytes"));
    }

    #[test]
    fn bytes_that_are_not_utf8_are_located() {
        let error = SourceFile::from_bytes("a.py", b"x = 1\ny\xC3\xA9\xFF".to_vec()).unwrap_err();
        assert!(error.message.contains("0xFF at 2:3 (offset 9)"), "{}", error.message);
    }
}
