//! Indentation of logical lines.

use super::{Item, Layout, MAX_INDENTS};
use crate::lexer::Token;
use hammock_diagnostics::{Diagnostic, Span, codes};

/// The width of an indentation. Tabs reach to multiples of eight columns; `narrow` counts each as one. Two lines whose
/// order depends on which is used are rejected, as in Python.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Indent {
    pub(super) columns: u32,
    narrow: u32,
}

impl Indent {
    pub(super) fn of(blanks: &str) -> Self {
        let mut indent = Indent::default();
        for byte in blanks.bytes() {
            match byte {
                b' ' => indent = Indent { columns: indent.columns + 1, narrow: indent.narrow + 1 },
                b'\t' => indent = Indent { columns: (indent.columns / 8 + 1) * 8, narrow: indent.narrow + 1 },
                b'\x0C' => indent = Indent::default(),
                _ => break,
            }
        }
        indent
    }

    fn agrees_with(self, other: Indent) -> bool {
        self.columns.cmp(&other.columns) == self.narrow.cmp(&other.narrow)
    }
}

impl Layout<'_> {
    /// Handles the first token of a logical line: `Indent` or a `Dedent` precedes it.
    pub(super) fn begin_line(&mut self, item: Item) -> Option<Item> {
        let blanks = Span::new(self.line_start, item.0);
        let indent = Indent::of(self.slice(blanks.start, blanks.end));
        let current = self.current_indent();
        // Lines after a mixed one rarely agree with it either: one error is enough.
        if !indent.agrees_with(current) && !std::mem::replace(&mut self.mixed, true) {
            self.report(mixed_blanks(blanks));
        }
        if indent.columns == current.columns {
            return self.pass(item);
        }
        if indent.columns > current.columns {
            return self.indent(indent, blanks, item);
        }
        self.dedent(indent, blanks, item)
    }

    pub(super) fn current_indent(&self) -> Indent {
        self.indents[self.indents.len() - 1]
    }

    fn indent(&mut self, indent: Indent, blanks: Span, item: Item) -> Option<Item> {
        self.held = Some(item);
        if self.indents.len() > MAX_INDENTS {
            self.report(too_deep(blanks));
            self.stop_reading();
        }
        self.indents.push(indent);
        Some((blanks.start, Token::Indent, blanks.end))
    }

    fn dedent(&mut self, indent: Indent, blanks: Span, item: Item) -> Option<Item> {
        let before = self.indents.len();
        while self.current_indent().columns > indent.columns {
            self.indents.pop();
        }
        if self.current_indent().columns < indent.columns {
            // Between two levels: treated as the deeper one with another width.
            self.report(between_levels(blanks));
            self.indents.push(indent);
        }
        self.dedents = before - self.indents.len();
        if self.dedents == 0 {
            return self.pass(item);
        }
        self.held = Some(item);
        self.dedents -= 1;
        Some((self.last_end, Token::Dedent, self.last_end))
    }
}

fn mixed_blanks(blanks: Span) -> Diagnostic {
    Diagnostic::error(codes::BAD_INDENTATION, "tabs and spaces are mixed, so that the depth of this line is unclear")
        .label(blanks, "this does not compare with the line above")
        .help("indent with spaces throughout, four a level")
}

fn between_levels(blanks: Span) -> Diagnostic {
    Diagnostic::error(codes::BAD_INDENTATION, "this line ends a block, but is not in line with any block around it")
        .label(blanks, "no line above is indented like this")
        .help("indent it like the block it belongs to")
}

fn too_deep(blanks: Span) -> Diagnostic {
    Diagnostic::error(codes::NESTED_TOO_DEEPLY, format!("blocks are nested deeper than {MAX_INDENTS} levels"))
        .label(blanks, "the file is not read from here on")
        .help("move the inner blocks to functions of their own")
}
