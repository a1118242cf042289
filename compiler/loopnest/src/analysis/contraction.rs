//! Rows and columns of contractions.

use crate::{
    Stage,
    access::{contraction_operands, spatial, store_axis, vector_axis},
};
use hammock_ir::{PrimExpr, prim::Var};

/// Returns the row axis of a contraction's register tile.
pub fn contraction_rows(stage: &Stage) -> Option<usize> {
    let axis = vector_axis(stage)?;
    row_axis(stage, axis, vector_operand(stage, &stage.axes[axis].var)?)
}

/// Returns the contiguous axis of a contraction's results, if only one operand varies along it and rows share that one:
/// it can be packed in this order.
pub fn contraction_columns(stage: &Stage) -> Option<usize> {
    let axis = store_axis(stage)?;
    let rows = row_axis(stage, axis, vector_operand(stage, &stage.axes[axis].var)?)?;
    (stage.axes[rows].extent.as_int() != Some(1)).then_some(axis)
}

/// Returns the operand that varies along an axis, if the other one is invariant.
pub fn vector_operand<'a>(stage: &'a Stage, var: &Var) -> Option<&'a PrimExpr> {
    let (a, b) = contraction_operands(stage)?;
    (a.uses(var) != b.uses(var)).then(|| if a.uses(var) { a } else { b })
}

/// Returns the last spatial axis other than `axis` that an operand is invariant in.
pub fn row_axis(stage: &Stage, axis: usize, factor: &PrimExpr) -> Option<usize> {
    spatial(stage).rev().find(|at| *at != axis && !factor.uses(&stage.axes[*at].var))
}
