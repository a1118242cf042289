//! Aliases an intermediate of row-tiled stages with their output.
//!
//! Stages that access regions of buffers under other names are marked: their buffers have no aliases.

use crate::{
    Kernel, Part, Stage,
    transforms::{Scope, Transform},
};
use hammock_ir::{prim::Var, tir::Buffer};
use rustc_hash::FxHashSet;

/// See the module's documentation.
pub static TRANSFORM: Transform = Transform {
    name: "alias-output",
    doc: "Stores an intermediate of row-tiled stages in the output's memory",
    may_alias: true,
    suits_gpus: true,
    run: apply,
};

/// Marks stages that access regions of buffers under other names, and aliases outputs of the others.
fn apply(kernel: &mut Kernel, scope: &mut Scope<'_>) {
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
                // On a GPU, intermediates are in shared memory.
                if !scope.machine.is_gpu() {
                    rows.alias_output();
                }
            }
            Part::Opaque(_) => {}
        }
    }
}
