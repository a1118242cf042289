//! Coalesces small groups of elements that a stage only copies into single wider elements.
//!
//! For example, pairs of float32 that a permutation moves together are copied as 64-bit integers, which vectorize.

use crate::{
    Stage,
    transforms::{Transform, rewrite_stages},
};
use hammock_ir::{DType, PrimExpr, prim::PrimKind, tir::Buffer};

/// See the module's documentation.
pub static TRANSFORM: Transform = Transform {
    name: "coalesce-elements",
    doc: "Copies several small elements as one",
    may_alias: true,
    suits_gpus: true,
    run: |kernel, _| rewrite_stages(kernel, apply),
};

/// Maximum bits of an element.
const MAX_BITS: i64 = 64;

/// Coalesces the elements along the last axis, if there are few and they are contiguous on both sides.
fn apply(stage: &mut Stage) {
    let Some(axis) = stage.is_copy().then(|| last_axis(stage)).flatten() else { return };
    let PrimKind::Load(from, indices, _) = stage.value.kind() else { return };
    let count = stage.axes[axis].extent.as_int().unwrap_or(1);
    let element = from.dtype.bytes() as i64;
    let dtype = DType::uint((8 * element * count) as u8);
    let wide = |buffer: &Buffer| {
        buffer.change(|b| {
            b.dtype = dtype;
            b.align = element;
            b.shape.pop();
        })
    };
    stage.value = PrimExpr::load(&wide(from), indices[..indices.len() - 1].to_vec());
    stage.buffer = wide(&stage.buffer);
    stage.indices.pop();
    stage.axes.remove(axis);
}

/// Returns the axis that is all of the last dimension on both sides, if its elements fit into one.
fn last_axis(stage: &Stage) -> Option<usize> {
    let PrimKind::Load(from, indices, None) = stage.value.kind() else { return None };
    let last = indices.last()?.as_var()?;
    let at = stage.axes.iter().position(|axis| axis.var == *last)?;
    let axis = &stage.axes[at];
    let count = axis.extent.as_int()?;
    let bits = count.checked_mul(8 * from.dtype.bytes() as i64)?;
    let ends = |buffer: &Buffer, indices: &[PrimExpr]| {
        let plain = buffer.strides.is_empty() && buffer.axis_separators.is_empty() && buffer.elem_offset.is_none();
        let last = indices.last().and_then(PrimExpr::as_var) == Some(&axis.var);
        let whole = buffer.shape.last().and_then(PrimExpr::as_int) == Some(count);
        let others = indices.iter().rev().skip(1).all(|index| !index.uses(&axis.var));
        plain && last && whole && others && buffer.ndim() == indices.len() && buffer.dtype.is_scalar()
    };
    let fits = count > 1
        && bits <= MAX_BITS
        && (bits as u64).is_power_of_two()
        && (from.dtype.bits >= 8 || from.dtype.is_bool());
    (fits && stage.axes.len() > 1 && ends(from, indices) && ends(&stage.buffer, &stage.indices)).then_some(at)
}
