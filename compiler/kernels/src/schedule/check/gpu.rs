//! Validity of plans for GPUs: what the code of blocks and threads relies on, and the limits of the machine.

mod tensor_cores;

use super::{Checked, Item, violation};
use crate::schedule::{
    Loop, LoopKind, ScheduleContext, StagePlan, Staged,
    gpu::{
        block_threads, column_lanes, copy_extents, load_lanes, reduces_in_any_order, reduces_in_warps, shared_bytes,
        tensor_cores::MAX_STAGES, vector_lanes,
    },
};
use hammock_ir::{PrimExpr, prim::intrinsics::WARP_THREADS};
use hammock_loopnest::{
    Stage,
    access::{is_copyable, parts},
};
use hammock_target::Gpu;

/// Maximum results of a thread, which are in registers.
const MAX_THREAD_RESULTS: i64 = 128;
/// Results of a thread along each axis of an `mma.sync`.
const MMA_RESULTS: i64 = 2;

/// Checks the plan of a stage whose axes have these names. `inner`: true if it runs on the threads of a block, with other
/// stages.
pub fn check(
    stage: &Stage,
    plan: &StagePlan,
    names: &[String],
    ctx: ScheduleContext,
    (gpu, inner): (&Gpu, bool),
) -> Checked {
    let check = Check { stage, plan, names, ctx, gpu };
    let is_on_grid = |l: &Loop| matches!(l.kind, LoopKind::Grid(_) | LoopKind::Block);
    if let Some(number) = plan.loops.iter().position(is_on_grid).filter(|_| inner) {
        return violation(Item::Loop(number), "one block computes all stages of a row", "write `thread`");
    }
    (0..stage.axes.len()).try_for_each(|axis| check.check_axis(axis))?;
    (0..plan.loops.len()).try_for_each(|number| check.check_kind(number))?;
    check.check_mma()?;
    check.check_grid()?;
    check.check_threads()?;
    check.check_results()?;
    (0..plan.staged.len()).try_for_each(|number| check.check_copy(number))?;
    check.check_shared()?;
    match plan.hoists_reciprocal {
        true => violation(Item::Reciprocal, "plans for GPUs hoist no reciprocals", "leave out `reciprocal hoisted`"),
        false => Ok(()),
    }
}

/// Checks the loops of a copy in shared memory: threads take its elements in turn, or aligned vectors of them.
pub fn check_copy_loops(stage: &Stage, plan: &StagePlan, staged: &Staged, loops: &[Loop]) -> Checked {
    let vector = loops.len().checked_sub(1).filter(|last| loops[*last].kind == LoopKind::Vector);
    let is_turn = |number: &usize| {
        let around = vector.is_some_and(|vector| vector == number + 1 && loops[vector].axis == loops[*number].axis);
        loops[*number].kind == LoopKind::Thread && (loops[*number].step == 1 || around)
    };
    if let Some(other) = (0..vector.unwrap_or(loops.len())).find(|number| !is_turn(number)) {
        let message = "threads take the elements of a copy in turn";
        return violation(Item::Loop(other), message, "write `thread` for all its loops");
    }
    let Some(vector) = vector else { return Ok(()) };
    let dim = loops[vector].axis;
    let lanes = vector.checked_sub(1).map(|around| &loops[around]).filter(|l| l.axis == dim).map_or(1, |l| l.step);
    let axis = &stage.axes[staged.axes[dim]];
    let most = load_lanes(parts(stage)[staged.load], axis).filter(|_| dim + 1 == staged.axes.len());
    let range = plan.range(staged.axes[dim], staged.inside).unwrap_or(lanes);
    if lanes < 2 || range % lanes != 0 || most.is_none_or(|most| most % lanes != 0) {
        let message = "vectors of a copy are aligned accesses of up to 16 bytes along its last axis";
        return violation(Item::Loop(vector), message, "leave out `vector`");
    }
    Ok(())
}

struct Check<'a> {
    stage: &'a Stage,
    plan: &'a StagePlan,
    names: &'a [String],
    ctx: ScheduleContext<'a>,
    gpu: &'a Gpu,
}

impl Check<'_> {
    fn name(&self, number: usize) -> &str {
        &self.names[self.plan.loops[number].axis]
    }

    fn is_reduced(&self, l: &Loop) -> bool {
        self.stage.axes[l.axis].reduce
    }

    /// Checks the loops over an axis: each step divides the one before, and the last is 1.
    fn check_axis(&self, axis: usize) -> Checked {
        let name = &self.names[axis];
        let over: Vec<usize> = (0..self.plan.loops.len()).filter(|n| self.plan.loops[*n].axis == axis).collect();
        let Some(last) = over.last() else {
            let message = format!("no loop over axis `{name}`");
            return violation(Item::Plan, message, format!("add `{name}`, a loop with step 1"));
        };
        if self.plan.loops[*last].step != 1 {
            let message = format!("the last loop over `{name}` has step {}, not 1", self.plan.loops[*last].step);
            return violation(Item::Loop(*last), message, format!("add another loop over `{name}` inside of it"));
        }
        let steps = |pair: &[usize]| (self.plan.loops[pair[0]].step, self.plan.loops[pair[1]].step);
        let odd = over.windows(2).find(|pair| {
            let (outer, inner) = steps(pair);
            inner < 1 || outer % inner != 0
        });
        match odd {
            Some(pair) => {
                let message = format!("this step does not divide that of the loop over `{name}` around it");
                violation(Item::Loop(pair[1]), message, "choose a divisor")
            }
            None => Ok(()),
        }
    }

    fn check_kind(&self, number: usize) -> Checked {
        let l = &self.plan.loops[number];
        let name = self.name(number);
        let first = !self.plan.loops[..number].iter().any(|outer| outer.axis == l.axis);
        match l.kind {
            LoopKind::Serial => Ok(()),
            LoopKind::Parallel(_) | LoopKind::Prefetch | LoopKind::Dot => {
                let message = "loops of this kind are for CPUs".to_owned();
                violation(Item::Loop(number), message, "write `grid N`, `block` or `thread`")
            }
            LoopKind::Grid(_) | LoopKind::Block if self.is_reduced(l) || !first => {
                let message = format!("`{name}` is a reduction axis, or has a loop around this one");
                violation(Item::Loop(number), message, "only the outermost loop over an axis of results is on blocks")
            }
            LoopKind::Grid(_) | LoopKind::Block => Ok(()),
            LoopKind::Thread | LoopKind::Unrolled | LoopKind::Vector
                if self.plan.trip_count(self.stage, number).is_none() =>
            {
                let message = format!("the extent of `{name}` is dynamic here");
                violation(Item::Loop(number), message, format!("add `{name} by N` before"))
            }
            LoopKind::Vector => self.check_vector(number),
            LoopKind::Thread | LoopKind::Unrolled | LoopKind::Warp | LoopKind::Mma => Ok(()),
        }
    }

    fn check_vector(&self, number: usize) -> Checked {
        let l = &self.plan.loops[number];
        let lanes = vector_lanes(self.stage, l.axis);
        let count = self.plan.trip_count(self.stage, number);
        let is_access = count.is_some() && [lanes, column_lanes(self.stage, l.axis)].contains(&count);
        if l.step != 1 || !is_access {
            let message = format!("vectors along `{}` are not one aligned access of 16 bytes", self.name(number));
            let help = lanes.map_or("leave out `vector`".to_owned(), |lanes| format!("use {lanes} elements"));
            return violation(Item::Loop(number), message, help);
        }
        if self.is_reduced(l) { self.check_any_order(number) } else { Ok(()) }
    }

    /// Checks that partial results of a reduction may be combined.
    fn check_any_order(&self, number: usize) -> Checked {
        if !reduces_in_any_order(self.stage, &self.ctx) {
            let message = format!("the elements along `{}` must be combined in order", self.name(number));
            return violation(Item::Loop(number), message, "leave out `thread` and `vector`");
        }
        Ok(())
    }

    /// Checks that `grid` loops come first, and exclude loops over blocks and threads.
    fn check_grid(&self) -> Checked {
        let is_grid = |l: &Loop| matches!(l.kind, LoopKind::Grid(_));
        let Some(last) = self.plan.loops.iter().rposition(is_grid) else { return Ok(()) };
        let kind = self.plan.loops[last].kind;
        match self.plan.loops[..last].iter().position(|l| l.kind != kind) {
            Some(other) => {
                violation(Item::Loop(other), "`grid` loops come first, with equal numbers of threads", "move it inside")
            }
            None if self.plan.is_on_blocks() => {
                violation(Item::Plan, "`grid` loops exclude `block` and `thread` loops", "use either")
            }
            None => match kind {
                LoopKind::Grid(threads) => self.check_block_size(threads, Item::Loop(last)),
                _ => Ok(()),
            },
        }
    }

    fn check_block_size(&self, threads: i64, at: Item) -> Checked {
        let limit = i64::from(self.gpu.max_block_threads);
        if threads < 1 || threads > limit {
            let message = format!("a block has {threads} threads, and {} allows {limit}", self.gpu.name);
            return violation(at, message, "choose smaller steps");
        }
        Ok(())
    }

    fn check_threads(&self) -> Checked {
        let threads: Vec<usize> =
            (0..self.plan.loops.len()).filter(|n| self.plan.loops[*n].kind == LoopKind::Thread).collect();
        let count = |of: &mut dyn Iterator<Item = &usize>| {
            of.fold(1i64, |n, number| n.saturating_mul(self.plan.trip_count(self.stage, *number).unwrap_or(1)))
        };
        let all = block_threads(self.stage, self.plan);
        self.check_block_size(all, threads.last().map_or(Item::Plan, |last| Item::Loop(*last)))?;
        let is_term = |number: &&usize| self.is_reduced(&self.plan.loops[**number]);
        let Some(first) = threads.iter().find(is_term) else { return Ok(()) };
        self.check_any_order(*first)?;
        let after = threads.iter().rposition(|number| is_term(&number)).map_or(0, |last| last + 1);
        let between = threads[..after].iter().find(|number| *number > first && !is_term(number));
        if let Some(between) = between {
            let message = "threads that reduce one result together are in adjacent loops".to_owned();
            return violation(Item::Loop(*between), message, "put this loop before or after those over reduction axes");
        }
        let reducers = count(&mut threads.iter().filter(is_term));
        let stride = count(&mut threads[after..].iter());
        let fits = all % WARP_THREADS == 0 && reduces_in_warps(reducers, stride);
        let are_all = stride > 1 && reducers.saturating_mul(stride) == all;
        if !fits && !are_all {
            let message = format!("{reducers} threads of {all} reduce a result together");
            return violation(Item::Loop(*first), message, "use a power of two of up to 32, or whole warps");
        }
        Ok(())
    }

    /// Checks that the results of a thread are in registers.
    fn check_results(&self) -> Checked {
        let own = |number: &usize| {
            let l = &self.plan.loops[*number];
            self.stage.reduces() && !l.is_bound() && (!self.is_reduced(l) || l.kind == LoopKind::Vector)
        };
        let mut results = 1i64;
        for number in (0..self.plan.loops.len()).filter(own) {
            let count = match self.plan.loops[number].kind {
                LoopKind::Serial => None,
                LoopKind::Mma => Some(MMA_RESULTS),
                _ => self.plan.trip_count(self.stage, number),
            };
            let Some(count) = count else {
                let message = format!("a thread accumulates results along `{}` in registers", self.name(number));
                return violation(Item::Loop(number), message, "write `block`, `thread` or `unrolled`");
            };
            results = results.saturating_mul(count);
        }
        if results > MAX_THREAD_RESULTS {
            let message =
                format!("a thread accumulates {results} results, and its registers hold {MAX_THREAD_RESULTS}");
            return violation(Item::Plan, message, "choose smaller steps before `unrolled` and `vector`");
        }
        Ok(())
    }

    fn check_copy(&self, number: usize) -> Checked {
        let staged = &self.plan.staged[number];
        let part: &PrimExpr = parts(self.stage)[staged.load];
        let fail = |message: &str, help: &str| violation(Item::Copy(number), message, help);
        if !self.plan.is_on_blocks() {
            return fail("only the threads of a block share copies", "use `block` and `thread` loops");
        }
        if !is_copyable(self.stage, part) {
            return fail("this operand may not be evaluated everywhere", "leave out the copy");
        }
        let before = &self.plan.loops[..staged.inside];
        if before.iter().any(|l| !matches!(l.kind, LoopKind::Block | LoopKind::Serial)) {
            return fail("copies are made by all threads of a block", "put it before loops over threads");
        }
        if copy_extents(self.stage, self.plan, staged).is_none() {
            return fail("the size of a copy is constant", "add a loop with a step around it");
        }
        if staged.stages != 1 {
            self.check_stages(number)?;
        }
        let later = |axis: usize| self.plan.loops[staged.inside..].iter().any(|l| l.axis == axis);
        let varies = |axis: &usize| part.uses(&self.stage.axes[*axis].var) && later(*axis);
        if (0..self.stage.axes.len()).any(|axis| varies(&axis) != staged.axes.contains(&axis)) {
            return fail("a copy has the axes that the operand varies along inside of it", "change the axes");
        }
        Ok(())
    }

    /// Checks the stages of a copy.
    fn check_stages(&self, number: usize) -> Checked {
        let staged = &self.plan.staged[number];
        let fail = |message: String, help: &str| violation(Item::Copy(number), message, help);
        if !self.gpu.has_async_copy {
            return fail(format!("{} copies nothing asynchronously", self.gpu.name), "leave out `in N stages`");
        }
        if !(2..=MAX_STAGES).contains(&staged.stages) {
            return fail(format!("a copy has up to {MAX_STAGES} stages"), "choose fewer");
        }
        let around = staged.inside.checked_sub(1).map(|around| &self.plan.loops[around]);
        if around.is_none_or(|l| l.kind != LoopKind::Serial) {
            return fail("stages are of a loop around the copy".to_owned(), "put it right inside a serial loop");
        }
        let mut others = self.plan.staged.iter().filter(|other| other.inside == staged.inside);
        match others.all(|other| other.stages == staged.stages) {
            true => Ok(()),
            false => fail("copies in one loop have different numbers of stages".to_owned(), "choose equal ones"),
        }
    }

    /// Checks the size of all copies.
    fn check_shared(&self) -> Checked {
        let (all, limit) = (shared_bytes(self.stage, self.plan), i64::from(self.gpu.max_block_shared));
        if all > limit {
            let message = format!("copies take {all} bytes of shared memory, and {} has {limit}", self.gpu.name);
            return violation(Item::Copy(0), message, "choose smaller steps around them");
        }
        Ok(())
    }
}
