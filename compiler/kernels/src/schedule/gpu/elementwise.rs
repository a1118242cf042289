//! Element-wise stages with contiguous accesses: 16 bytes for each thread.

use super::{BLOCK_THREADS, Rule, vectors};
use crate::schedule::{Loop, LoopKind};
use hammock_loopnest::access::{size, spatial, store_axis};

/// See the module's documentation.
pub static RULE: Rule = Rule {
    name: "elementwise",
    class: "element-wise",
    why: "16 bytes per thread and access, coalesced",
    doc: "Matches stages without a reduction whose accesses are contiguous and aligned along the axis of the stores, or \
          invariant, if there are enough elements to occupy the GPU. Each thread computes 16 bytes of the widest buffer. \
          If the extent is no multiple of that, the last thread computes its elements one by one.",
    plan: |stage, ctx| {
        let along = store_axis(stage).filter(|_| !stage.reduces())?;
        let lanes = vectors::lanes(stage, along)?;
        let elements = stage.axes.iter().fold(1i64, |n, axis| n.saturating_mul(size(&axis.extent)));
        let gpu = ctx.gpu?;
        if elements < lanes * BLOCK_THREADS * i64::from(gpu.sm_count) {
            return None;
        }
        let grid = |axis, step| Loop { axis, step, kind: LoopKind::Grid(BLOCK_THREADS) };
        let outer = spatial(stage).filter(|axis| *axis != along).map(|axis| grid(axis, 1));
        Some(outer.chain([grid(along, lanes), Loop::vector(along)]).collect::<Vec<_>>().into())
    },
};
