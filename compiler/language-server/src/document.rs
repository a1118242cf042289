//! An open document: its text, edits of it, and its analysis.

use crate::{
    names::{Names, resolve},
    position::{Encoding, LineIndex},
};
use hammock_diagnostics::{Diagnostic, SourceFile, Span};
use hammock_import::{Constants, Inspection, ReadOptions, inspect_module};
use hammock_syntax::{TokenKind, ast, parse, tokens};
use lsp_types::{Position, Range, TextDocumentContentChangeEvent, Uri};
use std::cell::OnceCell;

/// A text that an editor has open.
pub struct Document {
    /// Its URI, as the editor spells it.
    pub uri: Uri,
    /// Version of the text.
    pub version: i32,
    text: String,
    lines: LineIndex,
    encoding: Encoding,
    syntax: OnceCell<Result<Syntax, Diagnostic>>,
    tokens: OnceCell<Vec<(TokenKind, Span)>>,
    inspection: OnceCell<Inspection>,
    /// Why the editor's text is not known any more, after an edit that cannot be applied.
    desynchronized: Option<String>,
    /// True if the diagnostics of the text were not published yet.
    pub is_changed: bool,
}

/// The syntax of a text.
pub struct Syntax {
    /// The text under the name that diagnostics print.
    pub source: SourceFile,
    /// The tree, partial if there are errors, and the parser's diagnostics.
    pub parsed: (ast::Module, Vec<Diagnostic>),
    names: OnceCell<Names>,
}

impl Syntax {
    /// The meaning of the names.
    pub fn names(&self) -> &Names {
        self.names.get_or_init(|| resolve(&self.source, &self.parsed.0))
    }
}

impl Document {
    /// A document as it is opened.
    pub fn new(uri: Uri, version: i32, text: String, encoding: Encoding) -> Self {
        let lines = LineIndex::new(&text);
        let (syntax, tokens, inspection) = Default::default();
        let desynchronized = None;
        Document { uri, version, text, lines, encoding, syntax, tokens, inspection, desynchronized, is_changed: true }
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Why the text is not that of the editor, if an edit could not be applied.
    pub fn desynchronized(&self) -> Option<&str> {
        self.desynchronized.as_deref()
    }

    /// Applies edits in order.
    ///
    /// # Errors
    /// If an edit is outside the text, or the text becomes too long. The text then is unknown until the editor sends it
    /// as a whole.
    pub fn apply(&mut self, version: i32, changes: Vec<TextDocumentContentChangeEvent>) -> Result<(), String> {
        (self.syntax, self.tokens, self.inspection) = Default::default();
        (self.version, self.is_changed) = (version, true);
        for change in changes {
            match change.range {
                None => {
                    (self.text, self.desynchronized) = (change.text, None);
                    self.lines = LineIndex::new(&self.text);
                }
                Some(_) if self.desynchronized.is_some() => {}
                Some(range) => {
                    if let Err(why) = self.replace(range, &change.text) {
                        self.desynchronized = Some(why.clone());
                        return Err(why);
                    }
                }
            }
        }
        Ok(())
    }

    fn replace(&mut self, range: Range, text: &str) -> Result<(), String> {
        let Range { start, end } = range;
        let shown = |at: Position| format!("{}:{}", at.line, at.character);
        let offset = |at| {
            let outside = || format!("an edit at {} is outside the text of {} lines", shown(at), self.lines.len());
            self.lines.offset(&self.text, at, self.encoding).ok_or_else(outside)
        };
        let (from, to) = (offset(start)?, offset(end)?);
        if from > to {
            return Err(format!("an edit ends at {}, before its start {}", shown(end), shown(start)));
        }
        if self.text.len() + text.len() > SourceFile::MAX_LEN {
            return Err("the text is too long".to_owned());
        }
        self.text.replace_range(from..to, text);
        self.lines.replace(&self.text, from, to, text.len());
        Ok(())
    }

    /// The syntax of the text.
    ///
    /// # Errors
    /// If the text is too long.
    pub fn syntax(&self) -> Result<&Syntax, &Diagnostic> {
        let analyse = || {
            let source = SourceFile::new(file_name(&self.uri), self.text.as_str())?;
            let parsed = parse(&source);
            Ok(Syntax { source, parsed, names: OnceCell::new() })
        };
        self.syntax.get_or_init(analyse).as_ref()
    }

    /// The tokens of the text.
    pub fn tokens(&self) -> &[(TokenKind, Span)] {
        self.tokens.get_or_init(|| tokens(&self.text))
    }

    /// The module, as far as it could be read, and all diagnostics. Constants that the text leaves out are zeros, because
    /// commands take them from a file of weights.
    pub fn inspection(&self) -> &Inspection {
        self.inspection.get_or_init(|| match self.syntax() {
            Ok(syntax) => {
                let options = ReadOptions { module: None, constants: Constants::Zeros };
                inspect_module(&syntax.source, &syntax.parsed, &options)
            }
            Err(error) => {
                let diagnostics = vec![error.clone()];
                Inspection { module: Default::default(), is_complete: false, diagnostics }
            }
        })
    }

    /// Offset of a position; `None` if the text has no such line.
    pub fn offset(&self, position: Position) -> Option<u32> {
        self.lines.offset(&self.text, position, self.encoding).map(|offset| offset as u32)
    }

    /// Number of lines.
    pub fn line_count(&self) -> usize {
        self.lines.len()
    }

    /// Position of an offset.
    pub fn position(&self, offset: u32) -> Position {
        self.lines.position(&self.text, offset as usize, self.encoding)
    }

    /// Range of a span; the start of the text for [`Span::NONE`].
    pub fn range(&self, span: Span) -> Range {
        self.lines.range(&self.text, span, self.encoding)
    }

    /// Number of units of columns in a part of the text.
    pub fn columns(&self, text: &str) -> u32 {
        self.encoding.count(text)
    }
}

/// The last part of a URI, for messages.
fn file_name(uri: &Uri) -> &str {
    uri.as_str().rsplit('/').next().unwrap_or_default()
}
