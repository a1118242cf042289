//! Positions of the protocol: a line, and a column in code units of UTF-16 or UTF-8.

use hammock_diagnostics::Span;
use lsp_types::{Position, PositionEncodingKind, Range};

/// Unit of columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// Bytes.
    Utf8,
    /// 16-bit code units, the protocol's default: characters outside the basic multilingual plane are two.
    #[default]
    Utf16,
}

impl Encoding {
    /// The encoding for a client that offers these: bytes if it can.
    pub fn choose(offered: Option<&[PositionEncodingKind]>) -> Self {
        match offered.is_some_and(|offered| offered.contains(&PositionEncodingKind::UTF8)) {
            true => Encoding::Utf8,
            false => Encoding::Utf16,
        }
    }

    /// Its name in the protocol.
    pub fn kind(self) -> PositionEncodingKind {
        match self {
            Encoding::Utf8 => PositionEncodingKind::UTF8,
            Encoding::Utf16 => PositionEncodingKind::UTF16,
        }
    }

    /// Number of units of a text.
    pub fn count(self, text: &str) -> u32 {
        match self {
            Encoding::Utf8 => text.len() as u32,
            Encoding::Utf16 if text.is_ascii() => text.len() as u32,
            Encoding::Utf16 => text.chars().map(|c| c.len_utf16() as u32).sum(),
        }
    }

    /// Offset in bytes of a column: the start of the character that has it, or the end of the line.
    fn offset(self, line: &str, column: u32) -> usize {
        let column = column as usize;
        match self {
            Encoding::Utf8 => line.floor_char_boundary(column),
            Encoding::Utf16 if line.is_ascii() => column.min(line.len()),
            Encoding::Utf16 => {
                let mut units = 0;
                let after = line.char_indices().find(|(_, c)| {
                    units += c.len_utf16();
                    units > column
                });
                after.map_or(line.len(), |(at, _)| at)
            }
        }
    }
}

/// Start of each line of a text. Lines end at `\n`, `\r\n` or a lone `\r`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineIndex {
    starts: Vec<u32>,
}

impl LineIndex {
    /// The lines of a text.
    pub fn new(text: &str) -> Self {
        LineIndex { starts: std::iter::once(0).chain(starts(text, 0)).collect() }
    }

    /// Number of lines; at least one.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Index of the line of an offset.
    pub fn line(&self, offset: usize) -> usize {
        self.starts.partition_point(|&start| start as usize <= offset) - 1
    }

    /// The text of a line without its line break, with its start.
    fn line_text<'t>(&self, text: &'t str, line: usize) -> Option<(usize, &'t str)> {
        let start = *self.starts.get(line)? as usize;
        let end = self.starts.get(line + 1).map_or(text.len(), |end| *end as usize);
        Some((start, text[start..end].trim_end_matches(['\r', '\n'])))
    }

    /// Offset of a position. A column after the end of its line is that end; `None` if there is no such line. The line
    /// after the last one is the end of the text.
    pub fn offset(&self, text: &str, position: Position, encoding: Encoding) -> Option<usize> {
        match self.line_text(text, position.line as usize) {
            Some((start, line)) => Some(start + encoding.offset(line, position.character)),
            None => (position.line as usize == self.len()).then_some(text.len()),
        }
    }

    /// Position of an offset.
    pub fn position(&self, text: &str, offset: usize, encoding: Encoding) -> Position {
        let offset = text.floor_char_boundary(offset);
        let line = self.line(offset);
        let start = self.starts[line] as usize;
        Position::new(line as u32, encoding.count(&text[start..offset]))
    }

    /// Range of a span; the start of the text for [`Span::NONE`].
    pub fn range(&self, text: &str, span: Span, encoding: Encoding) -> Range {
        if span.is_none() {
            return Range::default();
        }
        let end = span.end.max(span.start);
        let [start, end] = [span.start, end].map(|offset| self.position(text, offset as usize, encoding));
        Range::new(start, end)
    }

    /// Updates the index after the bytes from `start` to `end` were replaced by `length` others; `text` is the text
    /// after it.
    pub fn replace(&mut self, text: &str, start: usize, end: usize, length: usize) {
        // A line break may join with a part of one before or after the change.
        let first = self.line(start.saturating_sub(1));
        let last = self.starts.partition_point(|&line| line as usize <= end);
        let delta = length as i64 - (end - start) as i64;
        let moved = |line: u32| (i64::from(line) + delta) as u32;
        self.starts[last..].iter_mut().for_each(|line| *line = moved(*line));
        let from = self.starts[first] as usize;
        let to = self.starts.get(last).map_or(text.len(), |line| *line as usize);
        // The start of the line at `to` stays; it is found again.
        let stays = usize::from(last < self.starts.len());
        let found: Vec<u32> = starts(&text[from..to], from as u32).collect();
        self.starts.splice(first + 1..last + stays, found);
    }
}

/// Starts of the lines after the first in a part of a text at offset `base`.
fn starts(text: &str, base: u32) -> impl Iterator<Item = u32> {
    let bytes = text.as_bytes();
    let ends = bytes.iter().enumerate().filter(|&(at, &byte)| match byte {
        b'\n' => true,
        b'\r' => bytes.get(at + 1) != Some(&b'\n'),
        _ => false,
    });
    ends.map(move |(at, _)| base + at as u32 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Line and column of an offset, counted character by character.
    fn reference(text: &str, offset: usize, encoding: Encoding) -> (u32, u32) {
        let (mut line, mut column) = (0, 0);
        for (at, c) in text.char_indices().take_while(|(at, _)| *at < offset) {
            let ends = match c {
                '\n' => true,
                '\r' => !text[at + 1..].starts_with('\n'),
                _ => false,
            };
            column += match encoding {
                Encoding::Utf8 => c.len_utf8(),
                Encoding::Utf16 => c.len_utf16(),
            } as u32;
            if ends {
                (line, column) = (line + 1, 0);
            }
        }
        (line, column)
    }

    fn texts() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just("\n".to_owned()),
            Just("\r".to_owned()),
            Just("\r\n".to_owned()),
            Just("\t".to_owned()),
            "[a-c]{1,3}",
            "[é𝛼中]{1,2}"
        ];
        prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn positions_are_those_counted(text in texts()) {
            let index = LineIndex::new(&text);
            for encoding in [Encoding::Utf8, Encoding::Utf16] {
                for offset in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
                    let position = index.position(&text, offset, encoding);
                    prop_assert_eq!((position.line, position.character), reference(&text, offset, encoding));
                    // A position inside a line break is that before it.
                    let in_line_break = offset > 0 && text[..offset].ends_with('\r') && text[offset..].starts_with('\n');
                    let expected = if in_line_break { offset - 1 } else { offset };
                    prop_assert_eq!(index.offset(&text, position, encoding), Some(expected));
                }
            }
        }

        #[test]
        fn edits_keep_the_index(mut text in texts(), inserted in texts(), a in 0usize..40, b in 0usize..40) {
            let at = |n: usize| text.floor_char_boundary(n.min(text.len()));
            let (start, end) = (at(a.min(b)), at(a.max(b)));
            let mut index = LineIndex::new(&text);
            text.replace_range(start..end, &inserted);
            index.replace(&text, start, end, inserted.len());
            prop_assert_eq!(index, LineIndex::new(&text));
        }
    }

    #[test]
    fn positions_outside_are_clamped_or_refused() {
        let text = "a𝛼b\r\ncd";
        let index = LineIndex::new(text);
        let offset = |line, column| index.offset(text, Position::new(line, column), Encoding::Utf16);
        assert_eq!(offset(0, 2), Some(1), "inside a surrogate pair");
        assert_eq!(offset(0, 3), Some(5));
        assert_eq!(offset(0, 99), Some(6), "after the end of a line");
        assert_eq!(offset(1, u32::MAX), Some(10));
        assert_eq!(offset(2, 0), Some(10), "the line after the last");
        assert_eq!(offset(3, 0), None);
        assert_eq!(index.offset(text, Position::new(0, 3), Encoding::Utf8), Some(1), "inside a character");
    }
}
