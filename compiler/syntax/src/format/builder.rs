//! Construction of the tree of a logical line.

use super::scan::{Comment, Item, Line};
use super::spacing::{Spacing, space_slices};
use super::tree::{Element, Extent, Group, Kind, Leaf, Node};
use crate::lexer::Token;

/// The tree of a line.
pub(super) fn tree<'s>(line: &Line<'s>) -> Vec<Node<'s>> {
    let defines = line.items.first().is_some_and(|item| item.token == Token::Def);
    let mut builder = Builder { open: Vec::new(), line: Vec::new(), spacing: Spacing::new(), defines };
    line.items.iter().for_each(|item| builder.item(item));
    builder.line
}

/// A bracket whose end was not read yet.
struct Open<'s> {
    group: Group<'s>,
    element: Element<'s>,
    /// Comments on lines of their own inside the element.
    inside: Vec<&'s str>,
    /// Number of lambdas whose parameters are being read.
    lambdas: usize,
}

struct Builder<'s> {
    open: Vec<Open<'s>>,
    line: Vec<Node<'s>>,
    spacing: Spacing,
    /// True if the line is a function definition whose parameters were not read yet.
    defines: bool,
}

impl<'s> Builder<'s> {
    fn item(&mut self, item: &Item<'s>) {
        if let Some(open) = self.open.last_mut() {
            item.comments.iter().for_each(|comment| open.comment(comment));
            if open.element.nodes.is_empty() && !item.token.closes() {
                open.element.before.append(&mut open.inside);
            }
        }
        let before = self.spacing.previous();
        let space = self.spacing.before(item.token, self.open.last().map(|open| open.group.kind));
        let starts_element = self.open.last().is_some_and(|open| open.element.nodes.is_empty());
        let leaf = Leaf { token: item.token, text: item.text, space: space && !starts_element };
        match (item.token, self.open.last_mut()) {
            (token, _) if token.opens() => self.begin(leaf, before),
            (token, _) if token.closes() => self.end(leaf),
            (Token::Comma, Some(open)) if open.separates() => open.end_element(),
            _ => self.push(Node::Leaf(leaf)),
        }
    }

    fn push(&mut self, node: Node<'s>) {
        let Some(open) = self.open.last_mut() else { return self.line.push(node) };
        open.hoist_comments();
        if let Node::Leaf(leaf) = &node {
            match leaf.token {
                Token::Lambda => open.lambdas += 1,
                Token::Colon => open.lambdas = open.lambdas.saturating_sub(1),
                Token::For => open.group.is_comprehension = true,
                _ => {}
            }
        }
        open.element.nodes.push(node);
    }

    fn begin(&mut self, open: Leaf<'s>, before: Option<Token>) {
        if let Some(outer) = self.open.last_mut() {
            outer.hoist_comments();
        }
        let parameters = self.open.is_empty() && self.defines;
        let is_call = matches!(before, Some(Token::Name | Token::RightParen | Token::RightBracket));
        let kind = match open.token {
            Token::LeftParen | Token::LeftBracket if parameters => Kind::Parameters,
            Token::LeftParen if is_call => Kind::Arguments,
            Token::LeftParen => Kind::Parentheses,
            Token::LeftBracket if before.is_some_and(Token::ends_operand) => Kind::Subscript,
            Token::LeftBracket => Kind::List,
            _ => Kind::Braces,
        };
        if parameters && open.token == Token::LeftParen {
            self.defines = false;
        }
        let group = Group {
            kind,
            open,
            close: open,
            opening: None,
            elements: Vec::new(),
            dangling: Vec::new(),
            is_comprehension: false,
            is_forced: false,
            extent: Extent::default(),
        };
        self.open.push(Open { group, element: Element::default(), inside: Vec::new(), lambdas: 0 });
    }

    fn end(&mut self, close: Leaf<'s>) {
        let Some(mut open) = self.open.pop() else { return };
        if !open.element.nodes.is_empty() {
            let dangling = std::mem::take(&mut open.inside);
            open.end_element();
            open.group.dangling = dangling;
            if let Some(last) = open.group.elements.last_mut() {
                last.has_comma = false;
            }
        } else {
            open.group.dangling = open.element.before;
            open.group.dangling.append(&mut open.inside);
        }
        open.group.close = close;
        open.group.finish();
        self.push(Node::Group(Box::new(open.group)));
    }
}

impl<'s> Open<'s> {
    /// Returns true if a comma separates elements here.
    fn separates(&self) -> bool {
        self.lambdas == 0 && !self.group.is_comprehension
    }

    fn comment(&mut self, comment: &Comment<'s>) {
        let is_trailing = comment.own_line.is_none();
        let element = &mut self.element;
        let slot = match (element.nodes.is_empty(), self.group.elements.last_mut()) {
            (true, None) => &mut self.group.opening,
            (true, Some(last)) => &mut last.trailing,
            (false, _) => &mut element.trailing,
        };
        if is_trailing && slot.is_none() {
            *slot = Some(comment.text);
        } else {
            self.inside.push(comment.text);
        }
    }

    /// Moves comments in the middle of an element before it.
    fn hoist_comments(&mut self) {
        self.element.before.extend(self.element.trailing.take());
        self.element.before.append(&mut self.inside);
    }

    /// Ends an element at its comma.
    fn end_element(&mut self) {
        let mut element = std::mem::take(&mut self.element);
        element.before.append(&mut self.inside);
        element.has_comma = true;
        space_slices(self.group.kind, &mut element.nodes);
        self.group.elements.push(element);
        self.lambdas = 0;
    }
}
