//! The loops of one stage, from the outside to its tile.
//!
//! Each loop is followed by what is left of its axis when its step does not divide it, as a nest of its own. In the tile
//! every axis has a constant number of values.

use super::{
    quotients::{self, Quotient},
    staging, tile,
};
use crate::{
    Target,
    plan::{Loop, LoopKind, StagePlan},
    rules::{MAX_LANES, register_lanes},
    stage::Stage,
};
use hammock_ir::{
    Name, PrimExpr,
    prim::Var,
    tir::{ForKind, Stmt, StmtKind},
};

/// The loops of a stage.
pub fn loops(stage: &Stage, plan: &StagePlan, target: &Target) -> Stmt {
    let position = vec![PrimExpr::int64(0); stage.axes.len()];
    let left = stage.axes.iter().map(|axis| axis.extent.clone()).collect();
    let quotient = Quotient::of(stage, plan);
    let nest = Nest { stage, plan, target, tile: plan.tile(stage), quotient: quotient.as_ref() };
    nest.level(0, &At { position, left })
}

/// The nest of a stage.
pub struct Nest<'a> {
    /// The stage.
    pub stage: &'a Stage,
    /// Its loops.
    pub plan: &'a StagePlan,
    /// The machine.
    pub target: &'a Target,
    /// The number of the tile's first loop.
    pub tile: usize,
    /// The divisor that is inverted inside some of them.
    pub quotient: Option<&'a Quotient>,
}

/// Which part of the stage's domain is computed inside some loops: from a position on, so many values of each axis.
#[derive(Clone)]
pub struct At {
    /// The first value of each axis.
    pub position: Vec<PrimExpr>,
    /// The number of values of each axis.
    pub left: Vec<PrimExpr>,
}

impl At {
    /// The part from `start` on, of `count` values of an axis.
    fn part(&self, axis: usize, start: PrimExpr, count: PrimExpr) -> At {
        let mut part = self.clone();
        part.position[axis] = moved(&self.position[axis], start);
        part.left[axis] = count;
        part
    }
}

/// A position moved by an offset.
pub fn moved(position: &PrimExpr, by: PrimExpr) -> PrimExpr {
    match (position.as_int(), by.as_int()) {
        (Some(0), _) => by,
        (_, Some(0)) => position.clone(),
        (Some(a), Some(b)) => PrimExpr::int64(a + b),
        _ => position + by,
    }
}

impl Nest<'_> {
    /// The loops from this number on.
    pub fn level(&self, number: usize, at: &At) -> Stmt {
        if let Some(quotient) = self.quotient.filter(|quotient| quotient.inside == number) {
            return quotients::loops(self, quotient, at);
        }
        if self.plan.staged.iter().any(|staged| staged.inside == number) {
            let (mut stmts, stage) = staging::staged(self, number, at);
            let zeros = vec![PrimExpr::int64(0); at.position.len()];
            let inner = Nest { stage: &stage, ..*self };
            stmts.push(inner.loops_from(number, &At { position: zeros, left: at.left.clone() }));
            return Stmt::new(StmtKind::Seq(stmts));
        }
        self.loops_from(number, at)
    }

    /// The same after copies.
    fn loops_from(&self, number: usize, at: &At) -> Stmt {
        if number == self.tile {
            return tile::tile(self, at);
        }
        let Loop { axis, step, .. } = self.plan.loops[number];
        let zero = PrimExpr::int64(0);
        match at.left[axis].as_int() {
            Some(extent) => {
                let (whole, rest) = (extent / step, extent % step);
                let mut parts = Vec::new();
                if whole > 0 {
                    parts.push(self.iterations(number, at, zero, PrimExpr::int64(whole), step));
                }
                if rest > 0 {
                    let part = at.part(axis, PrimExpr::int64(whole * step), PrimExpr::int64(rest));
                    parts.push(self.level(number + 1, &part));
                }
                Stmt::seq(parts)
            }
            None if step == 1 => self.iterations(number, at, zero, at.left[axis].clone(), 1),
            None => self.symbolic(number, at),
        }
    }

    /// A loop over an axis of symbolic size, and what is left of it.
    fn symbolic(&self, number: usize, at: &At) -> Stmt {
        let Loop { axis, step, .. } = self.plan.loops[number];
        let extent = &at.left[axis];
        let blocks = |step: i64| extent.clone().floordiv(PrimExpr::int64(step));
        let mut parts = vec![self.iterations(number, at, PrimExpr::int64(0), blocks(step), step)];
        let mut start = blocks(step) * PrimExpr::int64(step);
        if self.plan.loops[number + 1..self.tile].iter().any(|l| l.axis == axis) {
            let part = at.part(axis, start.clone(), extent - &start);
            parts.push(self.level(number + 1, &part));
            return Stmt::seq(parts);
        }
        // The tile takes constant sizes only: vectors of fewer and fewer registers follow those of several.
        let is_vector = self.plan.vector().is_some_and(|l| l.axis == axis);
        let smaller = smaller_steps(step).filter(|_| is_vector);
        for step in smaller.chain([1]) {
            let count = (extent - &start).floordiv(PrimExpr::int64(step));
            parts.push(self.iterations(number, at, start, count, step));
            start = blocks(step) * PrimExpr::int64(step);
        }
        Stmt::seq(parts)
    }

    /// The loops inside for `step` values from `start + i * step` on.
    fn iterations(&self, number: usize, at: &At, start: PrimExpr, count: PrimExpr, step: i64) -> Stmt {
        let Loop { axis, kind, .. } = self.plan.loops[number];
        let grain = match kind {
            LoopKind::Parallel(grain) => Some(grain),
            _ => None,
        };
        repeated(self.stage.axes[axis].var.name(), &start, count, step, grain, |position| {
            self.level(number + 1, &at.part(axis, position, PrimExpr::int64(step)))
        })
    }

    /// How many lanes the vectors have that cover so many values.
    pub fn pieces(&self, values: i64) -> Vec<i64> {
        pieces(values, register_lanes(self.stage, self.target))
    }
}

/// `for i in range(count)`: what is done at `start + i * step`; with a grain, on several threads.
pub fn repeated(
    name: &Name,
    start: &PrimExpr,
    count: PrimExpr,
    step: i64,
    grain: Option<i64>,
    body: impl FnOnce(PrimExpr) -> Stmt,
) -> Stmt {
    let var = Var::int64(name.clone());
    let offset = if step == 1 { var.expr() } else { var.expr() * PrimExpr::int64(step) };
    let body = body(moved(start, offset));
    let Some(grain) = grain else { return Stmt::serial(var, count, body) };
    let mut stmt = Stmt::for_kind(var, count, ForKind::Parallel, body);
    if let StmtKind::For(l) = &mut stmt.kind {
        l.annotations.set("grain", grain);
    }
    stmt
}

/// The steps that follow one where an axis of symbolic size has fewer values left: quarters, down to about a register. Each
/// divides the one before: where that ends, this begins.
pub fn smaller_steps(step: i64) -> impl Iterator<Item = i64> {
    let quarter = |step: &i64| (step % 4 == 0).then_some(step / 4);
    std::iter::successors(quarter(&step), quarter).take_while(|step| *step >= 8)
}

/// The lengths of vectors that cover so many elements: powers of two as long as they fill registers, then what is left.
/// Vectors of other lengths over several registers would become code lane by lane.
fn pieces(mut elements: i64, register: i64) -> Vec<i64> {
    let mut lengths = Vec::new();
    while elements > 0 {
        let length = if elements > register { (1 << elements.ilog2()).min(MAX_LANES) } else { elements };
        lengths.push(length);
        elements -= length;
    }
    lengths
}

#[cfg(test)]
mod tests {
    use super::{pieces, smaller_steps};

    #[test]
    fn smaller_steps_divide_larger_ones() {
        let steps = |step| smaller_steps(step).collect::<Vec<_>>();
        assert_eq!([steps(64), steps(48), steps(50), steps(36)], [vec![16], vec![12], vec![], vec![9]]);
    }

    #[test]
    fn vectors_cover_what_is_left() {
        assert!(pieces(0, 16).is_empty());
        assert_eq!(pieces(7, 16), [7]);
        assert_eq!(pieces(16, 16), [16]);
        assert_eq!(pieces(40, 16), [32, 8]);
        assert_eq!(pieces(63, 16), [32, 16, 15]);
        assert_eq!(pieces(63, 4), [32, 16, 8, 4, 3]);
    }
}
