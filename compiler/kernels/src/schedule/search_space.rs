//! Search space of the autotuner: neighbours of a plan.
//!
//! A neighbour differs by one or two [primitives](super::primitives): a step, the order of two loops, the kind of a
//! loop, a copy; or by the rule. Every candidate is valid: it is printed, read and bound like a plan that a user
//! writes.

use super::{
    Loop, LoopKind, PartPlan, Plan, Plans, RowsPlan, ScheduleContext, StagePlan, bind,
    cpu::{rows_plan, stage_plans},
    names::Naming,
    primitives::{Edit, Rejection},
};
use hammock_loopnest::{Kernel, Part, Stage, access, row_tiling::Rows};
use std::collections::HashSet;

/// Tile sizes of row tiling.
const TILE_ROWS: [i64; 6] = [1, 2, 4, 8, 16, 32];
/// Maximum extent of an unrolled reduction.
const MAX_UNROLLED: i64 = 16;

/// Returns the neighbours of a kernel's plan, without duplicates.
pub fn candidates(plan: &Plan, kernel: &Kernel, ctx: ScheduleContext) -> Vec<Plan> {
    let mut seen = HashSet::from([plan.clone()]);
    let mut found = Vec::new();
    for (number, (own, part)) in plan.parts.iter().zip(&kernel.parts).enumerate() {
        let parts: Vec<PartPlan> = match (own, part) {
            (PartPlan::Stage(own), Part::Stage(stage)) => {
                stage_candidates(own, stage, ctx).into_iter().map(PartPlan::Stage).collect()
            }
            (PartPlan::Rows(own), Part::Rows(rows)) => {
                rows_candidates(own, rows, ctx).into_iter().map(PartPlan::Rows).collect()
            }
            _ => Vec::new(),
        };
        for part in parts {
            let mut candidate = plan.clone();
            candidate.parts[number] = part;
            if seen.insert(candidate.clone()) && is_valid(&candidate, kernel, ctx) {
                found.push(candidate);
            }
        }
    }
    found
}

/// Returns true if a plan survives printing, reading and binding.
fn is_valid(plan: &Plan, kernel: &Kernel, ctx: ScheduleContext) -> bool {
    let lines = plan.numbered(kernel).to_string();
    let lines: String = lines.lines().map(|line| format!("    {line}\n")).collect();
    let plans = Plans::read_numbered(&format!("f:\n{lines}"));
    plans.ok().and_then(|plans| bind(plans.of("f")?, kernel, ctx).ok()).is_some_and(|bound| bound == *plan)
}

fn stage_candidates(plan: &StagePlan, stage: &Stage, ctx: ScheduleContext) -> Vec<StagePlan> {
    let mut found: Vec<StagePlan> = stage_plans(stage, ctx).collect();
    let (axes, parts) = (Naming::Numbers.axes(stage), Naming::Numbers.parts(stage));
    let mut add = |change: &dyn Fn(&mut Edit) -> Result<(), Rejection>| {
        let mut edit = Edit::new(plan.clone(), stage, ctx, axes.clone(), parts.clone());
        if change(&mut edit).is_ok() {
            found.extend(edit.finish(false).ok());
        }
    };
    for (number, l) in plan.loops.iter().enumerate() {
        other_steps(l.step).into_iter().for_each(|step| add(&|edit| edit.resplit(number, step)));
        // Halving one step may make room to double another.
        let others = (0..plan.loops.len()).filter(|other| *other != number && plan.loops[*other].step > 1);
        for other in others.filter(|_| l.step > 1) {
            add(&|edit| {
                edit.resplit(other, plan.loops[other].step / 2)?;
                edit.resplit(number, l.step * 2)
            });
        }
        if number > 0 {
            add(&|edit| edit.reorder(&[number, number - 1]));
        }
        kinds(l, stage).into_iter().for_each(|kind| {
            add(&|edit| match kind {
                LoopKind::Parallel(grain) => edit.parallel(number, grain),
                LoopKind::Unrolled => edit.unroll(number),
                _ => edit.serial(number),
            })
        });
        if let LoopKind::Parallel(grain) = l.kind {
            let near_by = number.saturating_sub(1)..plan.loops.len().min(number + 2);
            near_by.for_each(|to| add(&|edit| edit.parallel(to, grain)));
        }
        if let Some(inner) = (number + 1..plan.loops.len()).find(|inner| plan.loops[*inner].axis == l.axis) {
            add(&|edit| edit.fuse(&[number, inner]));
        }
    }
    for (axis, about) in stage.axes.iter().enumerate().filter(|(_, about)| !about.reduce) {
        let Some(first) = plan.loops.iter().position(|l| l.axis == axis) else { continue };
        let own = plan.loops[first].step;
        let fits = |block: &i64| about.extent.as_int().is_none_or(|extent| *block < extent);
        for block in [own * 4, own * 16].into_iter().filter(fits) {
            add(&|edit| outermost(edit, first, block));
        }
    }
    for part in 0..access::parts(stage).len() {
        match plan.staged.iter().find(|staged| staged.load == part) {
            Some(staged) => {
                add(&|edit| edit.inline(part));
                for inside in [staged.inside.saturating_sub(1), staged.inside + 1] {
                    add(&|edit| edit.attach(part, inside.min(plan.loops.len())));
                }
            }
            None => add(&|edit| edit.pack(part)),
        }
    }
    add(&|edit| edit.hoist_reciprocal());
    found
}

/// Splits a loop and moves the outer part outside all others; it takes over parallelism from the outermost loop.
fn outermost(edit: &mut Edit, over: usize, step: i64) -> Result<(), Rejection> {
    edit.split(over, step)?;
    let order: Vec<usize> = std::iter::once(over).chain(0..over).collect();
    edit.reorder(&order)?;
    match edit.plan.loops.get(1).map(|l| l.kind) {
        Some(LoopKind::Parallel(grain)) => edit.parallel(0, grain),
        _ => Ok(()),
    }
}

/// Returns alternatives of a step.
fn other_steps(step: i64) -> Vec<i64> {
    match step {
        1 => Vec::new(),
        _ => [step / 2, step - 1, step + 1, step * 2, step * 3 / 2, step * 4].into_iter().filter(|n| *n > 0).collect(),
    }
}

/// Returns alternative kinds of a loop.
fn kinds(l: &Loop, stage: &Stage) -> Vec<LoopKind> {
    let axis = &stage.axes[l.axis];
    let few = axis.extent.as_int().is_some_and(|extent| extent <= MAX_UNROLLED);
    match l.kind {
        LoopKind::Parallel(grain) => {
            let grains = [grain / 4, grain / 2, grain * 2, grain * 4].into_iter().filter(|grain| *grain > 0);
            grains.map(LoopKind::Parallel).chain([LoopKind::Serial]).collect()
        }
        LoopKind::Serial if l.step == 1 && axis.reduce && few => vec![LoopKind::Unrolled],
        LoopKind::Unrolled if axis.reduce => vec![LoopKind::Serial],
        LoopKind::Prefetch => vec![LoopKind::Serial],
        _ => Vec::new(),
    }
}

fn rows_candidates(plan: &RowsPlan, rows: &Rows, ctx: ScheduleContext) -> Vec<RowsPlan> {
    let mut found: Vec<RowsPlan> = TILE_ROWS.iter().map(|count| rows_plan(rows, ctx, Some(*count))).collect();
    if let Some((axis, grain)) = plan.parallel {
        let grains = [grain / 4, grain / 2, grain * 2, grain * 4].into_iter().filter(|grain| *grain > 0);
        let others = (0..rows.extents().len()).map(|axis| (axis, grain));
        let spread = grains.map(|grain| Some((axis, grain))).chain(others.map(Some)).chain([None]);
        found.extend(spread.map(|parallel| RowsPlan { parallel, ..plan.clone() }));
    }
    let (copying, _) = plan.with_copies(rows);
    for (tile, (count, plans)) in plan.tiles.iter().enumerate() {
        for (number, (own, stage)) in plans.iter().zip(&plan.sample(&copying, *count)).enumerate() {
            for candidate in stage_candidates(own, stage, ctx) {
                let mut new = plan.clone();
                new.tiles[tile].1[number] = candidate.on_one_thread();
                found.push(new);
            }
        }
    }
    found
}
