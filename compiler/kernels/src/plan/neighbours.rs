//! Plans near a plan: those that differ from it in one choice, a factor, the order of two loops, how one runs, a copy, or
//! the rule. All of them can be used: they are printed, read and bound as a plan that a user gives.

use super::{Loop, LoopKind, PartPlan, Plan, Plans, RowsPlan, StagePlan, bind};
use crate::{
    rules::{Choice, rows_plan, stage_plans},
    stage::{Kernel, Part, Stage, rows::Rows},
};
use std::collections::HashSet;

/// How many rows may run together.
const ROWS: [i64; 6] = [1, 2, 4, 8, 16, 32];
/// Terms that may be written out.
const WRITTEN_OUT: i64 = 16;

/// Plans near a kernel's plan, each once.
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

/// Whether a plan is one that a user could give.
fn can_be_used(plan: &Plan, kernel: &Kernel, choice: Choice) -> bool {
    let lines = plan.numbered(kernel).to_string();
    let lines: String = lines.lines().map(|line| format!("    {line}\n")).collect();
    let plans = Plans::read_numbered(&format!("f:\n{lines}"));
    plans.ok().and_then(|plans| bind(plans.of("f")?, kernel, choice).ok()).is_some_and(|bound| bound == *plan)
}

fn stage_neighbours(plan: &StagePlan, stage: &Stage, choice: Choice) -> Vec<StagePlan> {
    let mut found: Vec<StagePlan> = stage_plans(stage, choice).collect();
    let mut add = |change: &dyn Fn(&mut StagePlan)| {
        let mut near = plan.clone();
        change(&mut near);
        found.push(near);
    };
    for (number, l) in plan.loops.iter().enumerate() {
        factors(l.step).into_iter().for_each(|step| add(&|near| near.loops[number].step = step));
        // What one factor gains, another may have to give.
        let others = (0..plan.loops.len()).filter(|other| *other != number && plan.loops[*other].step > 1);
        for other in others.filter(|_| l.step > 1) {
            add(&|near| {
                near.loops[number].step *= 2;
                near.loops[other].step /= 2;
            });
        }
        if number > 0 {
            add(&|near| near.loops.swap(number - 1, number));
        }
        kinds(l, stage).into_iter().for_each(|kind| add(&|near| near.loops[number].kind = kind));
        if l.is_parallel() {
            let moved = |to: usize| {
                move |near: &mut StagePlan| {
                    near.loops[to].kind = std::mem::replace(&mut near.loops[number].kind, LoopKind::Serial);
                }
            };
            (number.saturating_sub(1)..plan.loops.len().min(number + 2)).for_each(|to| add(&moved(to)));
        }
    }
    for (axis, about) in stage.axes.iter().enumerate().filter(|(_, about)| !about.reduce) {
        let own = plan.loops.iter().filter(|l| l.axis == axis).map(|l| l.step).max().unwrap_or(1);
        let fits = |block: &i64| about.extent.as_int().is_none_or(|extent| *block < extent);
        for block in [own * 4, own * 16].into_iter().filter(fits) {
            add(&|near| insert(near, Loop::by(axis, block)));
        }
    }
    for number in 0..plan.loops.len() {
        add(&|near| {
            near.loops.remove(number);
            near.staged.iter_mut().filter(|staged| staged.inside > number).for_each(|staged| staged.inside -= 1);
        });
    }
    for (number, staged) in plan.staged.iter().enumerate() {
        add(&|near| _ = near.staged.remove(number));
        for inside in [staged.inside.saturating_sub(1), staged.inside + 1] {
            add(&|near| near.staged[number].inside = inside.min(near.loops.len()));
        }
    }
    add(&|near| near.inverts = !near.inverts);
    found
}

/// Adds a loop around all others.
fn insert(plan: &mut StagePlan, mut outer: Loop) {
    if let Some(first) = plan.loops.first_mut().filter(|first| first.is_parallel()) {
        outer.kind = std::mem::replace(&mut first.kind, LoopKind::Serial);
    }
    plan.loops.insert(0, outer);
    plan.staged.iter_mut().for_each(|staged| staged.inside += 1);
}

/// Factors near one.
fn factors(step: i64) -> Vec<i64> {
    match step {
        1 => Vec::new(),
        _ => [step / 2, step - 1, step + 1, step * 2, step * 3 / 2, step * 4].into_iter().filter(|n| *n > 0).collect(),
    }
}

/// Other ways to run a loop.
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
