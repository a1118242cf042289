//! Chains of operands and operators, as the grammar reads them.

use crate::ast::{BinaryOp, BoolOp, CompareOp, Expr, UnaryOp};

/// A member of a chain of operators.
pub(super) enum Piece {
    Operand(Expr),
    /// A prefix operator, with its start.
    Prefix(UnaryOp, u32),
    /// An infix operator.
    Infix(Infix),
}

/// An infix operator.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Infix {
    Binary(BinaryOp),
    Compare(CompareOp),
    Bool(BoolOp),
}

impl Piece {
    /// Start of an operand or prefix; 0 for an infix operator.
    pub(super) fn start(&self) -> u32 {
        match self {
            Piece::Operand(expr) => expr.span.start,
            Piece::Prefix(_, start) => *start,
            Piece::Infix(_) => 0,
        }
    }

    /// End of an operand; 0 for an operator.
    pub(super) fn end(&self) -> u32 {
        if let Piece::Operand(expr) = self { expr.span.end } else { 0 }
    }
}
