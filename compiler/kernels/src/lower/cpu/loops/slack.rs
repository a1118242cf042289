//! Slack of comparisons of integers over a tile: a comparison holds where its slack is not negative.

use super::nest::Domain;
use hammock_ir::{
    PrimExpr,
    prim::{BinaryOp, PrimKind, check},
};
use hammock_loopnest::{
    Stage,
    index::{Poly, Simplifier},
};

/// Range of the slack of a comparison over a tile.
pub struct Slack {
    minimum: Poly,
    maximum: Poly,
}

impl Slack {
    /// Returns the slack of a comparison; `None` if it is not affine in the axes of the stage.
    pub fn of(condition: &PrimExpr, stage: &Stage, at: &Domain) -> Option<Slack> {
        let slack = slack(condition)?;
        let maximum = minimum(&slack.scale(-1), stage, at)?.scale(-1);
        Some(Slack { minimum: minimum(&slack, stage, at)?, maximum })
    }

    /// Returns the condition that the comparison holds for all elements.
    pub fn always(&self) -> PrimExpr {
        at_least_0(&self.minimum)
    }

    /// Returns the condition that it holds for none.
    pub fn never(&self) -> PrimExpr {
        at_least_0(&(&self.maximum.scale(-1) - &Poly::constant(1)))
    }

    /// Returns true if it has the same slack for all elements.
    pub fn is_uniform(&self) -> bool {
        self.minimum == self.maximum
    }
}

/// Position along an axis at which a comparison changes.
pub struct Boundary {
    /// First position with the other result.
    pub position: PrimExpr,
    /// True if the comparison holds before it, and not after it.
    pub holds_below: bool,
}

/// Returns the boundary of a comparison along an axis; `None` if it depends on other axes, on memory, or on multiples of
/// the position.
pub fn boundary(condition: &PrimExpr, stage: &Stage, axis: usize) -> Option<Boundary> {
    let slack = slack(condition)?;
    let var = &stage.axes[axis].var;
    let factor = slack.coefficient(var)?.as_constant().filter(|factor| factor.abs() == 1)?;
    let rest = &slack - &Poly::atom(var.expr()).scale(factor);
    let position = if factor < 0 { &rest + &Poly::constant(1) } else { rest.scale(-1) }.to_expr();
    let is_plain = !position.has_loads() && check::count(&position) == 0;
    let is_invariant = is_plain && !stage.axes.iter().any(|axis| position.uses(&axis.var));
    is_invariant.then_some(Boundary { position, holds_below: factor < 0 })
}

fn at_least_0(number: &Poly) -> PrimExpr {
    match number.as_constant() {
        Some(number) => PrimExpr::bool(number >= 0),
        None => number.to_expr().ge(PrimExpr::int64(0)),
    }
}

/// Returns the slack of a comparison.
fn slack(condition: &PrimExpr) -> Option<Poly> {
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

/// Returns the minimum of an affine value over a tile.
fn minimum(number: &Poly, stage: &Stage, at: &Domain) -> Option<Poly> {
    let simplifier = Simplifier::default();
    stage.axes.iter().zip(&at.position).zip(&at.extents).try_fold(number.clone(), |number, ((axis, first), extent)| {
        let factor = number.coefficient(&axis.var)?.as_constant()?;
        let rest = &number - &Poly::atom(axis.var.expr()).scale(factor);
        let first = simplifier.poly(first);
        let last = &(&first + &simplifier.poly(extent)) - &Poly::constant(1);
        Some(&rest + &(if factor < 0 { last } else { first }).scale(factor))
    })
}
