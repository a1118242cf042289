//! Source locations of instructions: file, line, column, and the text of the lines that messages may quote.
use crate::bytes::{Put, Reader, Truncated};
use crate::ffi::Location;

/// A location in one of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// Index of the file.
    pub file: u32,
    /// Line, from 1; 0 if the instruction has no source.
    pub line: u32,
    /// Column, from 1; 0 if unknown.
    pub column: u32,
}

/// A source file, reduced to the lines that instructions come from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceFile {
    /// Its name, as the user gave it.
    pub name: String,
    /// Line numbers and texts, sorted by number.
    lines: Vec<(u32, String)>,
}

/// Source locations of instructions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceMap {
    files: Vec<SourceFile>,
    spans: Vec<Span>,
}

impl SourceMap {
    /// Index of the file `name`, which is added if it is new.
    pub fn file(&mut self, name: &str) -> u32 {
        let known = self.files.iter().position(|file| file.name == name);
        known.unwrap_or_else(|| {
            self.files.push(SourceFile { name: name.to_owned(), lines: Vec::new() });
            self.files.len() - 1
        }) as u32
    }

    /// Adds the text of a line, which messages can quote.
    pub fn add_line(&mut self, file: u32, line: u32, text: &str) {
        let Some(file) = self.files.get_mut(file as usize) else { return };
        if let Err(position) = file.lines.binary_search_by_key(&line, |(number, _)| *number) {
            file.lines.insert(position, (line, text.to_owned()));
        }
    }

    /// Sets the location of an instruction.
    pub fn set(&mut self, instruction: usize, span: Span) {
        if self.spans.len() <= instruction {
            self.spans.resize(instruction + 1, Span::default());
        }
        self.spans[instruction] = span;
    }

    /// Returns the location of an instruction.
    pub fn span(&self, instruction: usize) -> Option<Span> {
        self.spans.get(instruction).copied().filter(|span| span.line > 0)
    }

    /// Like [`span`](SourceMap::span), with names and text instead of indices.
    pub fn locate(&self, instruction: usize) -> Option<Location> {
        let Span { file, line, column } = self.span(instruction)?;
        let SourceFile { name, lines } = self.files.get(file as usize)?;
        let kept = lines.binary_search_by_key(&line, |(number, _)| *number);
        let text = kept.map(|position| lines[position].1.clone()).unwrap_or_default();
        Some(Location { file: name.clone(), line, column, text })
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.put_u64(self.files.len() as u64);
        for SourceFile { name, lines } in &self.files {
            out.put_blob(name.as_bytes());
            out.put_u64(lines.len() as u64);
            for (number, text) in lines {
                out.put_u32(*number);
                out.put_blob(text.as_bytes());
            }
        }
        out.put_u64(self.spans.len() as u64);
        for Span { file, line, column } in &self.spans {
            [file, line, column].iter().for_each(|value| out.put_u32(**value));
        }
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<SourceMap, Truncated> {
        let mut reader = Reader::new(bytes);
        let files = reader.list(16, |reader| {
            let name = text(reader)?;
            let lines = reader.list(12, |reader| Ok::<_, Truncated>((reader.u32()?, text(reader)?)))?;
            Ok::<_, Truncated>(SourceFile { name, lines })
        })?;
        let spans = reader.list(12, |reader| {
            Ok::<_, Truncated>(Span { file: reader.u32()?, line: reader.u32()?, column: reader.u32()? })
        })?;
        if reader.remaining() == 0 { Ok(SourceMap { files, spans }) } else { Err(Truncated) }
    }
}

/// Source text is only shown to people, so invalid UTF-8 is replaced.
fn text(reader: &mut Reader<'_>) -> Result<String, Truncated> {
    Ok(String::from_utf8_lossy(reader.blob()?).into_owned())
}
