//! Pads the leading dimension of intermediates whose row stride is a multiple of 2 KiB, to avoid cache-set conflicts.
//!
//! A convolution's tile loads several rows at once. Addresses a multiple of [`L1_SET_STRIDE`] apart map to the same L1
//! set: rows of 512 floats alternate between two sets. If a stage of the kernel produces the data, as padding does, its
//! rows can be longer:
//!
//! ```text
//! data: (16, 16, 512)       data: (16, 16, 528)
//! ```
//!
//! The buffer must be row-major, of scalars of at least 8 bits, with a last dimension of known size; the others may be
//! dynamic. Its only consumer must be a contraction that loads it without a predicate, at a row that is affine in an
//! axis of the results: rows that other reductions (max pooling) or element-wise stages load stay as they are.

use crate::{
    Stage,
    access::{contraction_operands, is_load_of},
    index::Simplifier,
    map_loads,
    transforms::{Transform, rewrite_pairs},
};
use hammock_ir::{PrimExpr, prim::PrimKind, tir::Buffer};
use hammock_target::assumed_machine::{CACHE_LINE_BYTES, L1_SET_STRIDE};

/// See the module's documentation.
pub static TRANSFORM: Transform = Transform {
    name: "pad-leading-dim",
    doc: "Pads rows that would map to the same cache sets",
    may_alias: false,
    suits_gpus: false,
    run: |kernel, scope| rewrite_pairs(kernel, scope, rewrite),
};

/// Number of distinct sets that rows may alternate between for padding to be worthwhile.
const MAX_SETS: i64 = 2;

/// Returns the stage with padded rows, and the contraction over them, if it loads several conflicting rows.
fn rewrite(stage: &Stage, sum: &Stage) -> Option<(Stage, Stage)> {
    contraction_operands(sum)?;
    let mut loads = Vec::new();
    sum.value.walk(&mut |e| loads.extend(is_load_of(e, &stage.buffer).then(|| e.clone())));
    let conflicts = loads.iter().any(|load| has_set_conflicts(sum, load));
    let padded = conflicts.then(|| pad_rows(&stage.buffer))??;
    let redirected = |load: &PrimExpr| match load.kind() {
        PrimKind::Load(_, indices, _) => PrimExpr::load(&padded, indices.clone()),
        _ => load.clone(),
    };
    let sum = sum.map_values(|value| map_loads(value, &stage.buffer, &redirected));
    Some((Stage { buffer: padded, ..stage.clone() }, sum))
}

/// Returns true if adjacent results load from rows that map to few cache sets.
fn has_set_conflicts(sum: &Stage, load: &PrimExpr) -> bool {
    let PrimKind::Load(buffer, indices, None) = load.kind() else { return false };
    let ([.., row, _], Some(bytes)) = (indices.as_slice(), row_bytes(buffer)) else { return false };
    let mut steps = sum.axes.iter().filter(|axis| !axis.reduce && axis.extent.as_int() != Some(1)).filter_map(|axis| {
        let step = Simplifier::default().poly(row).coefficient(&axis.var)?.as_constant()?;
        step.checked_mul(bytes).filter(|step| *step != 0)
    });
    steps.any(|step| step % (L1_SET_STRIDE / MAX_SETS) == 0)
}

fn row_bytes(buffer: &Buffer) -> Option<i64> {
    let bytes = i64::from(buffer.dtype.bits) / 8;
    buffer.shape.last()?.as_int()?.checked_mul(bytes).filter(|_| buffer.strides.is_empty() && buffer.dtype.is_scalar())
}

/// Returns a buffer whose rows are a cache line longer.
fn pad_rows(buffer: &Buffer) -> Option<Buffer> {
    let padding = CACHE_LINE_BYTES * 8 / i64::from(buffer.dtype.bits);
    let mut shape = buffer.shape.clone();
    let last = shape.last_mut()?;
    *last = PrimExpr::int(last.as_int()?.checked_add(padding)?, last.dtype());
    Some(Buffer::new(buffer.name.clone(), shape, buffer.dtype))
}
