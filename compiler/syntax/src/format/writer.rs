//! Writing of formatted lines.

use super::INDENT;
use super::breaking::select;
use super::builder::tree;
use super::operators;
use super::scan::{Body, Row};
use super::tree::{Group, Leaf, Node};

/// The formatted text.
pub(super) fn text(rows: &[Row]) -> String {
    let mut writer = Writer { out: String::new() };
    for row in rows {
        writer.out.extend(std::iter::repeat_n('\n', row.blanks));
        let indent = row.depth * INDENT;
        writer.indent(indent);
        match &row.body {
            Body::Comment(text) => writer.comment(text),
            Body::Code(line) => {
                writer.nodes(&tree(line), indent, 0);
                writer.trailing(line.trailing);
            }
        }
        writer.out.push('\n');
    }
    writer.out
}

struct Writer {
    out: String,
}

impl Writer {
    fn indent(&mut self, columns: usize) {
        self.out.extend(std::iter::repeat_n(' ', columns));
    }

    /// Writes a comment with a space after `#`, unless the comment is of the kind `#!`, `#:` or `##`.
    fn comment(&mut self, text: &str) {
        let content = text.trim_start_matches('#');
        if content.len() + 1 < text.len() || content.is_empty() || content.starts_with([' ', '!', ':', '\'']) {
            self.out.push_str(text);
        } else {
            self.out.push_str("# ");
            self.out.push_str(content);
        }
    }

    /// Writes the comment at the end of a line.
    fn trailing(&mut self, comment: Option<&str>) {
        if let Some(text) = comment {
            self.out.push_str("  ");
            self.comment(text);
        }
    }

    fn own_lines(&mut self, comments: &[&str], indent: usize) {
        for comment in comments {
            self.out.push('\n');
            self.indent(indent);
            self.comment(comment);
        }
    }

    /// Writes an element of a bracket, of which `suffix` columns follow.
    fn element(&mut self, nodes: &[Node], indent: usize, suffix: usize) {
        let breaks = operators::breaks(nodes, indent, suffix);
        if breaks.is_empty() {
            return self.nodes(nodes, indent, suffix);
        }
        let starts = std::iter::once(0).chain(breaks.iter().copied());
        let ends = breaks.iter().copied().chain([nodes.len()]);
        for (start, end) in starts.zip(ends) {
            if start > 0 {
                self.out.push('\n');
                // The operator has a space before it.
                self.indent(indent - 1);
            }
            let suffix = if end == nodes.len() { suffix } else { 0 };
            self.element(&nodes[start..end], indent, suffix);
        }
    }

    fn leaf(&mut self, leaf: &Leaf) {
        if leaf.space {
            self.out.push(' ');
        }
        self.out.push_str(leaf.text);
    }

    /// Writes a line, or a part of one on a line of its own, of which `suffix` columns follow.
    fn nodes(&mut self, nodes: &[Node], indent: usize, suffix: usize) {
        let broken = select(nodes, indent, suffix);
        for (node, broken) in nodes.iter().zip(broken) {
            match node {
                Node::Leaf(leaf) => self.leaf(leaf),
                Node::Group(group) if broken => self.broken(group, indent),
                Node::Group(group) => self.flat(group),
            }
        }
    }

    /// Writes a bracket on one line.
    fn flat(&mut self, group: &Group) {
        self.leaf(&group.open);
        for (position, element) in group.elements.iter().enumerate() {
            if position > 0 {
                self.out.push_str(", ");
            }
            for node in &element.nodes {
                match node {
                    Node::Leaf(leaf) => self.leaf(leaf),
                    Node::Group(group) => self.flat(group),
                }
            }
        }
        if group.has_tuple_comma() {
            self.out.push(',');
        }
        self.leaf(&group.close);
    }

    /// Writes a bracket with each element on a line of its own.
    fn broken(&mut self, group: &Group, indent: usize) {
        self.leaf(&group.open);
        self.trailing(group.opening);
        let inner = indent + INDENT;
        for (position, element) in group.elements.iter().enumerate() {
            let comma = position + 1 < group.elements.len() || group.accepts_comma();
            self.own_lines(&element.before, inner);
            self.out.push('\n');
            self.indent(inner);
            self.element(&element.nodes, inner, usize::from(comma));
            if comma {
                self.out.push(',');
            }
            self.trailing(element.trailing);
        }
        self.own_lines(&group.dangling, inner);
        self.out.push('\n');
        self.indent(indent);
        self.out.push_str(group.close.text);
    }
}
