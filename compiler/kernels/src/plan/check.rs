//! What must hold so that loops compute a stage: what [`lower::loops`](crate::lower) relies on, and what keeps code small.
//!
//! The plans that rules make have these properties by how they are made; here they are checked for plans that are read.

mod copies;
mod reductions;

use super::{Loop, LoopKind, StagePlan};
use crate::{
    index::same_expr,
    rules::{Choice, register_lanes},
    stage::{
        Stage,
        access::{
            combiner, combines_along, common_divisor, computes_in_lanes, is_contiguous, loads, parts, spacing,
            stores_along,
        },
        dots, replaced,
    },
};
use hammock_ir::{PrimExpr, count};

/// The most loops of a stage.
const LOOPS: usize = 32;
/// The most vectors or numbers that are computed side by side.
const SIDE_BY_SIDE: i64 = 256;
/// The most of them in all places where they are written: for whole blocks, and for what is left of each axis.
const WRITTEN: i64 = 8192;

/// What is wrong with a plan.
pub struct Violation {
    /// At which of its items.
    pub at: Item,
    /// What must hold and does not.
    pub message: String,
    /// What to do.
    pub help: String,
}

/// An item of a plan.
#[derive(Clone, Copy)]
pub enum Item {
    /// All of it.
    Plan,
    /// A loop.
    Loop(usize),
    /// A copy.
    Copy(usize),
    /// The inverted divisor.
    Inverts,
}

type Checked = Result<(), Violation>;

fn violation(at: Item, message: impl Into<String>, help: impl Into<String>) -> Checked {
    Err(Violation { at, message: message.into(), help: help.into() })
}

/// Checks the plan of a stage whose axes have these names. `inner`: whether loops around it may have threads already.
pub fn check(stage: &Stage, plan: &StagePlan, names: &[String], choice: Choice, inner: bool) -> Checked {
    let check = Check { stage, plan, names, choice, tile: plan.tile(stage) };
    if plan.loops.len() > LOOPS {
        return violation(Item::Plan, format!("a stage has at most {LOOPS} loops"), "leave some out");
    }
    (0..stage.axes.len()).try_for_each(|axis| check.axis(axis))?;
    (0..plan.loops.len()).try_for_each(|number| check.kind(number, inner))?;
    check.order()?;
    check.one_vector()?;
    (0..plan.loops.len()).try_for_each(|number| check.constant(number))?;
    (0..plan.staged.len()).try_for_each(|number| check.copy(number))?;
    check.divisor()?;
    check.size()
}

struct Check<'a> {
    stage: &'a Stage,
    plan: &'a StagePlan,
    names: &'a [String],
    choice: Choice<'a>,
    tile: usize,
}

impl Check<'_> {
    fn name(&self, number: usize) -> &str {
        &self.names[self.plan.loops[number].axis]
    }

    fn is_reduced(&self, l: &Loop) -> bool {
        self.stage.axes[l.axis].reduce
    }

    /// The numbers of the loops over an axis.
    fn over(&self, axis: usize) -> impl DoubleEndedIterator<Item = usize> + '_ {
        (0..self.plan.loops.len()).filter(move |number| self.plan.loops[*number].axis == axis)
    }

    /// The loops over an axis: their steps become smaller, down to 1.
    fn axis(&self, axis: usize) -> Checked {
        let name = &self.names[axis];
        let Some(last) = self.over(axis).next_back() else {
            let message = format!("no loop is over the axis `{name}`");
            return violation(Item::Plan, message, format!("add `{name}`, a loop over single values of it"));
        };
        if self.plan.loops[last].step != 1 {
            let message = format!("the last loop over `{name}` has step {}, not 1", self.plan.loops[last].step);
            return violation(Item::Loop(last), message, format!("add another loop over `{name}` inside of it"));
        }
        let numbers: Vec<usize> = self.over(axis).collect();
        let grown = numbers.windows(2).find(|pair| self.plan.loops[pair[0]].step < self.plan.loops[pair[1]].step);
        if let Some(&[_, inner]) = grown {
            let message = format!("this step is larger than that of a loop over `{name}` around it");
            return violation(Item::Loop(inner), message, "an inner loop divides what an outer one leaves");
        }
        if self.stage.axes[axis].reduce { self.reduced(axis, &numbers) } else { Ok(()) }
    }

    /// What a loop of a kind needs.
    fn kind(&self, number: usize, inner: bool) -> Checked {
        let l = &self.plan.loops[number];
        let name = self.name(number);
        match l.kind {
            LoopKind::Serial => Ok(()),
            LoopKind::Parallel(_) if inner => violation(
                Item::Loop(number),
                "the loops around this one may have threads already",
                "leave out `parallel`",
            ),
            LoopKind::Parallel(_) => match self.plan.loops[..number].iter().any(Loop::is_parallel) {
                true => {
                    violation(Item::Loop(number), "a loop around this one has threads already", "leave out `parallel`")
                }
                false => Ok(()),
            },
            LoopKind::Dot if !self.is_reduced(l) => {
                let message = format!("`{name}` is not summed up");
                violation(Item::Loop(number), message, "leave out `dot`")
            }
            LoopKind::Unrolled | LoopKind::Vector | LoopKind::Dot if l.step != 1 => {
                let message = "what is written out or in lanes is single values".to_owned();
                violation(
                    Item::Loop(number),
                    message,
                    format!("put `{name} by {}` before, and leave out the step here", l.step),
                )
            }
            LoopKind::Unrolled | LoopKind::Vector | LoopKind::Dot => {
                match self.over(l.axis).find(|other| *other > number) {
                    Some(other) => {
                        let message = format!("nothing is left of `{name}`: a loop around writes out all its values");
                        violation(Item::Loop(other), message, "leave this loop out")
                    }
                    None => Ok(()),
                }
            }
        }
    }

    /// The tile comes last, and the order of terms may matter.
    fn order(&self) -> Checked {
        let outer = &self.plan.loops[..self.tile];
        let parts = |number: usize| self.over(outer[number].axis).any(|other| other >= self.tile);
        let in_tile = |number: &usize| match outer[*number].kind {
            LoopKind::Unrolled | LoopKind::Vector => true,
            _ => self.is_reduced(&outer[*number]) && !parts(*number),
        };
        if let Some(first) = (0..outer.len()).find(in_tile) {
            let last = self.tile - 1;
            let what = if self.is_reduced(&outer[first]) { "the sum" } else { "what is written out" };
            let message = format!("this loop over results is inside of {what} over `{}`", self.name(first));
            return violation(
                Item::Loop(last),
                message,
                "loops over terms, `unrolled` and `vector` loops come last: results in registers need no loop inside",
            );
        }
        let reduced =
            |l: &&(usize, &Loop)| self.is_reduced(l.1) && !matches!(l.1.kind, LoopKind::Vector | LoopKind::Dot);
        let terms: Vec<(usize, &Loop)> = self.plan.loops.iter().enumerate().collect();
        let terms: Vec<(usize, &Loop)> = terms.iter().filter(reduced).copied().collect();
        let searches = self.stage.place.is_some();
        let any_order = combiner(self.stage).is_some() && !searches && !self.choice.strict_order;
        let swapped = terms.windows(2).find(|pair| pair[0].1.axis > pair[1].1.axis);
        match swapped {
            Some(pair) if !any_order => {
                let (first, second) = (self.name(pair[1].0), self.name(pair[0].0));
                let message = "terms would be combined in another order than is written".to_owned();
                let help = match self.choice.strict_order {
                    true => format!("leave out --strict-order, or put `{first}` before `{second}`"),
                    false => format!("put `{first}` before `{second}`"),
                };
                violation(Item::Loop(pair[1].0), message, help)
            }
            _ => Ok(()),
        }
    }

    /// At most one axis is lanes, and its neighbours are neighbours in memory.
    fn one_vector(&self) -> Checked {
        let mut vectors = (0..self.plan.loops.len()).filter(|n| self.plan.loops[*n].kind == LoopKind::Vector);
        let Some(number) = vectors.next() else { return Ok(()) };
        if let Some(second) = vectors.next() {
            let message = format!("`{}` is lanes of vectors already", self.name(number));
            return violation(Item::Loop(second), message, "write `unrolled` at one of the two");
        }
        let name = self.name(number);
        let axis = &self.stage.axes[self.plan.loops[number].axis];
        let help = "lanes need neighbours in memory; a copy can make them: `copy of BUFFER as [AXES] (…)`";
        if axis.reduce {
            return match () {
                () if self.choice.strict_order => {
                    let message = "lanes of terms are combined in another order than is written".to_owned();
                    violation(Item::Loop(number), message, "leave out --strict-order, or `vector`")
                }
                () if !combines_along(self.stage, &axis.var) => {
                    let message =
                        format!("terms are not side by side in memory along `{name}`, or not combined in any order");
                    violation(Item::Loop(number), message, "leave out `vector`")
                }
                () => Ok(()),
            };
        }
        if !stores_along(self.stage, axis) {
            let message = format!("results are not side by side in memory along `{name}`");
            return violation(
                Item::Loop(number),
                message,
                "lanes need neighbours in memory: choose the axis of the last index",
            );
        }
        if !self.stage.values().all(computes_in_lanes) {
            let message = format!("what is computed along `{name}` has no form in lanes: it calls a function");
            return violation(Item::Loop(number), message, "leave out `vector`");
        }
        let left = self.uncopied();
        let dot = self.plan.dot().and_then(|l| Some((l.axis, dots::dot(self.stage)?)));
        let in_words = |load: &PrimExpr| {
            let words = dot.and_then(|(terms, dot)| self.stage.packed_words(load, terms, dot));
            words.is_some_and(|words| is_contiguous(&words, &axis.var))
        };
        let is_left = |load: &PrimExpr| !in_words(load) && left.any(&mut |e| same_expr(e, load));
        let is_near = |load: &PrimExpr| {
            is_contiguous(load, &axis.var) || spacing(load, &axis.var).is_some() || self.plan.crosses(self.stage, load)
        };
        let mut loads = loads(self.stage).into_iter().enumerate();
        match loads.find(|(_, e)| !is_near(e) && is_left(e)) {
            Some((load, _)) => {
                let buffer = &super::names::loads(self.stage)[load];
                let message = format!("`{buffer}` is not read side by side along `{name}`");
                violation(Item::Loop(number), message, help)
            }
            None => Ok(()),
        }
    }

    /// The stage's value with numbers in the place of what is copied.
    fn uncopied(&self) -> PrimExpr {
        let parts = parts(self.stage);
        self.plan.staged.iter().fold(self.stage.value.clone(), |value, staged| {
            let part = parts[staged.load];
            replaced(&value, part, &PrimExpr::constant(0.0, part.dtype()))
        })
    }

    /// What is written out has a number of values that is known.
    fn constant(&self, number: usize) -> Checked {
        let l = &self.plan.loops[number];
        let known = self.stage.axes[l.axis].extent.as_int().is_some()
            || self.plan.loops[..self.tile].iter().any(|outer| outer.axis == l.axis);
        let lanes_of_terms = self.is_reduced(l) && matches!(l.kind, LoopKind::Vector | LoopKind::Dot);
        if l.kind == LoopKind::Serial || l.is_parallel() || lanes_of_terms || known {
            return Ok(());
        }
        let name = self.name(number);
        let message = format!("how many values `{name}` has is not known here");
        let help = match self.is_reduced(l) {
            true => "leave out `unrolled`".to_owned(),
            false => format!("add `{name} by N` among the outer loops"),
        };
        violation(Item::Loop(number), message, help)
    }

    fn divisor(&self) -> Checked {
        if !self.plan.inverts {
            return Ok(());
        }
        if self.choice.strict_order {
            let message = "products with an inverse round in another way than quotients";
            return violation(Item::Inverts, message, "leave out --strict-order, or `divisor inverted`");
        }
        if !self.plan.staged.is_empty() {
            let message = "a stage with copies divides as is written";
            return violation(Item::Inverts, message, "leave out the copies, or `divisor inverted`");
        }
        let vector = self.plan.vector().map(|l| l.axis);
        let divisor = vector.and_then(|axis| common_divisor(self.stage, axis));
        if divisor.and_then(|divisor| self.plan.known(self.stage, divisor)).is_some() {
            return Ok(());
        }
        let message = "no divisor stays the same along the axis of the vectors, in a loop over several of them";
        violation(Item::Inverts, message, "leave out `divisor inverted`")
    }

    /// How many values of an axis the tile has at most.
    fn in_tile(&self, axis: usize) -> i64 {
        let extent = self.stage.axes[axis].extent.as_int();
        let range = self.plan.range(axis, self.tile);
        extent.into_iter().chain(range).min().unwrap_or(1).max(1)
    }

    /// The code stays small.
    fn size(&self) -> Checked {
        let register = register_lanes(self.stage, self.choice.target);
        let vectors = |values: i64| (values + register - 1) / register;
        let own = |l: &Loop| match l.kind {
            LoopKind::Unrolled if self.is_reduced(l) => 1,
            LoopKind::Unrolled => self.in_tile(l.axis),
            LoopKind::Vector if self.is_reduced(l) => (self.plan.at_once(l.axis) / register).max(1),
            LoopKind::Vector => vectors(self.in_tile(l.axis)),
            _ => 1,
        };
        let side_by_side = self.plan.loops.iter().map(own).fold(1, i64::saturating_mul);
        if side_by_side > SIDE_BY_SIDE {
            let message =
                format!("{side_by_side} vectors or numbers are computed side by side, more than {SIDE_BY_SIDE}");
            return violation(Item::Plan, message, "choose smaller steps before `unrolled` and `vector`");
        }
        let places = (0..self.plan.loops.len()).map(|number| self.places(number));
        let written = places.fold(side_by_side, i64::saturating_mul);
        if written > WRITTEN {
            let loops = count(self.plan.loops.len(), "loop");
            let message = format!("what these {loops} write out would be too much code");
            return violation(Item::Plan, message, "choose fewer steps, or such that divide the sizes");
        }
        Ok(())
    }

    /// In how many places stands what is inside of a loop.
    fn places(&self, number: usize) -> i64 {
        let Loop { axis, step, kind } = self.plan.loops[number];
        if kind == LoopKind::Unrolled && self.stage.axes[axis].reduce {
            return self.in_tile(axis);
        }
        let before = self.plan.range(axis, number);
        let size = self.stage.axes[axis].extent.as_int().map(|extent| before.map_or(extent, |range| range.min(extent)));
        match size.or(before) {
            _ if step == 1 => 1,
            Some(size) if size % step == 0 => 1,
            Some(_) => 2,
            None => 4,
        }
    }
}
