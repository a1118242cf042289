//! Listing of the model, one node per line: the source text of diagnostics, profiles and run-time errors.

use crate::schema::NodeProto;
use hammock_diagnostics::{Diagnostic, SourceFile, Span};

/// Maximum number of characters of a name, and of names in a list, on a line.
const MAX_NAME_CHARS: usize = 64;
const MAX_NAMES: usize = 12;

/// Maximum indentation of nodes in functions and subgraphs. Without a limit, the text of a call chain would grow with
/// the square of its length.
const MAX_INDENTED_DEPTH: usize = 16;

/// Listing under construction.
#[derive(Default)]
pub struct Listing {
    text: String,
}

impl Listing {
    /// Appends a node's line: `y = Conv(x, w)  # node conv1`.
    pub fn add(&mut self, node: &NodeProto, depth: usize) -> Span {
        let start = self.text.len();
        let depth = depth.min(MAX_INDENTED_DEPTH);
        let line = format!(
            "{}{} = {}({})",
            "    ".repeat(depth),
            names(&node.output),
            brief(&node.op_type),
            names(&node.input)
        );
        self.text += &line;
        if !node.name.is_empty() {
            self.text += &format!("  # node {}", brief(&node.name));
        }
        let end = self.text.len();
        self.text.push('\n');
        let to_u32 = |offset: usize| u32::try_from(offset).ok();
        match (to_u32(start + 4 * depth), to_u32(end)) {
            (Some(start), Some(end)) => Span::new(start, end),
            _ => Span::NONE,
        }
    }

    /// Returns the number of bytes so far.
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// Removes everything after the first `len` bytes.
    pub fn truncate(&mut self, len: usize) {
        self.text.truncate(len);
    }

    /// Returns the text as a source file with this name.
    pub fn into_source(self, name: &str) -> Result<SourceFile, Box<Diagnostic>> {
        SourceFile::new(name, self.text).map_err(Box::new)
    }
}

/// Returns the name of a node for messages.
pub fn node_name(node: &NodeProto) -> String {
    let own = Some(&node.name).filter(|name| !name.is_empty());
    match (own, node.output.iter().find(|name| !name.is_empty())) {
        (Some(name), _) => format!("`{}`", brief(name)),
        (None, Some(output)) => format!("of `{}`", brief(output)),
        (None, None) => "without a name".to_owned(),
    }
}

/// Returns a name without control characters, truncated.
pub fn brief(name: &str) -> String {
    let mut shown: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_NAME_CHARS).collect();
    if shown.len() < name.len() {
        shown.push('…');
    }
    shown
}

fn names(names: &[String]) -> String {
    let mut shown: Vec<String> = names.iter().take(MAX_NAMES).map(|name| brief(name)).collect();
    shown.extend((names.len() > MAX_NAMES).then(|| "…".to_owned()));
    shown.join(", ")
}
