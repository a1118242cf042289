//! Drops the minimum or maximum of arg-reductions whose index alone is read.

use crate::{Footprint, Kernel, Part, Stage, transforms::Transform};
use hammock_ir::tir::Buffer;

/// See the module's documentation.
pub static TRANSFORM: Transform = Transform {
    name: "drop-unread-values",
    doc: "Does not store the minimum or maximum of an arg-reduction that nothing reads",
    may_alias: true,
    suits_gpus: true,
    run: |kernel, scope| apply(kernel, scope.own),
};

/// Marks arg-reductions whose minimum or maximum is never read, and so need not be stored.
fn apply(kernel: &mut Kernel, own: &[Buffer]) {
    for at in 0..kernel.parts.len() {
        let Part::Stage(Stage { buffer, arg_result: Some(_), .. }) = &kernel.parts[at] else { continue };
        let others = kernel.parts.iter().enumerate().filter(|(other, _)| *other != at);
        let is_read = !own.contains(buffer) || others.into_iter().any(|(_, part)| Footprint::of_part(part).has(buffer));
        if let Part::Stage(Stage { arg_result: Some(arg_result), .. }) = &mut kernel.parts[at] {
            arg_result.stores_value = is_read;
        }
    }
}
