//! Validity of plans: the conditions that [lowering](crate::lower) relies on, and limits of code size.
//!
//! Rules produce valid plans by construction; these checks are for plans that users write.

mod copies;
pub mod gpu;
mod reductions;

use super::{Loop, LoopKind, ScheduleContext, StagePlan, cpu::register_lanes};
use hammock_ir::{PrimExpr, count};
use hammock_loopnest::{
    Stage,
    access::{
        can_reduce_in_lanes, combiner, invariant_divisor, is_contiguous, is_vectorizable, load_stride, loads, parts,
        stores_along,
    },
    dots,
    index::same_expr,
    replaced,
};

/// Maximum loops of a stage.
const MAX_LOOPS: usize = 32;
/// Maximum vectors or scalars in the register tile.
const MAX_TILE_VECTORS: i64 = 256;
/// Maximum vectors or scalars in all unrolled copies: main bodies and tails.
const MAX_UNROLLED_VECTORS: i64 = 8192;

/// Violation of a condition.
pub struct Violation {
    /// The invalid item.
    pub at: Item,
    /// The violated condition.
    pub message: String,
    /// Suggested fix.
    pub help: String,
}

/// An item of a plan.
#[derive(Clone, Copy)]
pub enum Item {
    /// The plan as a whole.
    Plan,
    /// A loop.
    Loop(usize),
    /// A copy.
    Copy(usize),
    /// The hoisted reciprocal.
    Reciprocal,
}

type Checked = Result<(), Violation>;

fn violation(at: Item, message: impl Into<String>, help: impl Into<String>) -> Checked {
    Err(Violation { at, message: message.into(), help: help.into() })
}

/// Checks the plan of a stage whose axes have these names. `inner`: true if enclosing loops may be parallel.
pub fn check(stage: &Stage, plan: &StagePlan, names: &[String], ctx: ScheduleContext, inner: bool) -> Checked {
    if plan.loops.len() > MAX_LOOPS {
        return violation(Item::Plan, format!("a stage has at most {MAX_LOOPS} loops"), "leave some out");
    }
    if let Some(gpu) = ctx.gpu {
        return gpu::check(stage, plan, names, ctx, (gpu, inner));
    }
    let check = Check { stage, plan, names, ctx, tile: plan.tile(stage) };
    (0..stage.axes.len()).try_for_each(|axis| check.check_axis(axis))?;
    (0..plan.loops.len()).try_for_each(|number| check.check_kind(number, inner))?;
    check.check_order()?;
    check.check_vector()?;
    (0..plan.loops.len()).try_for_each(|number| check.check_extent(number))?;
    (0..plan.staged.len()).try_for_each(|number| check.check_copy(number))?;
    check.check_divisor()?;
    check.check_size()
}

struct Check<'a> {
    stage: &'a Stage,
    plan: &'a StagePlan,
    names: &'a [String],
    ctx: ScheduleContext<'a>,
    tile: usize,
}

impl Check<'_> {
    fn name(&self, number: usize) -> &str {
        &self.names[self.plan.loops[number].axis]
    }

    fn is_reduced(&self, l: &Loop) -> bool {
        self.stage.axes[l.axis].reduce
    }

    /// Returns the indices of the loops over an axis.
    fn over(&self, axis: usize) -> impl DoubleEndedIterator<Item = usize> + '_ {
        (0..self.plan.loops.len()).filter(move |number| self.plan.loops[*number].axis == axis)
    }

    /// Checks the loops over an axis: steps decrease to 1.
    fn check_axis(&self, axis: usize) -> Checked {
        let name = &self.names[axis];
        let Some(last) = self.over(axis).next_back() else {
            let message = format!("no loop over axis `{name}`");
            return violation(Item::Plan, message, format!("add `{name}`, a loop with step 1"));
        };
        if self.plan.loops[last].step != 1 {
            let message = format!("the last loop over `{name}` has step {}, not 1", self.plan.loops[last].step);
            return violation(Item::Loop(last), message, format!("add another loop over `{name}` inside of it"));
        }
        let numbers: Vec<usize> = self.over(axis).collect();
        let grown = numbers.windows(2).find(|pair| self.plan.loops[pair[0]].step < self.plan.loops[pair[1]].step);
        if let Some(&[_, inner]) = grown {
            let message = format!("this step is larger than that of an enclosing loop over `{name}`");
            return violation(Item::Loop(inner), message, "an inner loop divides a step of an outer one");
        }
        if self.stage.axes[axis].reduce { self.check_reduction(axis, &numbers) } else { Ok(()) }
    }

    /// Checks the requirements of a loop's kind.
    fn check_kind(&self, number: usize, inner: bool) -> Checked {
        let l = &self.plan.loops[number];
        let name = self.name(number);
        match l.kind {
            LoopKind::Serial => Ok(()),
            LoopKind::Parallel(_) if inner => {
                violation(Item::Loop(number), "an enclosing loop may be parallel already", "leave out `parallel`")
            }
            LoopKind::Parallel(_) => match self.plan.loops[..number].iter().any(Loop::is_parallel) {
                true => violation(Item::Loop(number), "an enclosing loop is parallel already", "leave out `parallel`"),
                false => Ok(()),
            },
            LoopKind::Prefetch => match self.plan.prefetch(self.stage) {
                Some(prefetch) if number < self.tile && prefetch.rows == (l.axis, l.step) && !self.is_reduced(l) => {
                    Ok(())
                }
                _ => {
                    let message = format!("there is nothing that tiles of `{name}` can prefetch");
                    let help = "one loop over rows that share an operand in packed layout can; leave out `prefetch`";
                    violation(Item::Loop(number), message, help)
                }
            },
            LoopKind::Grid(_) | LoopKind::Block | LoopKind::Thread | LoopKind::Warp | LoopKind::Mma => {
                let message = "loops of this kind are for GPUs".to_owned();
                violation(Item::Loop(number), message, "leave out `grid`, `block`, `thread`, `warp` and `mma`")
            }
            LoopKind::Dot if !self.is_reduced(l) => {
                let message = format!("`{name}` is not a reduction axis");
                violation(Item::Loop(number), message, "leave out `dot`")
            }
            LoopKind::Unrolled | LoopKind::Vector | LoopKind::Dot if l.step != 1 => {
                let message = "unrolled and vector loops have step 1".to_owned();
                violation(
                    Item::Loop(number),
                    message,
                    format!("put `{name} by {}` before, and leave out the step here", l.step),
                )
            }
            LoopKind::Unrolled | LoopKind::Vector | LoopKind::Dot => {
                match self.over(l.axis).find(|other| *other > number) {
                    Some(other) => {
                        let message = format!(
                            "nothing is left of `{name}`: an enclosing loop is unrolled or vectorized over all of it"
                        );
                        violation(Item::Loop(other), message, "leave this loop out")
                    }
                    None => Ok(()),
                }
            }
        }
    }

    /// Checks that the tile comes last, and reduction loops are in order if it matters.
    fn check_order(&self) -> Checked {
        let outer = &self.plan.loops[..self.tile];
        let parts = |number: usize| self.over(outer[number].axis).any(|other| other >= self.tile);
        let in_tile = |number: &usize| match outer[*number].kind {
            LoopKind::Unrolled | LoopKind::Vector => true,
            _ => self.is_reduced(&outer[*number]) && !parts(*number),
        };
        if let Some(first) = (0..outer.len()).find(in_tile) {
            let last = self.tile - 1;
            let what = if self.is_reduced(&outer[first]) { "the reduction" } else { "the unrolled loop" };
            let message = format!("this loop over results is inside of {what} over `{}`", self.name(first));
            return violation(
                Item::Loop(last),
                message,
                "reduction, `unrolled` and `vector` loops come last: they are the register tile",
            );
        }
        let reduced =
            |l: &&(usize, &Loop)| self.is_reduced(l.1) && !matches!(l.1.kind, LoopKind::Vector | LoopKind::Dot);
        let terms: Vec<(usize, &Loop)> = self.plan.loops.iter().enumerate().collect();
        let terms: Vec<(usize, &Loop)> = terms.iter().filter(reduced).copied().collect();
        let searches = self.stage.arg_result.is_some();
        let any_order = combiner(self.stage).is_some() && !searches && !self.ctx.strict_order;
        let swapped = terms.windows(2).find(|pair| pair[0].1.axis > pair[1].1.axis);
        match swapped {
            Some(pair) if !any_order => {
                let (first, second) = (self.name(pair[1].0), self.name(pair[0].0));
                let message = "the reduction would not be in program order".to_owned();
                let help = match self.ctx.strict_order {
                    true => format!("leave out --strict-order, or put `{first}` before `{second}`"),
                    false => format!("put `{first}` before `{second}`"),
                };
                violation(Item::Loop(pair[1].0), message, help)
            }
            _ => Ok(()),
        }
    }

    /// Checks that at most one axis is vectorized, and accesses along it can be.
    fn check_vector(&self) -> Checked {
        let mut vectors = (0..self.plan.loops.len()).filter(|n| self.plan.loops[*n].kind == LoopKind::Vector);
        let Some(number) = vectors.next() else { return Ok(()) };
        if let Some(second) = vectors.next() {
            let message = format!("`{}` is vectorized already", self.name(number));
            return violation(Item::Loop(second), message, "write `unrolled` for one of the two");
        }
        let name = self.name(number);
        let axis = &self.stage.axes[self.plan.loops[number].axis];
        let help = "vectors need contiguous loads; a copy can provide them: `copy of BUFFER as [AXES] (…)`";
        if axis.reduce {
            return match () {
                () if self.ctx.strict_order => {
                    let message = "a horizontal reduction is not in program order".to_owned();
                    violation(Item::Loop(number), message, "leave out --strict-order, or `vector`")
                }
                () if !can_reduce_in_lanes(self.stage, &axis.var) => {
                    let message =
                        format!("loads are not contiguous along `{name}`, or the reduction cannot be reordered");
                    violation(Item::Loop(number), message, "leave out `vector`")
                }
                () => Ok(()),
            };
        }
        if !stores_along(self.stage, axis) {
            let message = format!("results are not contiguous along `{name}`");
            return violation(
                Item::Loop(number),
                message,
                "vectors need contiguous results: choose the axis of the last index",
            );
        }
        if !self.stage.values().all(is_vectorizable) {
            let message = format!("the computation along `{name}` cannot be vectorized: it calls a function");
            return violation(Item::Loop(number), message, "leave out `vector`");
        }
        let left = self.uncopied();
        let scale_groups = self.plan.scale_groups(self.stage);
        let stage = scale_groups.as_ref().map_or(self.stage, |groups| &groups.sum);
        let dot = self.plan.dot().and_then(|l| Some((l.axis, dots::dot(stage)?)));
        let is_packed = |load: &PrimExpr| {
            let groups = dot.and_then(|(terms, dot)| stage.packed_load(load, terms, dot));
            groups.is_some_and(|groups| is_contiguous(&groups, &axis.var))
        };
        let is_left = |load: &PrimExpr| !is_packed(load) && left.any(&mut |e| same_expr(e, load));
        let is_near = |load: &PrimExpr| {
            is_contiguous(load, &axis.var)
                || load_stride(load, &axis.var).is_some()
                || self.plan.transposes(self.stage, load)
        };
        let mut loads = loads(self.stage).into_iter().enumerate();
        match loads.find(|(_, e)| !is_near(e) && is_left(e)) {
            Some((load, _)) => {
                let buffer = &super::names::loads(self.stage)[load];
                let message = format!("`{buffer}` is not contiguous along `{name}`");
                violation(Item::Loop(number), message, help)
            }
            None => Ok(()),
        }
    }

    /// Returns the stage's value with constants instead of copied operands.
    fn uncopied(&self) -> PrimExpr {
        let parts = parts(self.stage);
        self.plan.staged.iter().fold(self.stage.value.clone(), |value, staged| {
            let part = parts[staged.load];
            replaced(&value, part, &PrimExpr::constant(0.0, part.dtype()))
        })
    }

    /// Checks that unrolled and vector loops have a constant trip count.
    fn check_extent(&self, number: usize) -> Checked {
        let l = &self.plan.loops[number];
        let known = self.stage.axes[l.axis].extent.as_int().is_some()
            || self.plan.loops[..self.tile].iter().any(|outer| outer.axis == l.axis);
        let lanes_of_terms = self.is_reduced(l) && matches!(l.kind, LoopKind::Vector | LoopKind::Dot);
        if matches!(l.kind, LoopKind::Serial | LoopKind::Prefetch) || l.is_parallel() || lanes_of_terms || known {
            return Ok(());
        }
        let name = self.name(number);
        let message = format!("the extent of `{name}` is dynamic here");
        let help = match self.is_reduced(l) {
            true => "leave out `unrolled`".to_owned(),
            false => format!("add `{name} by N` among the outer loops"),
        };
        violation(Item::Loop(number), message, help)
    }

    fn check_divisor(&self) -> Checked {
        if !self.plan.hoists_reciprocal {
            return Ok(());
        }
        if self.ctx.strict_order {
            let message = "multiplying by a reciprocal rounds differently from dividing";
            return violation(Item::Reciprocal, message, "leave out --strict-order, or `reciprocal hoisted`");
        }
        if !self.plan.staged.is_empty() {
            let message = "a stage with copies cannot hoist a reciprocal";
            return violation(Item::Reciprocal, message, "leave out the copies, or `reciprocal hoisted`");
        }
        let vector = self.plan.vector().map(|l| l.axis);
        let divisor = vector.and_then(|axis| invariant_divisor(self.stage, axis));
        if divisor.and_then(|divisor| self.plan.hoist_depth(self.stage, divisor)).is_some() {
            return Ok(());
        }
        let message = "no divisor is invariant along the vector axis, in a loop over several vectors";
        violation(Item::Reciprocal, message, "leave out `reciprocal hoisted`")
    }

    /// Returns the maximum extent of an axis in the tile.
    fn in_tile(&self, axis: usize) -> i64 {
        let extent = self.stage.axes[axis].extent.as_int();
        let range = self.plan.range(axis, self.tile);
        extent.into_iter().chain(range).min().unwrap_or(1).max(1)
    }

    /// Checks the code size.
    fn check_size(&self) -> Checked {
        let register = register_lanes(self.stage, self.ctx.target);
        let vectors = |values: i64| (values + register - 1) / register;
        let own = |l: &Loop| match l.kind {
            LoopKind::Unrolled if self.is_reduced(l) => 1,
            LoopKind::Unrolled => self.in_tile(l.axis),
            LoopKind::Vector if self.is_reduced(l) => (self.plan.reduction_step(l.axis) / register).max(1),
            LoopKind::Vector => vectors(self.in_tile(l.axis)),
            _ => 1,
        };
        let tile_vectors = self.plan.loops.iter().map(own).fold(1, i64::saturating_mul);
        if tile_vectors > MAX_TILE_VECTORS {
            let message =
                format!("the register tile has {tile_vectors} vectors or scalars, more than {MAX_TILE_VECTORS}");
            return violation(Item::Plan, message, "choose smaller steps before `unrolled` and `vector`");
        }
        let copies = (0..self.plan.loops.len()).map(|number| self.code_copies(number));
        let unrolled = copies.fold(tile_vectors, i64::saturating_mul);
        if unrolled > MAX_UNROLLED_VECTORS {
            let loops = count(self.plan.loops.len(), "loop");
            let message = format!("these {loops} unroll to too much code");
            return violation(Item::Plan, message, "choose fewer steps, or steps that divide the extents");
        }
        Ok(())
    }

    /// Returns the number of copies of a loop's body in the code.
    fn code_copies(&self, number: usize) -> i64 {
        let Loop { axis, step, kind } = self.plan.loops[number];
        let before = self.plan.range(axis, number);
        let size = self.stage.axes[axis].extent.as_int().map(|extent| before.map_or(extent, |range| range.min(extent)));
        if kind == LoopKind::Unrolled && self.stage.axes[axis].reduce {
            return size.or(before).unwrap_or(1).max(1);
        }
        match size.or(before) {
            _ if step == 1 => 1,
            Some(size) if size % step == 0 => 1,
            Some(_) => 2,
            None => 4,
        }
    }
}
