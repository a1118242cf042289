//! Source files: named texts with line offsets.

use std::sync::{Arc, OnceLock};

use crate::Span;

/// One file of source text. Cheap to clone.
#[derive(Clone, Debug)]
pub struct SourceFile {
    name: Arc<str>,
    text: Arc<str>,
    line_starts: Arc<[u32]>,
    /// Number of characters before each block of the text; computed lazily.
    chars: Arc<OnceLock<Vec<u32>>>,
}

/// Equal name and text.
impl PartialEq for SourceFile {
    fn eq(&self, other: &SourceFile) -> bool {
        self.name == other.name && self.text == other.text
    }
}

impl Eq for SourceFile {}

/// Size in bytes of a block for counting characters.
const BLOCK: usize = 1024;

/// A position in a file: line and column in characters, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line, counted from 1.
    pub line: u32,
    /// Column in characters, counted from 1.
    pub column: u32,
}

impl SourceFile {
    /// Maximum length of a text in bytes: offsets are 32 bits wide.
    pub const MAX_LEN: usize = u32::MAX as usize - 1;

    /// A file whose text is not too long.
    pub(crate) fn of_text(name: Arc<str>, text: Arc<str>) -> Self {
        let line_starts = line_starts(text.as_bytes());
        SourceFile { name, text, line_starts, chars: Arc::default() }
    }

    /// The same text under another name.
    pub fn renamed(&self, name: impl Into<Arc<str>>) -> Self {
        SourceFile { name: name.into(), ..self.clone() }
    }

    /// The name that diagnostics print, usually a path.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text of a span; empty if it is outside the file.
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.range()).unwrap_or("")
    }

    /// Index, from 0, of the line that contains a byte offset.
    pub fn line_index(&self, offset: u32) -> usize {
        self.line_starts.partition_point(|&start| start <= offset).saturating_sub(1)
    }

    /// The span of a line, counted from 0, without its line break.
    pub fn line_span(&self, index: usize) -> Span {
        let len = self.text.len() as u32;
        let Some(&start) = self.line_starts.get(index) else { return Span::new(len, len) };
        let end = self.line_starts.get(index + 1).copied().unwrap_or(len);
        let line = &self.text.as_bytes()[start as usize..end as usize];
        let line_break = line.iter().rev().take_while(|&&byte| byte == b'\n' || byte == b'\r').count();
        Span::new(start, end - line_break.min(2) as u32)
    }

    /// Line and column of a byte offset.
    pub fn position(&self, offset: u32) -> Position {
        let offset = offset.min(self.text.len() as u32);
        let index = self.line_index(offset);
        let offset = self.text.floor_char_boundary(offset as usize);
        Position { line: index as u32 + 1, column: self.count_chars(self.line_starts[index] as usize, offset) + 1 }
    }

    /// Number of characters that begin between two offsets; uses the block table for long lines.
    fn count_chars(&self, start: usize, end: usize) -> u32 {
        let bytes = self.text.as_bytes();
        if end - start < BLOCK {
            return count_chars(&bytes[start..end]);
        }
        let chars = self.chars.get_or_init(|| {
            let sum = |before: &mut u32, block: &[u8]| Some(std::mem::replace(before, *before + count_chars(block)));
            bytes.chunks(BLOCK).scan(0, sum).collect()
        });
        let before = |offset: usize| {
            let block = offset / BLOCK;
            chars.get(block).map_or(0, |chars| chars + count_chars(&bytes[block * BLOCK..offset]))
        };
        before(end) - before(start)
    }
}

/// Number of characters that begin in these bytes of UTF-8 text.
pub(crate) fn count_chars(bytes: &[u8]) -> u32 {
    bytes.iter().filter(|&&byte| byte & 0xC0 != 0x80).count() as u32
}

/// Lines end at `\n`, `\r\n` or a lone `\r`, as the lexer sees them.
pub(crate) fn line_starts(text: &[u8]) -> Arc<[u32]> {
    let ends = text.iter().enumerate().filter(|&(at, &byte)| match byte {
        b'\n' => true,
        b'\r' => text.get(at + 1) != Some(&b'\n'),
        _ => false,
    });
    std::iter::once(0).chain(ends.map(|(at, _)| at as u32 + 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: u32, column: u32) -> Position {
        Position { line, column }
    }

    #[test]
    fn positions_count_characters() {
        let file = SourceFile::new("a.py", "é = 1\r\nb\rc\n").unwrap();
        assert_eq!(file.position(0), at(1, 1));
        assert_eq!(file.position(2), at(1, 2));
        assert_eq!(file.position(8), at(2, 1));
        assert_eq!(file.position(10), at(3, 1));
        assert_eq!(file.position(12), at(4, 1));
        assert_eq!(file.slice(file.line_span(0)), "é = 1");
        assert_eq!(file.slice(file.line_span(1)), "b");
        assert_eq!(file.slice(file.line_span(9)), "");
    }

    #[test]
    fn positions_in_long_lines() {
        let text = format!("x\n{}\ny", "é.".repeat(3 * BLOCK));
        let file = SourceFile::new("a.py", text.as_str()).unwrap();
        for (offset, _) in text.char_indices().filter(|(at, _)| at % 7 == 0 && (2..text.len() - 2).contains(at)) {
            let column = text[2..offset].chars().count() as u32 + 1;
            assert_eq!(file.position(offset as u32), at(2, column));
        }
        assert_eq!(file.position(text.len() as u32), at(3, 2));
    }
}
