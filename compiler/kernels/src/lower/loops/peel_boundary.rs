//! Tiles of windows that do not reach into the margin around what they go over.
//!
//! A window loads nothing in a margin, which each load would have to ask. Most tiles lie inside: that is asked once, and
//! their loads have no conditions.

use super::{
    nest::{At, Nest},
    tile,
};
use crate::{
    index::{Poly, Simplifier},
    stage::{
        Stage,
        access::{guarded, in_margin},
        conjuncts,
    },
};
use hammock_ir::{
    PrimExpr,
    prim::{BinaryOp, PrimKind},
    tir::{Stmt, StmtKind},
};

/// The tile of a nest, once as it is where it is inside, and once for where it may not be.
pub fn tile(nest: &Nest, at: &At) -> Stmt {
    let anywhere = || tile::tile(nest, at);
    if !has_margin(nest.stage) {
        return anywhere();
    }
    let mut margins = Margins { stage: nest.stage, at, inside: Vec::new() };
    let stage = Stage { value: margins.without(&nest.stage.value), ..nest.stage.clone() };
    let plain = tile::tile(&Nest { stage: &stage, ..*nest }, at);
    match margins.inside.into_iter().reduce(PrimExpr::and) {
        Some(inside) => Stmt::new(StmtKind::If(inside, Box::new(plain), Some(Box::new(anywhere())))),
        None => plain,
    }
}

/// What is done at one of `count` steps along an axis. A margin may begin and end in the first and in the last of them: these
/// are written for themselves, so that code knows what lies in it.
pub fn at_edges(index: &PrimExpr, count: &PrimExpr, inside: &dyn Fn(PrimExpr) -> Stmt) -> Stmt {
    let last = count.as_int().map(|count| count - 1);
    if index.as_int().is_some() || last == Some(0) {
        return inside(PrimExpr::int64(index.as_int().unwrap_or(0)));
    }
    [Some(0), last].into_iter().flatten().fold(inside(index.clone()), |others, edge| {
        let edge = PrimExpr::int64(edge);
        let at_edge = index.clone().eq(edge.clone());
        Stmt::new(StmtKind::If(at_edge, Box::new(inside(edge)), Some(Box::new(others))))
    })
}

/// Returns true if a stage goes over data with a margin.
fn has_margin(stage: &Stage) -> bool {
    stage.reduces() && stage.value.any(&mut |e| in_margin(e))
}

/// Returns true if the margins of what a stage goes over lie along an axis.
pub fn are_along(stage: &Stage, axis: usize) -> bool {
    let var = &stage.axes[axis].var;
    let asks = |e: &PrimExpr| guarded(e).is_some_and(|(condition, ..)| in_margin(e) && condition.uses(var));
    stage.reduces() && stage.value.any(&mut |e| asks(e))
}

struct Margins<'a> {
    stage: &'a Stage,
    at: &'a At,
    /// What holds where all of a tile is inside.
    inside: Vec<PrimExpr>,
}

impl Margins<'_> {
    /// A value that only asks what never is true of all of the tile.
    fn without(&mut self, value: &PrimExpr) -> PrimExpr {
        let Some((condition, load, other)) = guarded(value).filter(|_| in_margin(value)) else {
            return value.map_children(&mut |child| self.without(child));
        };
        let open = conjuncts(condition).into_iter().filter(|condition| !self.holds(condition));
        match open.reduce(PrimExpr::and) {
            Some(open) => open.if_then_else(load.clone(), other.clone()),
            None => load.clone(),
        }
    }

    /// Returns true if a condition is true of all of the tile where that is inside.
    fn holds(&mut self, condition: &PrimExpr) -> bool {
        let Some(least) = excess(condition).and_then(|excess| least(&excess, self.stage, self.at)) else {
            return false;
        };
        match least.as_constant() {
            Some(least) => least >= 0,
            None => {
                self.inside.push(least.to_expr().ge(PrimExpr::int64(0)));
                true
            }
        }
    }
}

/// By how much a comparison of integers holds: it does where this is no less than zero.
fn excess(condition: &PrimExpr) -> Option<Poly> {
    let PrimKind::Binary(op, a, b) = condition.kind() else { return None };
    let simplifier = Simplifier::default();
    let difference = |a: &PrimExpr, b: &PrimExpr| a.dtype().is_int().then(|| &simplifier.poly(a) - &simplifier.poly(b));
    let one = Poly::constant(1);
    match op {
        BinaryOp::Lt => Some(&difference(b, a)? - &one),
        BinaryOp::Le => difference(b, a),
        BinaryOp::Gt => Some(&difference(a, b)? - &one),
        BinaryOp::Ge => difference(a, b),
        _ => None,
    }
}

/// The least value of a number in a tile, if it changes evenly along the axes.
fn least(number: &Poly, stage: &Stage, at: &At) -> Option<Poly> {
    let simplifier = Simplifier::default();
    stage.axes.iter().zip(&at.position).zip(&at.left).try_fold(number.clone(), |number, ((axis, first), left)| {
        let factor = number.coefficient(&axis.var)?.as_constant()?;
        let rest = &number - &Poly::atom(axis.var.expr()).scale(factor);
        let first = simplifier.poly(first);
        let last = &(&first + &simplifier.poly(left)) - &Poly::constant(1);
        Some(&rest + &(if factor < 0 { last } else { first }).scale(factor))
    })
}
