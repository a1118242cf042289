//! Operator precedence. The grammar reads each chain of operands and operators as a flat list, which becomes a tree
//! here by precedence climbing.

use std::iter::Peekable;
use std::vec::Drain;

use super::builder::Builder;
use super::chain::{Infix, Piece};
use crate::ast::{Binary, BinaryOp, BoolOp, Compare, CompareOp, Expr, ExprKind, MAX_EXPR_DEPTH, UnaryOp};
use hammock_diagnostics::Span;

const OR: u8 = 1;
const AND: u8 = 2;
const NOT: u8 = 3;
const COMPARISON: u8 = 4;
const UNARY: u8 = 11;
const POWER: u8 = 12;

impl Infix {
    fn precedence(self) -> u8 {
        match self {
            Infix::Bool(BoolOp::Or) => OR,
            Infix::Bool(BoolOp::And) => AND,
            Infix::Compare(_) => COMPARISON,
            Infix::Binary(op) => match op {
                BinaryOp::Or => 5,
                BinaryOp::Xor => 6,
                BinaryOp::And => 7,
                BinaryOp::Shl | BinaryOp::Shr => 8,
                BinaryOp::Add | BinaryOp::Sub => 9,
                BinaryOp::Mul | BinaryOp::Div | BinaryOp::FloorDiv | BinaryOp::Mod | BinaryOp::MatMul => 10,
                BinaryOp::Pow => POWER,
            },
        }
    }
}

impl Builder<'_> {
    /// Starts a chain. Chains are short-lived and many, so their memory is recycled.
    pub(super) fn chain<const N: usize>(&mut self, pieces: [Piece; N]) -> Vec<Piece> {
        let mut chain = self.spare_chains.pop().unwrap_or_default();
        chain.extend(pieces);
        chain
    }

    /// The tree of a chain. It starts with an operand or a prefix, ends with an operand, and alternates as in the
    /// grammar.
    pub(super) fn operation(&mut self, mut chain: Vec<Piece>) -> Expr {
        let (start, end) = (chain.first().map_or(0, Piece::start), chain.last().map_or(0, Piece::end));
        let tree = Climb { pieces: chain.drain(..).peekable(), builder: self }.chain(OR, 0);
        self.spare_chains.push(chain);
        tree.unwrap_or_else(|TooDeep| self.reject(Span::new(start, end)))
    }
}

/// Prefixes or powers are nested too deeply.
struct TooDeep;

struct Climb<'a, 'src> {
    pieces: Peekable<Drain<'a, Piece>>,
    builder: &'a mut Builder<'src>,
}

impl Climb<'_, '_> {
    /// Reads operators that bind at least as tightly as `lowest`.
    fn chain(&mut self, lowest: u8, depth: u16) -> Result<Expr, TooDeep> {
        let mut left = self.prefixed(depth)?;
        while let Some(op) = self.infix(|op| op.precedence() >= lowest) {
            left = match op {
                Infix::Binary(BinaryOp::Pow) => {
                    let exponent = self.chain(UNARY, depth + 1)?;
                    self.binary(left, vec![(BinaryOp::Pow, exponent)])
                }
                Infix::Binary(op) => self.binary_chain(left, op, depth)?,
                Infix::Compare(op) => self.comparison(left, op, depth)?,
                Infix::Bool(op) => self.bool_chain(left, op, depth)?,
            };
        }
        Ok(left)
    }

    fn prefixed(&mut self, depth: u16) -> Result<Expr, TooDeep> {
        if depth > MAX_EXPR_DEPTH {
            return Err(TooDeep);
        }
        match self.pieces.next() {
            Some(Piece::Operand(expr)) => Ok(expr),
            Some(Piece::Prefix(op, start)) => {
                let operand = self.chain(if op == UnaryOp::Not { NOT } else { UNARY }, depth + 1)?;
                let end = operand.span.end;
                Ok(self.builder.expr(ExprKind::Unary(op, Box::new(operand)), start, end))
            }
            _ => unreachable!("the grammar puts operands between operators"),
        }
    }

    fn binary_chain(&mut self, first: Expr, op: BinaryOp, depth: u16) -> Result<Expr, TooDeep> {
        let precedence = Infix::Binary(op).precedence();
        let mut rest = vec![(op, self.chain(precedence + 1, depth + 1)?)];
        while let Some(Infix::Binary(op)) = self.infix(|op| op.precedence() == precedence) {
            rest.push((op, self.chain(precedence + 1, depth + 1)?));
        }
        Ok(self.binary(first, rest))
    }

    fn comparison(&mut self, first: Expr, op: CompareOp, depth: u16) -> Result<Expr, TooDeep> {
        let mut rest = vec![self.compared(op, depth)?];
        while let Some(Infix::Compare(op)) = self.infix(|op| op.precedence() == COMPARISON) {
            rest.push(self.compared(op, depth)?);
        }
        let (start, end) = (first.span.start, rest[rest.len() - 1].1.span.end);
        Ok(self.builder.expr(ExprKind::Compare(Box::new(Compare { first, rest })), start, end))
    }

    /// An operand of a comparison. The grammar reads `is not` as `is` and a prefix.
    fn compared(&mut self, op: CompareOp, depth: u16) -> Result<(CompareOp, Expr), TooDeep> {
        let negated = |piece: &Piece| matches!(piece, Piece::Prefix(UnaryOp::Not, _));
        let is_not = op == CompareOp::Is && self.pieces.next_if(negated).is_some();
        Ok((if is_not { CompareOp::IsNot } else { op }, self.chain(COMPARISON + 1, depth + 1)?))
    }

    fn bool_chain(&mut self, first: Expr, op: BoolOp, depth: u16) -> Result<Expr, TooDeep> {
        let precedence = Infix::Bool(op).precedence();
        let start = first.span.start;
        let mut operands = vec![first, self.chain(precedence + 1, depth + 1)?];
        while self.infix(|op| op.precedence() == precedence).is_some() {
            operands.push(self.chain(precedence + 1, depth + 1)?);
        }
        let end = operands[operands.len() - 1].span.end;
        Ok(self.builder.expr(ExprKind::BoolChain(op, operands), start, end))
    }

    fn binary(&mut self, first: Expr, rest: Vec<(BinaryOp, Expr)>) -> Expr {
        let (start, end) = (first.span.start, rest[rest.len() - 1].1.span.end);
        self.builder.expr(ExprKind::Binary(Box::new(Binary { first, rest })), start, end)
    }

    /// The next operator, if it is a wanted one.
    fn infix(&mut self, wanted: impl Fn(Infix) -> bool) -> Option<Infix> {
        match self.pieces.next_if(|piece| matches!(piece, Piece::Infix(op) if wanted(*op))) {
            Some(Piece::Infix(op)) => Some(op),
            _ => None,
        }
    }
}
