//! Transforms of stages, one file each.
//!
//! Each rewrites the stages of a kernel, which print as block TIR after it (`hammock opt --emit TRANSFORM`). It is
//! declared in its file, and listed in [`TRANSFORMS`].

mod alias_output;
mod coalesce_elements;
mod collapse_axes;
mod collapse_narrow_axes;
mod drop_unread_values;
mod flatten_images;
pub mod fuse;
mod hoist_upcast;
mod interchange_loops;
mod pad_leading_dim;
mod polyphase_layout;
mod precompute_tables;
mod remove_zero_insertion;
pub mod row_tiling;
mod split_group_axes;
mod split_reductions;
mod version_by_size;

use super::{Kernel, Machine, Part, Stage, consumers::single_consumer};
use hammock_ir::tir::{Buffer, PrimFunc};

/// A transform of stages.
pub struct Transform {
    /// Its name.
    pub name: &'static str,
    /// Its effect, in a line.
    pub doc: &'static str,
    /// True if it also runs on functions whose parameters may alias.
    pub may_alias: bool,
    /// True if it also runs for GPUs.
    pub suits_gpus: bool,
    pub(super) run: fn(&mut Kernel, &mut Scope<'_>),
}

/// The function around the stages.
pub(super) struct Scope<'a> {
    pub func: &'a PrimFunc,
    /// Buffers of the kernel, to which transforms may add.
    pub own: &'a mut Vec<Buffer>,
    /// Kind of machine that the stages are for.
    pub machine: Machine,
}

/// All transforms, in order.
pub static TRANSFORMS: &[&Transform] = &[
    &fuse::TRANSFORM,
    &remove_zero_insertion::TRANSFORM,
    &split_group_axes::TRANSFORM,
    &hoist_upcast::TRANSFORM,
    &polyphase_layout::TRANSFORM,
    &pad_leading_dim::TRANSFORM,
    &row_tiling::TRANSFORM,
    &precompute_tables::TRANSFORM,
    &drop_unread_values::TRANSFORM,
    &alias_output::TRANSFORM,
    &collapse_axes::TRANSFORM,
    &coalesce_elements::TRANSFORM,
    &collapse_narrow_axes::TRANSFORM,
    &flatten_images::TRANSFORM,
    &version_by_size::TRANSFORM,
    &split_reductions::TRANSFORM,
    &interchange_loops::TRANSFORM,
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

/// Rewrites each stage that accesses no regions and is not row-tiled.
fn rewrite_stages(kernel: &mut Kernel, f: fn(&mut Stage)) {
    for part in &mut kernel.parts {
        if let Part::Stage(stage) = part
            && !stage.regions
        {
            f(stage);
        }
    }
}
