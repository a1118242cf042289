//! The lines of a file that a diagnostic shows, cut to a readable width.
//!
//! Long lines (weights as text, lists of a million numbers) are shown as a window around the first label. A label
//! that covers several lines is shown on its first.

use std::ops::Range;

use codespan_reporting::files::{Error, Files};

use crate::{Label, SourceFile, Span};

/// Lines longer than this, in bytes, are cut.
const MAX_LINE_WIDTH: u32 = 200;
/// Bytes shown before a label in a cut line.
const CONTEXT_BEFORE: u32 = 60;
const ELLIPSIS: &str = "…";

pub(super) struct Excerpt<'a> {
    file: Option<&'a SourceFile>,
    text: String,
    lines: Vec<Line>,
}

/// A line of the excerpt: the part `shown` of the file is at `range` of the text, after an ellipsis if cut.
struct Line {
    index: usize,
    shown: Span,
    range: Range<usize>,
    lead: usize,
}

impl<'a> Excerpt<'a> {
    pub(super) fn new(file: Option<&'a SourceFile>, labels: &[Label]) -> Self {
        let mut excerpt = Excerpt { file, text: String::new(), lines: Vec::new() };
        let Some(file) = file else { return excerpt };
        let mut places: Vec<(usize, u32)> =
            labels.iter().map(|label| (file.line_index(label.span.start), label.span.start)).collect();
        let touched: Vec<usize> = places.iter().map(|place| place.0).collect();
        // The renderer prints a single line between two labelled ones.
        let between = touched.iter().map(|line| line + 1).filter(|line| touched.contains(&(line + 1)));
        places.extend(between.map(|line| (line, 0)));
        places.sort_by_key(|place| place.0);
        places.dedup_by_key(|place| place.0);
        for (index, start) in places {
            excerpt.push(file, index, start);
        }
        excerpt
    }

    /// Maps a span of the file to the excerpt, clamped to its edges.
    pub(super) fn locate(&self, span: Span) -> Range<usize> {
        let Some(line) = self.file.and_then(|file| self.line(file.line_index(span.start))) else { return 0..0 };
        let place = |offset: u32| {
            let inside = offset.clamp(line.shown.start, line.shown.end) - line.shown.start;
            line.range.start + line.lead + inside as usize
        };
        let start = place(span.start);
        start..place(span.end).max(start)
    }

    fn line(&self, index: usize) -> Option<&Line> {
        self.lines.iter().find(|line| line.index == index)
    }

    fn push(&mut self, file: &SourceFile, index: usize, label_start: u32) {
        let whole = file.line_span(index);
        let shown = window(file.text(), whole, label_start);
        let lead = if shown.start > whole.start { ELLIPSIS } else { "" };
        let start = self.text.len();
        self.text.push_str(lead);
        self.text.extend(file.slice(shown).chars().map(escape_control));
        if shown.end < whole.end {
            self.text.push_str(ELLIPSIS);
        }
        self.lines.push(Line { index, shown, range: start..self.text.len(), lead: lead.len() });
        self.text.push('\n');
    }
}

/// The character, with control characters replaced by ones of the same length.
fn escape_control(c: char) -> char {
    match c {
        '\t' => c,
        '\0'..'\u{20}' | '\u{7f}' => '?',
        '\u{80}'..'\u{a0}' => '¿',
        '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        c => c,
    }
}

/// The part of a line to show: all of it, or [`MAX_LINE_WIDTH`] bytes around the start of a label.
fn window(text: &str, line: Span, label_start: u32) -> Span {
    if line.len() <= MAX_LINE_WIDTH {
        return line;
    }
    let last = line.end - MAX_LINE_WIDTH;
    let start = label_start.saturating_sub(CONTEXT_BEFORE).clamp(line.start, last) as usize;
    let start = text.floor_char_boundary(start);
    Span::new(start as u32, text.ceil_char_boundary(start + MAX_LINE_WIDTH as usize) as u32)
}

impl<'files> Files<'files> for Excerpt<'_> {
    type FileId = ();
    type Name = &'files str;
    type Source = &'files str;

    fn name(&'files self, _: ()) -> Result<&'files str, Error> {
        self.file.map(SourceFile::name).ok_or(Error::FileMissing)
    }

    fn source(&'files self, _: ()) -> Result<&'files str, Error> {
        Ok(&self.text)
    }

    fn line_index(&'files self, _: (), byte: usize) -> Result<usize, Error> {
        let line = self.lines.iter().rfind(|line| line.range.start <= byte);
        line.map(|line| line.index).ok_or(Error::FileMissing)
    }

    fn column_number(&'files self, _: (), index: usize, byte: usize) -> Result<usize, Error> {
        let (Some(file), Some(line)) = (self.file, self.line(index)) else { return Err(Error::FileMissing) };
        let inside = byte.saturating_sub(line.range.start + line.lead) as u32;
        Ok(file.position(line.shown.start + inside).column as usize)
    }

    fn line_range(&'files self, _: (), index: usize) -> Result<Range<usize>, Error> {
        let line = self.line(index).ok_or(Error::LineTooLarge { given: index, max: self.lines.len() })?;
        Ok(line.range.clone())
    }
}
