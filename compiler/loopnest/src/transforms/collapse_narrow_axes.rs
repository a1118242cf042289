//! Collapses a narrow contiguous axis with the one before it, even if some loads depend on only one of the two.
//!
//! `y[i, j] = x[i, j] - m[j]` with three columns would fill three lanes of a vector. As `y[k] = x[k] - m[k % 3]`, each
//! vector has several rows, and starts at a whole one, so that its loads of `m` are one load and a shuffle. Loads that
//! depend on the row alone are broadcasts, `s[k // 3]`.
//!
//! Only for elementwise stages. Values that load nothing along these axes may also use their positions, as an identity
//! matrix does; others may not, since conditions on positions are resolved by unrolling them.

use super::{
    Transform,
    collapse_axes::{AxisPair, pairs},
    rewrite_stages,
};
use crate::{Stage, access::is_vectorizable};
use hammock_ir::{
    PrimExpr,
    prim::{PrimKind, check},
    tir::Buffer,
};

/// See the module's documentation.
pub static TRANSFORM: Transform = Transform {
    name: "collapse-narrow-axes",
    doc: "Collapses a narrow contiguous axis of an elementwise stage with the one before it",
    may_alias: true,
    suits_gpus: false,
    run: |kernel, _| rewrite_stages(kernel, apply),
};

/// Maximum extent of a narrow axis: several rows of it fit in a vector of 16 lanes.
const MAX_EXTENT: i64 = 8;

/// Collapses the last two axes of a store, if the last one is narrow.
pub(super) fn apply(stage: &mut Stage) {
    if stage.reduces() || !is_vectorizable(&stage.value) || stage.values().any(|value| check::count(value) > 0) {
        return;
    }
    let ends_store = |pair: &AxisPair| stage.indices.last().and_then(PrimExpr::as_var) == Some(&pair.inner.var);
    if let Some(pair) = pairs(stage).into_iter().find(|pair| ends_store(pair) && fits(pair, stage)) {
        *stage = pair.collapse(stage);
    }
}

fn fits(pair: &AxisPair, stage: &Stage) -> bool {
    let is_narrow = pair.inner.extent.as_int().is_some_and(|extent| (2..=MAX_EXTENT).contains(&extent));
    let is_long = pair.outer.extent.as_int().is_none_or(|extent| extent > 1);
    let reads_pair = stage.value.any(&mut |e| matches!(e.kind(), PrimKind::Load(..)) && pair.is_used(e));
    is_narrow && is_long && pair.fits_stores(stage) && is_expr(pair, &stage.value, !reads_pair)
}

/// Returns true if an expression has a vector form along the collapsed axis. `positions`: it may use positions outside
/// of loads.
fn is_expr(pair: &AxisPair, e: &PrimExpr, positions: bool) -> bool {
    match e.kind() {
        _ if !pair.is_used(e) => true,
        PrimKind::Load(buffer, indices, None) => {
            pair.is_access(buffer, indices) || indexes_last_dim(pair, buffer, indices)
        }
        PrimKind::Load(..) => false,
        PrimKind::Var(_) => positions,
        _ => {
            let mut fits = true;
            e.each_child(&mut |child| fits &= is_expr(pair, child, positions));
            fits
        }
    }
}

/// Returns true if one of the two axes is the last index of an access, and the other indices use neither.
fn indexes_last_dim(pair: &AxisPair, buffer: &Buffer, indices: &[PrimExpr]) -> bool {
    let Some((last, rest)) = indices.split_last() else { return false };
    let is_axis = last.as_var().is_some_and(|var| *var == pair.outer.var || *var == pair.inner.var);
    is_axis && buffer.strides.is_empty() && rest.iter().all(|index| !pair.is_used(index))
}
