//! Selection of the brackets to break up, so that lines fit.

use super::MAX_COLUMNS;
use super::tree::{Group, Node};
use crate::lexer::Token;

/// Minimum extent of a bracket that is broken up to shorten a line.
const MIN_EXTENT: usize = 16;
/// Maximum number of brackets that are tried one by one.
const MAX_TRIED: usize = 32;

/// Selects brackets of a line, or of an element of an outer bracket, by position. The line is indented by
/// `indent` columns, and `suffix` columns follow.
///
/// These must be selected again when the result is formatted, where brackets with a new trailing comma are forced: so
/// each step only adds to the last one, and those without a trailing comma are the last resort.
pub(super) fn select(nodes: &[Node], indent: usize, suffix: usize) -> Vec<bool> {
    let mut line = Broken { nodes, indent, suffix, broken: nodes.iter().map(is_forced).collect() };
    if line.fits() {
        return line.broken;
    }
    let is_definition = matches!(nodes.first(), Some(Node::Leaf(leaf)) if leaf.token == Token::Def);
    let any = |group: &Group| group.accepts_comma();
    let has_elements = |group: &Group| group.accepts_comma() && group.elements.len() > 1;
    let _ = line.break_one(any, is_definition)
        || line.break_all(has_elements)
        || line.break_one(any, is_definition)
        || line.break_all(any)
        || line.break_one(|group| !group.accepts_comma(), false)
        || line.break_all(|group| !group.accepts_comma());
    line.broken
}

/// Column before the first token of a line, less the space before an operator that begins one.
pub(super) fn start(nodes: &[Node], indent: usize) -> usize {
    let space = matches!(nodes.first(), Some(Node::Leaf(leaf)) if leaf.space);
    indent - usize::from(space)
}

fn is_forced(node: &Node) -> bool {
    matches!(node, Node::Group(group) if group.is_forced)
}

/// A line with some of its brackets broken up.
struct Broken<'a, 's> {
    nodes: &'a [Node<'s>],
    indent: usize,
    suffix: usize,
    broken: Vec<bool>,
}

impl Broken<'_, '_> {
    /// Returns true if the parts of the line between brackets that are broken up fit.
    fn fits(&self) -> bool {
        let mut column = start(self.nodes, self.indent);
        for (node, &broken) in self.nodes.iter().zip(&self.broken) {
            if let (Node::Group(group), true) = (node, broken) {
                if column + usize::from(group.open.space) + 1 > MAX_COLUMNS {
                    return false;
                }
                column = self.indent + 1;
                continue;
            }
            let extent = node.extent();
            if column + extent.first > MAX_COLUMNS {
                return false;
            }
            column = extent.last.unwrap_or(column + extent.first);
        }
        column + self.suffix <= MAX_COLUMNS
    }

    /// Positions of brackets that may be broken up.
    fn candidates(&self, accepts: impl Fn(&Group) -> bool) -> Vec<usize> {
        let is_candidate = |&at: &usize| match &self.nodes[at] {
            Node::Group(group) => {
                let is_wide = group.extent.first >= MIN_EXTENT || group.extent.last.is_some();
                !self.broken[at] && is_wide && !group.elements.is_empty() && accepts(group)
            }
            Node::Leaf(_) => false,
        };
        (0..self.nodes.len()).filter(is_candidate).collect()
    }

    /// Breaks up one bracket, the last (or the first) with which the line fits; returns false if there is none.
    fn break_one(&mut self, accepts: impl Fn(&Group) -> bool, from_first: bool) -> bool {
        let mut candidates = self.candidates(accepts);
        if !from_first {
            candidates.reverse();
        }
        candidates.into_iter().take(MAX_TRIED).any(|at| {
            self.broken[at] = true;
            let fits = self.fits();
            self.broken[at] = fits;
            fits
        })
    }

    /// Breaks up all brackets of a kind; returns true if the line then fits.
    fn break_all(&mut self, accepts: impl Fn(&Group) -> bool) -> bool {
        for at in self.candidates(accepts) {
            self.broken[at] = true;
        }
        self.fits()
    }
}
