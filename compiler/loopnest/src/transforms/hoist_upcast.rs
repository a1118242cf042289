//! Hoists upcasts out of contractions.
//!
//! A contraction of float16 computes in float32: each tile of results converts what it loads again. If a stage of the
//! kernel produces the data, as padding does, it can convert them once:
//!
//! ```text
//! data[j] = f(j)                                wide[j] = float32(f(j))
//! out[i]  = Σ float32(data[i + k]) * w[k]       out[i]  = Σ wide[i + k] * w[k]
//! ```
//!
//! Only float16 to float32 is handled, and only if all loads of the data are upcast and one is, as such, an operand of
//! the product: in `Σ max(float32(data[i + k]), 0) * w[k]`, or without a product (pooling), upcasts stay. Dynamic sizes
//! must cancel in the number of loads per element.

use crate::{
    Stage,
    access::{contraction_operands, guarded, is_load_of},
    transforms::{
        Transform,
        polyphase_layout::{MIN_USES, element_ratio},
        rewrite_pairs,
    },
};
use hammock_ir::{DType, PrimExpr, prim::PrimKind, tir::Buffer};

/// See the module's documentation.
pub static TRANSFORM: Transform = Transform {
    name: "hoist-upcast",
    doc: "Converts float16 data to float32 once, where they are produced",
    may_alias: false,
    suits_gpus: false,
    run: |kernel, scope| rewrite_pairs(kernel, scope, rewrite),
};

/// Returns the stage with wide data, and the contraction over them.
fn rewrite(stage: &Stage, sum: &Stage) -> Option<(Stage, Stage)> {
    let narrow = &stage.buffer;
    let (a, b) = contraction_operands(sum)?;
    let factor = [a, b].into_iter().find(|factor| is_upcast_of(factor, narrow))?;
    let (dtype, extents) = (factor.dtype(), sum.axes.iter().map(|axis| &axis.extent).collect());
    let often = element_ratio(extents, &narrow.shape)? >= MIN_USES;
    // bfloat16 stays narrow for dot instructions.
    if !narrow.dtype.is_float16() || dtype != DType::FLOAT32 || !often || !windows_overlap(sum, factor) {
        return None;
    }
    let buffer = Buffer::new(narrow.name.clone(), narrow.shape.clone(), dtype);
    let value = load_wide(&sum.value, narrow, &buffer);
    let left = sum.epilogue.iter().map(|epilogue| &epilogue.value).chain([&value]);
    if left.into_iter().any(|value| value.any(&mut |e| is_load_of(e, narrow))) {
        return None;
    }
    let sum = Stage { value, ..sum.clone() };
    Some((Stage { buffer, value: cast(&stage.value, dtype), ..stage.clone() }, sum))
}

/// Returns true if an operand is an upcast of a load.
fn is_upcast_of(factor: &PrimExpr, narrow: &Buffer) -> bool {
    matches!(factor.kind(), PrimKind::Cast(load) if is_load_of(load, narrow))
}

/// Returns true if the windows of adjacent results overlap: some index combines a reduction axis and another axis.
fn windows_overlap(sum: &Stage, factor: &PrimExpr) -> bool {
    let mut found = false;
    let taps = || sum.axes.iter().filter(|axis| axis.reduce && axis.extent.as_int() != Some(1));
    factor.walk(&mut |e| {
        if let PrimKind::Load(_, indices, _) = e.kind() {
            found |= indices.iter().any(|index| index.as_var().is_none() && taps().any(|axis| index.uses(&axis.var)));
        }
    });
    found
}

/// Replaces upcasts of narrow loads by wide loads.
fn load_wide(value: &PrimExpr, narrow: &Buffer, buffer: &Buffer) -> PrimExpr {
    match value.kind() {
        PrimKind::Cast(load) if value.dtype() == buffer.dtype && is_upcast_of(value, narrow) => match load.kind() {
            PrimKind::Load(_, indices, _) => PrimExpr::load(buffer, indices.clone()),
            _ => value.clone(),
        },
        _ => value.map_children(&mut |child| load_wide(child, narrow, buffer)),
    }
}

/// Casts a value; of a padded load, both branches.
fn cast(value: &PrimExpr, dtype: DType) -> PrimExpr {
    match (guarded(value), value.kind()) {
        (Some((condition, a, b)), PrimKind::Select(..)) => condition.clone().select(cast(a, dtype), cast(b, dtype)),
        (Some((condition, a, b)), _) => condition.clone().if_then_else(cast(a, dtype), cast(b, dtype)),
        _ => hammock_ir::arith::cast(value.clone(), dtype),
    }
}
