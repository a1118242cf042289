//! Any stage: one thread for each result.

use super::{BLOCK_THREADS, Rule};
use crate::schedule::{Loop, LoopKind};
use hammock_loopnest::access::{spatial, store_axis};

/// See the module's documentation.
pub static RULE: Rule = Rule {
    name: "thread_per_result",
    class: "any stage",
    why: "results are independent",
    doc: "Matches every stage. Each thread computes one result; consecutive threads compute consecutive ones, so that \
          their stores are coalesced. A reduction runs in program order.",
    plan: |stage, _| {
        let along = store_axis(stage);
        let outer = spatial(stage).filter(|axis| Some(*axis) != along);
        let grid = |axis| Loop { axis, step: 1, kind: LoopKind::Grid(BLOCK_THREADS) };
        let mut loops: Vec<Loop> = outer.chain(along).map(grid).collect();
        loops.extend((0..stage.axes.len()).filter(|axis| stage.axes[*axis].reduce).map(Loop::serial));
        Some(loops.into())
    },
};
