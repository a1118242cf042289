//! Search space of the autotuner: neighbours of a plan.
//!
//! A neighbour differs by one or two [primitives](super::primitives): a step, the order of two loops, the kind of a
//! loop, a copy; or by the rule. Every candidate is valid: it is printed, read and bound like a plan that a user
//! writes.

use super::{
    Loop, LoopKind, PartPlan, Plan, Plans, RowsPlan, StagePlan, bind,
    names::Naming,
    primitives::{Edit, Refused},
};
use crate::{
    rules::{Choice, rows_plan, stage_plans},
    stage::{Kernel, Part, Stage, access, row_tiling::Rows},
};
use std::collections::HashSet;

/// Tile sizes of row tiling.
const ROWS: [i64; 6] = [1, 2, 4, 8, 16, 32];
/// Maximum extent of an unrolled reduction.
const WRITTEN_OUT: i64 = 16;

/// Returns the neighbours of a kernel's plan, without duplicates.
pub fn neighbours(plan: &Plan, kernel: &Kernel, choice: Choice) -> Vec<Plan> {
    let mut seen = HashSet::from([plan.clone()]);
    let mut found = Vec::new();
    for (number, (own, part)) in plan.parts.iter().zip(&kernel.parts).enumerate() {
        let parts: Vec<PartPlan> = match (own, part) {
            (PartPlan::Stage(own), Part::Stage(stage)) => {
                stage_neighbours(own, stage, choice).into_iter().map(PartPlan::Stage).collect()
            }
            (PartPlan::Rows(own), Part::Rows(rows)) => {
                rows_neighbours(own, rows, choice).into_iter().map(PartPlan::Rows).collect()
            }
            _ => Vec::new(),
        };
        for part in parts {
            let mut near = plan.clone();
            near.parts[number] = part;
            if seen.insert(near.clone()) && can_be_used(&near, kernel, choice) {
                found.push(near);
            }
        }
    }
    found
}

/// Returns true if a plan survives printing, reading and binding.
fn can_be_used(plan: &Plan, kernel: &Kernel, choice: Choice) -> bool {
    let lines = plan.numbered(kernel).to_string();
    let lines: String = lines.lines().map(|line| format!("    {line}\n")).collect();
    let plans = Plans::read_numbered(&format!("f:\n{lines}"));
    plans.ok().and_then(|plans| bind(plans.of("f")?, kernel, choice).ok()).is_some_and(|bound| bound == *plan)
}

fn stage_neighbours(plan: &StagePlan, stage: &Stage, choice: Choice) -> Vec<StagePlan> {
    let mut found: Vec<StagePlan> = stage_plans(stage, choice).collect();
    let (axes, parts) = (Naming::Numbers.axes(stage), Naming::Numbers.parts(stage));
    let mut add = |change: &dyn Fn(&mut Edit) -> Result<(), Refused>| {
        let mut near = Edit::new(plan.clone(), stage, choice, axes.clone(), parts.clone());
        if change(&mut near).is_ok() {
            found.extend(near.finish(false).ok());
        }
    };
    for (number, l) in plan.loops.iter().enumerate() {
        factors(l.step).into_iter().for_each(|step| add(&|near| near.resplit(number, step)));
        // Halving one step may make room to double another.
        let others = (0..plan.loops.len()).filter(|other| *other != number && plan.loops[*other].step > 1);
        for other in others.filter(|_| l.step > 1) {
            add(&|near| {
                near.resplit(other, plan.loops[other].step / 2)?;
                near.resplit(number, l.step * 2)
            });
        }
        if number > 0 {
            add(&|near| near.reorder(&[number, number - 1]));
        }
        kinds(l, stage).into_iter().for_each(|kind| {
            add(&|near| match kind {
                LoopKind::Parallel(grain) => near.parallel(number, grain),
                LoopKind::Unrolled => near.unroll(number),
                _ => near.serial(number),
            })
        });
        if let LoopKind::Parallel(grain) = l.kind {
            let near_by = number.saturating_sub(1)..plan.loops.len().min(number + 2);
            near_by.for_each(|to| add(&|near| near.parallel(to, grain)));
        }
        if let Some(inner) = (number + 1..plan.loops.len()).find(|inner| plan.loops[*inner].axis == l.axis) {
            add(&|near| near.fuse(&[number, inner]));
        }
    }
    for (axis, about) in stage.axes.iter().enumerate().filter(|(_, about)| !about.reduce) {
        let Some(first) = plan.loops.iter().position(|l| l.axis == axis) else { continue };
        let own = plan.loops[first].step;
        let fits = |block: &i64| about.extent.as_int().is_none_or(|extent| *block < extent);
        for block in [own * 4, own * 16].into_iter().filter(fits) {
            add(&|near| outermost(near, first, block));
        }
    }
    for part in 0..access::parts(stage).len() {
        match plan.staged.iter().find(|staged| staged.load == part) {
            Some(staged) => {
                add(&|near| near.inline(part));
                for inside in [staged.inside.saturating_sub(1), staged.inside + 1] {
                    add(&|near| near.attach(part, inside.min(plan.loops.len())));
                }
            }
            None => add(&|near| near.pack(part)),
        }
    }
    add(&|near| near.hoist_reciprocal());
    found
}

/// Splits a loop and moves the outer part outside all others; it takes over parallelism from the outermost loop.
fn outermost(near: &mut Edit, over: usize, step: i64) -> Result<(), Refused> {
    near.split(over, step)?;
    let order: Vec<usize> = std::iter::once(over).chain(0..over).collect();
    near.reorder(&order)?;
    match near.plan.loops.get(1).map(|l| l.kind) {
        Some(LoopKind::Parallel(grain)) => near.parallel(0, grain),
        _ => Ok(()),
    }
}

/// Returns alternatives of a step.
fn factors(step: i64) -> Vec<i64> {
    match step {
        1 => Vec::new(),
        _ => [step / 2, step - 1, step + 1, step * 2, step * 3 / 2, step * 4].into_iter().filter(|n| *n > 0).collect(),
    }
}

/// Returns alternative kinds of a loop.
fn kinds(l: &Loop, stage: &Stage) -> Vec<LoopKind> {
    let axis = &stage.axes[l.axis];
    let few = axis.extent.as_int().is_some_and(|extent| extent <= WRITTEN_OUT);
    match l.kind {
        LoopKind::Parallel(grain) => {
            let grains = [grain / 4, grain / 2, grain * 2, grain * 4].into_iter().filter(|grain| *grain > 0);
            grains.map(LoopKind::Parallel).chain([LoopKind::Serial]).collect()
        }
        LoopKind::Serial if l.step == 1 && axis.reduce && few => vec![LoopKind::Unrolled],
        LoopKind::Unrolled if axis.reduce => vec![LoopKind::Serial],
        _ => Vec::new(),
    }
}

fn rows_neighbours(plan: &RowsPlan, rows: &Rows, choice: Choice) -> Vec<RowsPlan> {
    let mut found: Vec<RowsPlan> = ROWS.iter().map(|count| rows_plan(rows, choice, Some(*count))).collect();
    if let Some((axis, grain)) = plan.parallel {
        let grains = [grain / 4, grain / 2, grain * 2, grain * 4].into_iter().filter(|grain| *grain > 0);
        let others = (0..rows.extents().len()).map(|axis| (axis, grain));
        let spread = grains.map(|grain| Some((axis, grain))).chain(others.map(Some)).chain([None]);
        found.extend(spread.map(|parallel| RowsPlan { parallel, ..plan.clone() }));
    }
    let (copying, _) = rows.copies(plan);
    for (tile, (count, plans)) in plan.tiles.iter().enumerate() {
        for (number, (own, stage)) in plans.iter().zip(&copying.sample(*count).stages).enumerate() {
            for near in stage_neighbours(own, stage, choice) {
                let mut new = plan.clone();
                new.tiles[tile].1[number] = near.on_one_thread();
                found.push(new);
            }
        }
    }
    found
}
