//! The loops of one stage, from the outside to its tile.
//!
//! Each loop is followed by what is left of its axis when its step does not divide it, as a nest of its own. In the tile
//! every axis has a constant number of values.

use super::{
    collapse_parallel::{self, Counted},
    hoist_reciprocal::{self, Quotient},
    pack_operands, peel_boundary,
    signed_dot_fixup::Moved,
    tail_mask,
};
use crate::{
    index::same_expr,
    plan::{Loop, LoopKind, StagePlan},
    rules::{Choice, MAX_LANES, register_lanes},
    stage::{
        Stage,
        access::parts,
        dots::{self, Dot},
        steps,
    },
};
use hammock_ir::{
    Name, PrimExpr,
    prim::Var,
    tir::{Stmt, StmtKind},
};

/// The loops of a stage.
pub fn loops(stage: &Stage, plan: &StagePlan, choice: Choice) -> Stmt {
    let position = vec![PrimExpr::int64(0); stage.axes.len()];
    let left = stage.axes.iter().map(|axis| axis.extent.clone()).collect();
    let quotient = Quotient::of(stage, plan);
    let fills = plan.fills_vectors(stage, choice.target);
    let dot = plan.dot().and_then(|l| Some((l.axis, dots::dot(stage)?)));
    let parts: Vec<PrimExpr> = parts(stage).into_iter().cloned().collect();
    let copied = |load: &PrimExpr| plan.staged.iter().any(|staged| same_expr(&parts[staged.load], load));
    let of_words = dot.map(|(axis, dot)| stage.with_words(axis, dot, &copied));
    let stage = of_words.as_ref().unwrap_or(stage);
    let (tile, quotient) = (plan.tile(stage), quotient.as_ref());
    let nest = Nest { stage, parts: &parts, plan, choice, tile, quotient, dot, moved: None, fills };
    nest.level(0, &At { position, left, there: None, terms: Terms::all() })
}

/// The nest of a stage.
pub struct Nest<'a> {
    /// The stage.
    pub stage: &'a Stage,
    /// Its parts, as it has them where copies have been made of some.
    pub parts: &'a [PrimExpr],
    /// Its loops.
    pub plan: &'a StagePlan,
    /// The machine, and whether sums keep the order that is written.
    pub choice: Choice<'a>,
    /// The number of the tile's first loop.
    pub tile: usize,
    /// The divisor that is inverted inside some of them.
    pub quotient: Option<&'a Quotient>,
    /// What is added to sums at once: dot products of words along an axis.
    pub dot: Option<(usize, Dot)>,
    /// A factor of theirs that is moved.
    pub moved: Option<Moved>,
    /// True if vectors are whole at the end of their axis, too: beyond it are zeros.
    pub fills: bool,
}

/// Which part of the stage's domain is computed inside some loops: from a position on, so many values of each axis.
#[derive(Clone)]
pub struct At {
    /// The first value of each axis.
    pub position: Vec<PrimExpr>,
    /// The number of values of each axis.
    pub left: Vec<PrimExpr>,
    /// An axis whose values fill only the first lanes of its vectors, and how many there are.
    pub there: Option<(usize, PrimExpr)>,
    /// Which of a sum's terms.
    pub terms: Terms,
}

/// Which part of the terms of a reduction is combined, where loops over results are inside of one over terms.
#[derive(Clone)]
pub struct Terms {
    /// Whether others have been before: what they make is where the result will be.
    pub begun: PrimExpr,
    /// Whether none follow.
    pub ended: PrimExpr,
}

impl Terms {
    fn all() -> Terms {
        Terms { begun: PrimExpr::bool(false), ended: PrimExpr::bool(true) }
    }

    /// So many terms from `start` on, of `all`.
    fn part(start: &PrimExpr, count: &PrimExpr, all: &PrimExpr) -> Terms {
        let zero = PrimExpr::int64(0);
        match (start.as_int(), count.as_int(), all.as_int()) {
            (Some(start), Some(count), Some(all)) => {
                Terms { begun: PrimExpr::bool(start > 0), ended: PrimExpr::bool(start + count >= all) }
            }
            _ => Terms { begun: zero.lt(start.clone()), ended: all.clone().le(start + count) },
        }
    }
}

impl At {
    /// The part from `start` on, of `count` values of an axis.
    pub fn part(&self, axis: usize, start: PrimExpr, count: PrimExpr) -> At {
        let mut part = self.clone();
        part.position[axis] = moved(&self.position[axis], start);
        part.left[axis] = count;
        part
    }

    /// How many values of an axis there are.
    pub fn count(&self, axis: usize) -> &PrimExpr {
        let there = self.there.as_ref().filter(|(of, _)| *of == axis);
        there.map_or(&self.left[axis], |(_, count)| count)
    }

    /// The same of an axis whose values are terms.
    fn terms(&self, axis: usize, start: PrimExpr, count: PrimExpr) -> At {
        let terms = Terms::part(&start, &count, &self.left[axis]);
        At { terms, ..self.part(axis, start, count) }
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
            return hoist_reciprocal::loops(self, quotient, at);
        }
        if self.plan.staged.iter().any(|staged| staged.inside == number) {
            let pack_operands::Copied { mut stmts, stage, parts, moved } = pack_operands::staged(self, number, at);
            let zeros = vec![PrimExpr::int64(0); at.position.len()];
            let inner = Nest { stage: &stage, parts: &parts, moved: moved.or(self.moved), ..*self };
            stmts.push(inner.loops_from(number, &At { position: zeros, ..at.clone() }));
            return Stmt::new(StmtKind::Seq(stmts));
        }
        self.loops_from(number, at)
    }

    /// The same after copies.
    fn loops_from(&self, number: usize, at: &At) -> Stmt {
        if number == self.tile {
            return peel_boundary::tile(self, at);
        }
        if let Some((last, grain)) = self.spread(number) {
            let counted = |number: usize| Counted { name: self.name(number).clone(), count: self.count(number, at) };
            let loops: Vec<Counted> = (number..=last).map(counted).collect();
            return collapse_parallel::region(&loops, grain, |indices| self.iteration(number, at, indices));
        }
        let inside = |at: &At| self.level(number + 1, at);
        let whole = self.iterations(number, at, PrimExpr::int64(0), self.whole(number, at), self.step(number), &inside);
        Stmt::seq([whole].into_iter().chain(self.rest(number, at, &inside)))
    }

    /// The last of the loops that are spread over threads together with this one: a parallel one, if no copy is made and no
    /// divisor inverted between them.
    fn spread(&self, number: usize) -> Option<(usize, i64)> {
        let grain = |l: &Loop| match l.kind {
            LoopKind::Parallel(grain) => Some(grain),
            _ => None,
        };
        let loops = &self.plan.loops[..self.tile];
        let (last, grain) = (number..self.tile).find_map(|n| Some((n, grain(&loops[n])?)))?;
        let inverted = self.quotient.map(|quotient| quotient.inside);
        let mut between = self.plan.staged.iter().map(|staged| staged.inside).chain(inverted);
        let again = |n: usize| loops[number..n].iter().any(|l| l.axis == loops[n].axis);
        let reduces = |n: usize| self.stage.axes[loops[n].axis].reduce;
        let apart =
            between.any(|inside| number < inside && inside <= last) || (number..=last).any(|n| again(n) || reduces(n));
        (!apart).then_some((last, grain))
    }

    /// What one iteration of the loops from this number on does that are spread over threads together.
    fn iteration(&self, number: usize, at: &At, indices: &[PrimExpr]) -> Stmt {
        let [index, indices @ ..] = indices else { return self.level(number, at) };
        let (axis, step, whole) = (self.plan.loops[number].axis, self.step(number), self.whole(number, at));
        let inside = |at: &At| self.iteration(number + 1, at, indices);
        let part = |index| inside(&self.part(at, axis, scaled(index, step), PrimExpr::int64(step)));
        let full = |index: PrimExpr| self.at_edges(axis, step, &index, &whole, &part);
        let Some(rest) = self.rest(number, at, &inside) else { return full(index.clone()) };
        if whole.as_int() == Some(0) {
            return rest;
        }
        let full = full(index.clone());
        Stmt::new(StmtKind::If(index.clone().lt(whole), Box::new(full), Some(Box::new(rest))))
    }

    /// How many iterations a loop has, one for what is left included.
    fn count(&self, number: usize, at: &At) -> PrimExpr {
        steps(&at.left[self.plan.loops[number].axis], self.step(number))
    }

    /// How many iterations a loop has that are for all of its step.
    fn whole(&self, number: usize, at: &At) -> PrimExpr {
        whole(&at.left[self.plan.loops[number].axis], self.step(number))
    }

    /// What is left of a loop's axis after those, if anything may be.
    fn rest(&self, number: usize, at: &At, inside: &dyn Fn(&At) -> Stmt) -> Option<Stmt> {
        let Loop { axis, step, .. } = self.plan.loops[number];
        match at.left[axis].as_int() {
            Some(extent) => {
                let (start, left) = (extent / step * step, extent % step);
                (left > 0).then(|| inside(&self.part(at, axis, PrimExpr::int64(start), PrimExpr::int64(left))))
            }
            None if step == 1 => None,
            None => Some(self.symbolic_rest(number, at, inside)),
        }
    }

    /// The same for an axis of symbolic size.
    fn symbolic_rest(&self, number: usize, at: &At, inside: &dyn Fn(&At) -> Stmt) -> Stmt {
        let Loop { axis, step, .. } = self.plan.loops[number];
        let extent = &at.left[axis];
        let end = |step: i64| extent.clone().floordiv(PrimExpr::int64(step)) * PrimExpr::int64(step);
        let mut start = end(step);
        if self.plan.loops[number + 1..self.tile].iter().any(|l| l.axis == axis) {
            return inside(&self.part(at, axis, start.clone(), extent - &start));
        }
        // The tile takes constant sizes only: vectors of fewer and fewer registers follow those of several.
        let is_vector = self.plan.vector().is_some_and(|l| l.axis == axis);
        let masks = is_vector && step > 1 && tail_mask::takes_masks(self);
        if masks {
            let lanes = PrimExpr::int64((step as u64).next_power_of_two() as i64);
            let there = Some((axis, extent - &start));
            let rest = inside(&At { there, ..self.part(at, axis, start.clone(), lanes) });
            return Stmt::new(StmtKind::If(start.lt(extent.clone()), Box::new(rest), None));
        }
        let smaller = smaller_steps(step).filter(|_| is_vector);
        let mut parts = Vec::new();
        for step in smaller.chain([1]) {
            let count = (extent - &start).floordiv(PrimExpr::int64(step));
            parts.push(self.iterations(number, at, start, count, step, inside));
            start = end(step);
        }
        Stmt::seq(parts)
    }

    /// The loops inside for `step` values from `start + i * step` on.
    fn iterations(
        &self,
        number: usize,
        at: &At,
        start: PrimExpr,
        count: PrimExpr,
        step: i64,
        inside: &dyn Fn(&At) -> Stmt,
    ) -> Stmt {
        if count.as_int() == Some(0) {
            return Stmt::nop();
        }
        let axis = self.plan.loops[number].axis;
        let part = |index| inside(&self.part(at, axis, moved(&start, scaled(index, step)), PrimExpr::int64(step)));
        let var = Var::int64(self.name(number).clone());
        let body = self.at_edges(axis, step, &var.expr(), &count, &part);
        Stmt::serial(var, count, body)
    }

    /// What is done at one of `count` steps along an axis, apart for edges of which code had better know that it is there.
    fn at_edges(
        &self,
        axis: usize,
        step: i64,
        index: &PrimExpr,
        count: &PrimExpr,
        inside: &dyn Fn(PrimExpr) -> Stmt,
    ) -> Stmt {
        match peel_boundary::are_along(self.stage, axis) && step > 1 {
            true => peel_boundary::at_edges(index, count, inside),
            false => inside(index.clone()),
        }
    }

    /// The part of a domain from `start` on, of `count` values of an axis.
    fn part(&self, at: &At, axis: usize, start: PrimExpr, count: PrimExpr) -> At {
        if self.stage.axes[axis].reduce { at.terms(axis, start, count) } else { at.part(axis, start, count) }
    }

    fn name(&self, number: usize) -> &Name {
        self.stage.axes[self.plan.loops[number].axis].var.name()
    }

    fn step(&self, number: usize) -> i64 {
        self.plan.loops[number].step
    }

    /// How many lanes the vectors have that cover so many values.
    pub fn pieces(&self, values: i64) -> Vec<i64> {
        pieces(values, register_lanes(self.stage, self.choice.target))
    }
}

/// How many whole steps there are in so many values.
pub fn whole(count: &PrimExpr, step: i64) -> PrimExpr {
    match count.as_int() {
        Some(count) => PrimExpr::int64(count / step),
        None if step == 1 => count.clone(),
        None => count.clone().floordiv(PrimExpr::int64(step)),
    }
}

/// `for i in range(count)`: what is done at `start + i * step`.
pub fn repeated(
    name: &Name,
    start: &PrimExpr,
    count: PrimExpr,
    step: i64,
    body: impl FnOnce(PrimExpr) -> Stmt,
) -> Stmt {
    let var = Var::int64(name.clone());
    let body = body(moved(start, scaled(var.expr(), step)));
    Stmt::serial(var, count, body)
}

/// The distance of so many steps.
pub fn scaled(count: PrimExpr, step: i64) -> PrimExpr {
    match count.as_int() {
        Some(count) => PrimExpr::int64(count * step),
        None if step == 1 => count,
        None => count * PrimExpr::int64(step),
    }
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
