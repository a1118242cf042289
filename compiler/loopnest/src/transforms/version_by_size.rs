//! Loop versioning: a stage with a select on dynamic sizes alone becomes two stages, of which one has no elements.
//!
//! The padding of an axis of dynamic size reflects once if the axis is long enough, which is affine, and any number of
//! times otherwise, which needs a division for each index. Only the first side can be vectorized:
//!
//! ```text
//! y[i] = n > 3 ? x[abs(i - 3)] : x[min((i - 3) % (2 * n - 2), ...)]        i: n + 3
//! y[i] = x[abs(i - 3)]                                                     i: n > 3 ? n + 3 : 0
//! y[i] = x[min((i - 3) % (2 * n - 2), ...)]                                i: n > 3 ? 0 : n + 3
//! ```
//!
//! Only of element-wise stages, where the first side can be vectorized and the select prevents it.

use super::Transform;
use crate::{
    Kernel, Part, Stage,
    access::{guarded, strided_axis, vector_axis},
    replaced,
};
use hammock_ir::{PrimExpr, prim::PrimKind};

/// See the module's documentation.
pub static TRANSFORM: Transform = Transform {
    name: "version-by-size",
    doc: "Makes two stages of one with a select on dynamic sizes, if that vectorizes the first",
    may_alias: true,
    suits_gpus: false,
    run: |kernel, _| apply(kernel),
};

fn apply(kernel: &mut Kernel) {
    kernel.parts = std::mem::take(&mut kernel.parts).into_iter().flat_map(versions).collect();
}

/// Returns the versions of a part, or the part itself.
fn versions(part: Part) -> Vec<Part> {
    let versions = match &part {
        Part::Stage(stage) => versions_of_stage(stage),
        _ => None,
    };
    versions.map_or_else(|| vec![part], |versions| versions.map(Part::Stage).into())
}

fn versions_of_stage(stage: &Stage) -> Option<[Stage; 2]> {
    if stage.reduces() || can_vectorize(stage) {
        return None;
    }
    let axis = stage.axes.iter().position(|axis| axis.extent.as_int().is_none())?;
    let mut select = None;
    stage.value.any(&mut |e| {
        select = guarded(e).filter(|(condition, ..)| is_of_sizes(condition, stage)).map(|_| e.clone());
        select.is_some()
    });
    let select = select?;
    let (condition, then, other) = guarded(&select)?;
    let version = |side: &PrimExpr, runs: &dyn Fn(PrimExpr) -> PrimExpr| {
        let mut version = Stage { value: replaced(&stage.value, &select, side), ..stage.clone() };
        version.axes[axis].extent = runs(stage.axes[axis].extent.clone());
        version
    };
    let zero = || PrimExpr::int(0, stage.axes[axis].extent.dtype());
    let first = version(then, &|extent| condition.clone().select(extent, zero()));
    let second = version(other, &|extent| condition.clone().select(zero(), extent));
    can_vectorize(&first).then_some([first, second])
}

fn can_vectorize(stage: &Stage) -> bool {
    vector_axis(stage).or_else(|| strided_axis(stage)).is_some()
}

/// Returns true if a condition depends on nothing but sizes and parameters.
fn is_of_sizes(condition: &PrimExpr, stage: &Stage) -> bool {
    let is_invariant = |e: &PrimExpr| match e.kind() {
        PrimKind::Load(..) | PrimKind::Call(_) | PrimKind::Let(..) => false,
        PrimKind::Var(var) => !stage.axes.iter().any(|axis| axis.var == *var),
        _ => true,
    };
    condition.as_int().is_none() && !condition.any(&mut |e| !is_invariant(e))
}
