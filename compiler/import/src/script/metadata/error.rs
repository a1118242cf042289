//! Errors in metadata sections, with their location.

use hammock_diagnostics::{SourceFile, Span};
use std::{fmt, ops::Range};

/// An error in a metadata section.
#[derive(Debug)]
pub(super) struct MetadataError {
    /// The message, about the node if there is one.
    pub why: String,
    /// Index of the invalid node.
    pub node: Option<usize>,
    /// Line and column, from 1, for invalid JSON.
    at: Option<(usize, usize)>,
}

impl MetadataError {
    /// An error in a node.
    pub fn at(node: usize, why: impl Into<String>) -> Self {
        MetadataError { why: why.into(), node: Some(node), at: None }
    }

    /// Invalid JSON.
    pub fn of_json(error: &serde_json::Error) -> Self {
        let text = error.to_string();
        let why = text.rsplit_once(" at line ").map_or(&*text, |(why, _)| why);
        MetadataError { why: brief(why), node: None, at: Some((error.line(), error.column())) }
    }

    /// Sets the node, unless there is one already.
    pub fn or_at(self, node: usize) -> Self {
        MetadataError { node: self.node.or(Some(node)), ..self }
    }

    /// The error's span in the file, within `span`, the literal with the section's text.
    pub fn span(&self, json: &str, span: Span, source: &SourceFile) -> Option<Span> {
        let range = match (self.node, self.at) {
            (Some(node), _) => node_range(json, node)?,
            (None, Some((line, column))) => {
                let start = line_start(json, line - 1)? + column.saturating_sub(1);
                start.min(json.len())..json.len()
            }
            (None, None) => return None,
        };
        let literal = source.slice(span);
        // Without escapes the literal contains the text verbatim, otherwise line by line.
        let start = match literal.find(json) {
            Some(begin) => begin + range.start,
            None => line_start(literal, json[..range.start].matches('\n').count())?,
        };
        let end = literal[start..].find('\n').map_or(literal.len(), |len| start + len);
        let end = end.min(start + range.len()).max(start + 1).min(literal.len());
        let (start, end) = (floor(literal, start), ceil(literal, end));
        let offset = |at: usize| span.start + at as u32;
        Some(Span::new(offset(start), offset(end)))
    }
}

fn line_start(text: &str, line: usize) -> Option<usize> {
    match line {
        0 => Some(0),
        _ => text.match_indices('\n').nth(line - 1).map(|(at, _)| at + 1),
    }
}

fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn ceil(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

/// The range of a node in JSON text: an element of the list `nodes` of the outermost object.
fn node_range(json: &str, node: usize) -> Option<Range<usize>> {
    let (mut depth, mut quoted, mut escaped, mut key_start) = (0, false, false, 0);
    let (mut key, mut in_nodes, mut count, mut start) = ("", false, 0, 0);
    for (at, byte) in json.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => {
                quoted = !quoted;
                match quoted {
                    true => key_start = at + 1,
                    false if depth == 1 => key = &json[key_start..at],
                    false => {}
                }
            }
            _ if quoted => {}
            b'[' if depth == 1 && key == "nodes" => (in_nodes, count, start, depth) = (true, 0, at + 1, 2),
            b'[' | b'{' => depth += 1,
            b']' | b'}' | b',' => {
                let ends = in_nodes && depth == 2 && byte != b'}';
                if ends && count == node {
                    let text = &json[start..at];
                    let blank = text.len() - text.trim_start().len();
                    return Some(start + blank..start + text.trim_end().len());
                }
                if ends {
                    (count, start) = (count + 1, at + 1);
                }
                if byte != b',' {
                    depth -= 1;
                    in_nodes &= depth >= 2;
                }
            }
            _ => {}
        }
    }
    None
}

/// A text of a file for a message: at most a line of it, without control characters.
pub(super) fn brief(text: &str) -> String {
    const MAX_CHARS: usize = 80;
    let mut brief: String = text.chars().take(MAX_CHARS).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(MAX_CHARS).is_some() {
        brief.push('…');
    }
    brief
}

impl From<String> for MetadataError {
    fn from(why: String) -> Self {
        MetadataError { why, node: None, at: None }
    }
}

impl From<&str> for MetadataError {
    fn from(why: &str) -> Self {
        why.to_owned().into()
    }
}

impl fmt::Display for MetadataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.node {
            Some(node) => write!(f, "node {node}: {}", self.why),
            None => f.write_str(&self.why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_found() {
        let json = r#"{"nodes_": [9], "x": {"nodes": [8]}, "nodes": [ {"a": [1, "]"]}, 2,
            "\"," ], "metadata": [1, 2]}"#;
        let node = |n| node_range(json, n).map(|range| &json[range]);
        assert_eq!((node(0), node(1)), (Some(r#"{"a": [1, "]"]}"#), Some("2")));
        assert_eq!((node(2), node(3)), (Some(r#""\",""#), None));
    }

    #[test]
    fn places_lie_in_the_literal() {
        let text = "m = load(\"\"\"{\n  \"nodes\": [é\n\"\"\")";
        let source = SourceFile::new("a.py", text).unwrap();
        let span = Span::new(9, text.len() as u32 - 1);
        let json = "{\n  \"nodes\": [é\n";
        let error = serde_json::from_str::<serde_json::Value>(json).unwrap_err();
        let span = MetadataError::of_json(&error).span(json, span, &source).unwrap();
        assert_eq!(source.slice(span), "é");
    }

    #[test]
    fn quotes_are_brief() {
        assert_eq!(brief("a\u{1b}b"), "a\u{fffd}b");
        assert_eq!(brief(&"x".repeat(1000)).chars().count(), 81);
    }
}
