//! Spaces between the tokens of a line.

use super::tree::{Kind, Leaf, Node};
use crate::lexer::Token;

/// An open bracket, or the line as a whole.
#[derive(Clone, Copy, Default)]
struct Level {
    /// True if the current element has an annotation: `name: type`.
    annotated: bool,
    /// Number of lambdas whose parameters are being read.
    lambdas: usize,
}

/// Decides about spaces, token by token.
pub(super) struct Spacing {
    previous: Option<Token>,
    /// True if the previous token is a prefix: a sign, a star before an argument, the `@` of a decorator.
    is_prefix: bool,
    levels: Vec<Level>,
}

impl Spacing {
    pub(super) fn new() -> Spacing {
        Spacing { previous: None, is_prefix: false, levels: vec![Level::default()] }
    }

    pub(super) fn previous(&self) -> Option<Token> {
        self.previous
    }

    /// Returns true if a space precedes the next token of the line, which is in a bracket of this kind.
    pub(super) fn before(&mut self, token: Token, within: Option<Kind>) -> bool {
        let space = self.previous.is_some_and(|previous| !self.is_prefix && self.separates(previous, token, within));
        let after_operand = self.previous.is_some_and(Token::ends_operand);
        self.is_prefix = match token {
            Token::Plus | Token::Minus | Token::Star | Token::DoubleStar | Token::At => !after_operand,
            Token::Tilde => true,
            _ => false,
        };
        self.enter(token);
        self.previous = Some(token);
        space
    }

    fn enter(&mut self, token: Token) {
        if token.opens() {
            return self.levels.push(Level::default());
        }
        if token.closes() {
            self.levels.pop();
            return;
        }
        let Some(level) = self.levels.last_mut() else { return };
        match token {
            Token::Lambda => level.lambdas += 1,
            Token::Colon if level.lambdas > 0 => level.lambdas -= 1,
            Token::Colon => level.annotated = true,
            Token::Comma if level.lambdas == 0 => *level = Level::default(),
            _ => {}
        }
    }

    fn separates(&self, previous: Token, next: Token, within: Option<Kind>) -> bool {
        match (previous, next) {
            (_, Token::Comma | Token::Semicolon | Token::Colon) => false,
            // Between an integer and a dot, it separates tokens.
            (Token::Int, Token::Dot) | (Token::From, Token::Dot | Token::Ellipsis) => true,
            (Token::Dot | Token::Ellipsis, Token::Import) => true,
            (_, Token::Dot) | (Token::Dot, _) | (Token::Ellipsis, Token::Name | Token::Ellipsis) => false,
            (Token::Colon, _) if within == Some(Kind::Subscript) && !self.in_lambda() => false,
            (previous, next) if previous.opens() || next.closes() => false,
            (Token::Assign, _) | (_, Token::Assign) => self.spaces_assignment(within),
            (previous, Token::LeftParen | Token::LeftBracket) => !previous.ends_operand(),
            _ => true,
        }
    }

    fn in_lambda(&self) -> bool {
        self.levels.last().is_some_and(|level| level.lambdas > 0)
    }

    /// Returns true if spaces surround `=`: not in `name=value` of a call or a parameter without an annotation.
    fn spaces_assignment(&self, within: Option<Kind>) -> bool {
        let level = self.levels.last().copied().unwrap_or_default();
        level.lambdas == 0 && (within.is_none() || (within == Some(Kind::Parameters) && level.annotated))
    }
}

/// Surrounds the colons of a slice by spaces if its bounds are more than names and numbers: `x[a:b]`, `x[a + 1 : b]`,
/// `x[: f(b)]`.
pub(super) fn space_slices(kind: Kind, nodes: &mut [Node]) {
    let is_colon = |node: &Node| matches!(node, Node::Leaf(leaf) if leaf.token == Token::Colon);
    if kind != Kind::Subscript || !nodes.iter().any(is_colon) || !is_complex(nodes) {
        return;
    }
    for at in 0..nodes.len() {
        let after_colon = at > 0 && is_colon(&nodes[at - 1]);
        let here = is_colon(&nodes[at]);
        if at > 0 && here != after_colon {
            nodes[at].set_space();
        }
    }
}

/// Returns true if a slice has operators, attributes, calls or subscripts.
fn is_complex(nodes: &[Node]) -> bool {
    let mut after_operand = false;
    for node in nodes {
        let (complex, ends_operand) = match node {
            Node::Group(group) => (after_operand || group.kind == Kind::Subscript, true),
            Node::Leaf(Leaf { token: Token::Colon, .. }) => (false, false),
            Node::Leaf(Leaf { token, .. }) if token.ends_operand() => (false, true),
            Node::Leaf(Leaf { token: Token::Plus | Token::Minus | Token::Tilde, .. }) => (after_operand, false),
            Node::Leaf(_) => (true, false),
        };
        if complex {
            return true;
        }
        after_operand = ends_operand;
    }
    false
}

impl Node<'_> {
    fn set_space(&mut self) {
        match self {
            Node::Leaf(leaf) => leaf.space = true,
            Node::Group(group) if !group.open.space => {
                group.open.space = true;
                group.extent.first += 1;
            }
            Node::Group(_) => {}
        }
    }
}
