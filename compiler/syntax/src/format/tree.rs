//! The tokens of a logical line, grouped by brackets.

use crate::lexer::Token;

/// A token.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaf<'s> {
    pub(super) token: Token,
    pub(super) text: &'s str,
    /// True if a space precedes it.
    pub(super) space: bool,
}

/// Meaning of a bracket, which decides about spaces and trailing commas in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Parameters of a definition.
    Parameters,
    /// Arguments of a call.
    Arguments,
    Subscript,
    /// A tuple or a parenthesized expression.
    Parentheses,
    List,
    /// A dictionary or a set.
    Braces,
}

/// A token, or a bracket with its contents.
#[derive(Debug)]
pub(super) enum Node<'s> {
    Leaf(Leaf<'s>),
    Group(Box<Group<'s>>),
}

/// An element between two commas.
#[derive(Debug, Default)]
pub(super) struct Element<'s> {
    /// Comments on lines of their own before it.
    pub(super) before: Vec<&'s str>,
    pub(super) nodes: Vec<Node<'s>>,
    /// The comment at the end of its line.
    pub(super) trailing: Option<&'s str>,
    /// True if a comma follows.
    pub(super) has_comma: bool,
}

/// A bracket with its contents.
#[derive(Debug)]
pub(super) struct Group<'s> {
    pub(super) kind: Kind,
    pub(super) open: Leaf<'s>,
    pub(super) close: Leaf<'s>,
    /// The comment after the opening bracket.
    pub(super) opening: Option<&'s str>,
    pub(super) elements: Vec<Element<'s>>,
    /// Comments before the closing bracket.
    pub(super) dangling: Vec<&'s str>,
    pub(super) is_comprehension: bool,
    /// True if it cannot be written on one line: it has comments or a trailing comma without meaning, or contains a
    /// bracket that has.
    pub(super) is_forced: bool,
    /// Extent on one line, without a trailing comma that means nothing.
    pub(super) extent: Extent,
}

/// Number of columns of a text that may contain line breaks, in string literals.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Extent {
    /// Columns up to the first line break.
    pub(super) first: usize,
    /// Columns after the last line break, if there is one.
    pub(super) last: Option<usize>,
}

impl Extent {
    pub(super) fn of(leaf: &Leaf) -> Extent {
        let space = usize::from(leaf.space);
        match leaf.text.split_once(['\n', '\r']) {
            None => Extent { first: space + leaf.text.chars().count(), last: None },
            Some((first, rest)) => {
                let last = rest.rsplit(['\n', '\r']).next().unwrap_or_default();
                Extent { first: space + first.chars().count(), last: Some(last.chars().count()) }
            }
        }
    }

    pub(super) fn then(self, next: Extent) -> Extent {
        match self.last {
            None => Extent { first: self.first + next.first, last: next.last },
            Some(last) => Extent { first: self.first, last: next.last.or(Some(last + next.first)) },
        }
    }
}

impl Node<'_> {
    pub(super) fn extent(&self) -> Extent {
        match self {
            Node::Leaf(leaf) => Extent::of(leaf),
            Node::Group(group) => group.extent,
        }
    }
}

impl Group<'_> {
    /// Returns true if the last element has a comma that makes the bracket a tuple.
    pub(super) fn has_tuple_comma(&self) -> bool {
        let is_tuple = matches!(self.kind, Kind::Parentheses | Kind::Subscript);
        is_tuple && self.elements.len() == 1 && self.elements[0].has_comma
    }

    /// Returns true if a comma may follow the last element.
    pub(super) fn accepts_comma(&self) -> bool {
        let is_tuple = matches!(self.kind, Kind::Parentheses | Kind::Subscript);
        !self.elements.is_empty()
            && !self.is_comprehension
            && (!is_tuple || self.elements.len() > 1 || self.has_tuple_comma())
    }

    /// Sets what follows from its contents.
    pub(super) fn finish(&mut self) {
        let has_comments = self.opening.is_some() || !self.dangling.is_empty();
        let is_magic = self.elements.last().is_some_and(|last| last.has_comma) && !self.has_tuple_comma();
        let mut forced = has_comments || is_magic;
        let separator = Extent { first: 2, last: None };
        let mut extent = Extent::of(&self.open);
        for (position, element) in self.elements.iter().enumerate() {
            forced |= !element.before.is_empty() || element.trailing.is_some();
            if position > 0 {
                extent = extent.then(separator);
            }
            for node in &element.nodes {
                forced |= matches!(node, Node::Group(group) if group.is_forced);
                extent = extent.then(node.extent());
            }
        }
        if self.has_tuple_comma() {
            extent = extent.then(Extent { first: 1, last: None });
        }
        self.extent = extent.then(Extent::of(&self.close));
        self.is_forced = forced;
    }
}
