//! A text of the model, one node a line: what diagnostics, profiles and errors at run time point into.

use crate::schema::NodeProto;
use hammock_diagnostics::{Diagnostic, SourceFile, Span};

/// How much of one name, and how many names, a line shows.
const NAME: usize = 64;
const NAMES: usize = 12;

/// Depth up to which nodes of functions and inner graphs are indented. Without it, the text of functions that call each
/// other would grow with the square of their number.
const MAX_INDENTED_DEPTH: usize = 16;

/// The lines so far.
#[derive(Default)]
pub struct Listing {
    text: String,
}

impl Listing {
    /// Adds a node's line: `y = Conv(x, w)  # node conv1`.
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
        let place = |offset: usize| u32::try_from(offset).ok();
        match (place(start + 4 * depth), place(end)) {
            (Some(start), Some(end)) => Span::new(start, end),
            _ => Span::NONE,
        }
    }

    /// The text as a file of that name.
    pub fn into_source(self, name: &str) -> Result<SourceFile, Box<Diagnostic>> {
        SourceFile::new(name, self.text).map_err(Box::new)
    }
}

/// What a node is called in messages.
pub fn node_name(node: &NodeProto) -> String {
    let own = Some(&node.name).filter(|name| !name.is_empty());
    match (own, node.output.iter().find(|name| !name.is_empty())) {
        (Some(name), _) => format!("`{}`", brief(name)),
        (None, Some(output)) => format!("of `{}`", brief(output)),
        (None, None) => "without a name".to_owned(),
    }
}

/// A name as a line shows it: on one line, and not too long.
pub fn brief(name: &str) -> String {
    let mut shown: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).take(NAME).collect();
    if shown.len() < name.len() {
        shown.push('…');
    }
    shown
}

fn names(names: &[String]) -> String {
    let mut shown: Vec<String> = names.iter().take(NAMES).map(|name| brief(name)).collect();
    shown.extend((names.len() > NAMES).then(|| "…".to_owned()));
    shown.join(", ")
}
