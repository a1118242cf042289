//! Line breaks before operators, for elements of brackets that are longer than a line.

use super::MAX_COLUMNS;
use super::breaking::start;
use super::tree::{Extent, Node};
use crate::lexer::Token;

/// Positions before which an element, or an operand of one, is broken: at its operators of the lowest precedence.
///
/// Brackets count as if they were not broken up, so that formatting the result again finds the same positions.
pub(super) fn breaks(nodes: &[Node], indent: usize, suffix: usize) -> Vec<usize> {
    let start = Extent { first: start(nodes, indent), last: None };
    let extent = nodes.iter().fold(start, |extent, node| extent.then(node.extent()));
    let fits = extent.first <= MAX_COLUMNS && extent.last.unwrap_or(extent.first) + suffix <= MAX_COLUMNS;
    let is_expression = |node: &Node| !matches!(token(node), Some(Token::Lambda | Token::Colon | Token::Assign));
    if fits || token(&nodes[0]) == Some(Token::For) || !nodes.iter().all(is_expression) {
        return Vec::new();
    }
    if let Some(first) = nodes.iter().position(|node| token(node) == Some(Token::For)) {
        let is_clause = |&at: &usize| matches!(token(&nodes[at]), Some(Token::For | Token::If));
        return (first..nodes.len()).filter(is_clause).collect();
    }
    let found: Vec<(usize, u8)> =
        (1..nodes.len()).filter_map(|at| precedence(nodes, at).map(|precedence| (at, precedence))).collect();
    let lowest = found.iter().map(|&(_, precedence)| precedence).min();
    found.into_iter().filter(|&(_, precedence)| Some(precedence) == lowest).map(|(at, _)| at).collect()
}

fn token(node: &Node) -> Option<Token> {
    match node {
        Node::Leaf(leaf) => Some(leaf.token),
        Node::Group(_) => None,
    }
}

/// Precedence of the binary operator at a position; `None` for prefixes, operands and `**`.
fn precedence(nodes: &[Node], at: usize) -> Option<u8> {
    if !token(&nodes[at - 1]).is_none_or(Token::ends_operand) {
        return None;
    }
    match token(&nodes[at])? {
        Token::If | Token::Else => Some(0),
        Token::Or => Some(1),
        Token::And => Some(2),
        Token::Less | Token::LessEqual | Token::Greater | Token::GreaterEqual => Some(3),
        Token::Equal | Token::NotEqual | Token::In | Token::Not | Token::Is => Some(3),
        Token::Pipe => Some(4),
        Token::Caret => Some(5),
        Token::Ampersand => Some(6),
        Token::LeftShift | Token::RightShift => Some(7),
        Token::Plus | Token::Minus => Some(8),
        Token::Star | Token::Slash | Token::DoubleSlash | Token::Percent | Token::At => Some(9),
        _ => None,
    }
}
