//! Row-wise stages (normalizations): a block for each row, with intermediates in shared memory.

use super::{Rule, online, vectors};
use crate::schedule::{Loop, LoopKind, RowsPlan, ScheduleContext, StagePlan};
use hammock_loopnest::{
    Stage,
    access::{size, spatial, store_axis},
    row_tiling::Rows,
};

/// Threads of a block, with the minimum length of rows that they are for.
const THREADS: [(i64, i64); 3] = [(256, 2048), (128, 512), (32, 0)];

/// See the module's documentation.
pub static RULE: Rule = Rule {
    name: "rows",
    class: "row-wise",
    why: "memory is read and written once per row",
    doc: "Matches groups of row-wise stages, such as softmax and layer normalization. A block computes one row; \
          intermediates of the row, and inputs that several stages read, are in shared memory. Reductions end in \
          shuffles.",
    plan: |_, _| None,
};

/// Plans row-wise stages: with a block for each row if that has the intermediates of one.
pub fn plan(rows: &Rows, ctx: ScheduleContext) -> RowsPlan {
    let online = rows.online().filter(|_| !rows.fit_a_block() && !ctx.strict_order);
    if let Some(plan) = online.and_then(|found| online::plan(rows, &found, ctx)) {
        return plan;
    }
    let stages = rows.sample(1).stages;
    let lengths = stages.iter().flat_map(|stage| &stage.axes).map(|axis| size(&axis.extent));
    let length = lengths.max().unwrap_or(1);
    let threads = THREADS.iter().find(|(_, min)| length >= *min).map_or(32, |(threads, _)| *threads);
    let plans = stages.iter().map(|stage| row_plan(stage, threads, ctx)).collect();
    RowsPlan { copied: Vec::new(), parallel: None, online: None, tiles: vec![(1, plans)] }
}

/// Returns the plan of a stage on the threads of one block. A stage without loops over threads runs on one of them.
pub fn row_plan(stage: &Stage, threads: i64, ctx: ScheduleContext) -> StagePlan {
    let along = match stage.reduces() {
        true => {
            let any_order = super::reduces_in_any_order(stage, &ctx);
            stage.axes.iter().rposition(|axis| axis.reduce).filter(|_| any_order)
        }
        false => store_axis(stage).or(spatial(stage).next_back()),
    };
    let serial = (0..stage.axes.len()).filter(|axis| Some(*axis) != along).map(Loop::serial);
    let mut loops: Vec<Loop> = serial.collect();
    if let Some(axis) = along {
        let is_long = |lanes: &i64| stage.axes[axis].extent.as_int().is_some_and(|extent| extent >= lanes * threads);
        let lanes = vectors::lanes(stage, axis).filter(is_long).unwrap_or(1);
        loops.extend([Loop::with_step(axis, threads * lanes), Loop { axis, step: lanes, kind: LoopKind::Thread }]);
        if lanes > 1 {
            loops.push(Loop::vector(axis));
        }
    }
    StagePlan::new(RULE.name, loops)
}
