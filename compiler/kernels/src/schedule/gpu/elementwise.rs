//! Element-wise stages with contiguous accesses: 16 bytes for each thread.

use super::{BLOCK_THREADS, Rule, vectors};
use crate::schedule::{Loop, LoopKind};
use hammock_loopnest::access::{spatial, store_axis};

/// See the module's documentation.
pub static RULE: Rule = Rule {
    name: "elementwise",
    class: "element-wise",
    why: "16 bytes per thread and access, coalesced",
    doc: "Matches stages without a reduction whose accesses are contiguous and aligned along the axis of the stores, or \
          invariant, unless they are known to have too few elements to occupy the GPU. Each thread computes 16 bytes of the widest buffer. \
          If the extent is no multiple of that, the last thread computes its elements one by one.",
    plan: |stage, ctx| {
        let along = store_axis(stage).filter(|_| !stage.reduces())?;
        let lanes = vectors::lanes(stage, along)?;
        let elements = stage.axes.iter().try_fold(1i64, |n, axis| Some(n.saturating_mul(axis.extent.as_int()?)));
        let enough = lanes * BLOCK_THREADS * i64::from(ctx.gpu?.sm_count);
        if elements.is_some_and(|elements| elements < enough) {
            return None;
        }
        let grid = |axis, step| Loop { axis, step, kind: LoopKind::Grid(BLOCK_THREADS) };
        let outer = spatial(stage).filter(|axis| *axis != along).map(|axis| grid(axis, 1));
        Some(outer.chain([grid(along, lanes), Loop::vector(along)]).collect::<Vec<_>>().into())
    },
};
