//! Transforms of stages, as a list.
//!
//! Each rewrites the stages of a kernel, which print as block TIR after it (`hammock opt --emit TRANSFORM`).

mod coalesce_elements;
mod collapse_axes;
mod drop_unread_values;
pub mod fuse;
mod hoist_upcast;
mod pad_leading_dim;
mod polyphase_layout;
mod precompute_tables;
mod remove_zero_insertion;
pub mod row_tiling;

use super::{Kernel, Part, Stage, consumers::single_consumer};
use hammock_ir::{
    prim::Var,
    tir::{Buffer, PrimFunc},
};
use rustc_hash::FxHashSet;

/// A transform of stages.
pub struct Transform {
    /// Its name.
    pub name: &'static str,
    /// Its effect, in a line.
    pub doc: &'static str,
    /// True if it also runs on functions whose parameters may alias.
    pub may_alias: bool,
    pub(super) run: fn(&mut Kernel, &mut Scope<'_>),
}

/// The function around the stages.
pub(super) struct Scope<'a> {
    pub func: &'a PrimFunc,
    /// Buffers of the kernel, to which transforms may add.
    pub own: &'a mut Vec<Buffer>,
    /// True if masked loads cost no more than others.
    pub masks: bool,
}

/// All transforms, in order.
pub static TRANSFORMS: &[Transform] = &[
    Transform {
        name: "fuse",
        doc: "Inlines producers into their consumers, and attaches epilogues to reductions",
        may_alias: false,
        run: |kernel, scope| fuse::apply(kernel, scope.own, scope.masks),
    },
    Transform {
        name: "remove-zero-insertion",
        doc: "Decomposes transposed convolutions into phases that skip the inserted zeros",
        may_alias: false,
        run: |kernel, scope| {
            let added = remove_zero_insertion::apply(kernel, scope.own);
            if !added.is_empty() {
                scope.own.extend(added);
                fuse::apply(kernel, scope.own, scope.masks);
            }
        },
    },
    Transform {
        name: "hoist-upcast",
        doc: "Converts float16 data to float32 once, where they are produced",
        may_alias: false,
        run: |kernel, scope| rewrite_pairs(kernel, scope, hoist_upcast::rewrite),
    },
    Transform {
        name: "polyphase-layout",
        doc: "Deinterleaves the data of strided convolutions",
        may_alias: false,
        run: |kernel, scope| rewrite_pairs(kernel, scope, polyphase_layout::rewrite),
    },
    Transform {
        name: "pad-leading-dim",
        doc: "Pads rows that would map to the same cache sets",
        may_alias: false,
        run: |kernel, scope| rewrite_pairs(kernel, scope, pad_leading_dim::rewrite),
    },
    Transform {
        name: "row-tiling",
        doc: "Groups row-wise stages, which then run one block of rows at a time",
        may_alias: false,
        run: |kernel, scope| row_tiling::apply(kernel, scope.own),
    },
    Transform {
        name: "precompute-tables",
        doc: "Computes floating-point functions of the axes once, into lookup tables",
        may_alias: true,
        run: |kernel, scope| {
            let added = precompute_tables::apply(kernel);
            scope.own.extend(added);
        },
    },
    Transform {
        name: "drop-unread-values",
        doc: "Does not store the minimum or maximum of an arg-reduction that nothing reads",
        may_alias: true,
        run: |kernel, scope| drop_unread_values::apply(kernel, scope.own),
    },
    Transform {
        name: "alias-output",
        doc: "Stores an intermediate of row-tiled stages in the output's memory",
        may_alias: true,
        run: alias_outputs,
    },
    Transform {
        name: "collapse-axes",
        doc: "Collapses axes that are contiguous in every access",
        may_alias: true,
        run: |kernel, _| each_stage(kernel, collapse_axes::apply),
    },
    Transform {
        name: "coalesce-elements",
        doc: "Copies several small elements as one",
        may_alias: true,
        run: |kernel, _| each_stage(kernel, coalesce_elements::apply),
    },
];

/// Rewrites each element-wise stage that computes a local buffer together with its only consumer. `rewrite` returns
/// both, the first with a new buffer, or `None` to leave them as they are.
fn rewrite_pairs(kernel: &mut Kernel, scope: &mut Scope<'_>, rewrite: fn(&Stage, &Stage) -> Option<(Stage, Stage)>) {
    let mut added = Vec::new();
    for at in 0..kernel.parts.len() {
        let Some((producer, user, consumer)) = single_consumer(&kernel.parts, at, scope.own) else { continue };
        let Some((producer, consumer)) = rewrite(producer, consumer) else { continue };
        added.push(producer.buffer.clone());
        kernel.parts[at] = Part::Stage(producer);
        kernel.parts[user] = Part::Stage(consumer);
    }
    scope.own.extend(added);
}

/// Marks stages that access regions of buffers under other names, and aliases outputs of the others.
fn alias_outputs(kernel: &mut Kernel, scope: &mut Scope<'_>) {
    let known: FxHashSet<&Var> = scope.func.buffers().chain(scope.own.iter()).map(|known| &known.data).collect();
    let is_known = |buffer: &Buffer| known.contains(&buffer.data);
    let has_regions = |stage: &Stage| {
        let loaded = stage.loaded().into_iter().filter(|buffer| **buffer != stage.buffer);
        !stage.targets().chain(loaded).all(is_known)
    };
    for part in &mut kernel.parts {
        match part {
            Part::Stage(stage) => stage.regions = has_regions(stage),
            Part::Rows(rows) => {
                rows.stages.iter_mut().for_each(|stage| stage.regions = has_regions(stage));
                rows.alias_output();
            }
            Part::Opaque(_) => {}
        }
    }
}

/// Rewrites each stage that accesses no regions and is not row-tiled.
fn each_stage(kernel: &mut Kernel, f: fn(&mut Stage)) {
    for part in &mut kernel.parts {
        if let Part::Stage(stage) = part
            && !stage.regions
        {
            f(stage);
        }
    }
}
