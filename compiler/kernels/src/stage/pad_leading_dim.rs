//! Data whose rows lie apart by a power of two, given a little room between them.
//!
//! A tile of a convolution loads from several rows of its data at once. Elements a multiple of [`PERIOD`] apart compete for
//! the same few lines of the first cache, so rows of 512 floats leave two places for all of them. Where a stage of the kernel
//! makes the data, as a padding does, its rows can be longer than what they hold:
//!
//! ```text
//! data: (16, 16, 512)       data: (16, 16, 528)
//! ```

use super::{
    Kernel, Part, Stage,
    access::{factors, is_load_of},
    fuse::handed_on,
    map_loads,
};
use crate::index::Simplifier;
use hammock_ir::{PrimExpr, prim::PrimKind, tir::Buffer};

/// How many bytes apart elements share a place in the first cache: its size by its ways.
const PERIOD: i64 = 4096;

/// How many rows may lie in different places before they share them again, so that room between them is worth it.
const FEW_PLACES: i64 = 2;

/// The bytes between rows: a line of a cache.
const ROOM: i64 = 64;

/// Gives rows room where sums of products load several that share places. `own` are the kernel's buffers. Returns those
/// that it needs besides.
pub fn part(kernel: &mut Kernel, own: &[Buffer]) -> Vec<Buffer> {
    let mut made = Vec::new();
    for at in 0..kernel.parts.len() {
        let Some((user, stage, sum)) = parted(&kernel.parts, at, own) else { continue };
        made.push(stage.buffer.clone());
        kernel.parts[at] = Part::Stage(stage);
        kernel.parts[user] = Part::Stage(sum);
    }
    made
}

/// The number of the sum that uses a stage's data alone, the stage with room between its rows, and the sum over it.
fn parted(parts: &[Part], at: usize, own: &[Buffer]) -> Option<(usize, Stage, Stage)> {
    let (stage, user, sum) = handed_on(parts, at, own)?;
    factors(sum)?;
    let mut loads = Vec::new();
    sum.value.walk(&mut |e| loads.extend(is_load_of(e, &stage.buffer).then(|| e.clone())));
    let crowded = loads.iter().any(|load| is_crowded(sum, load));
    let apart = crowded.then(|| with_room(&stage.buffer))??;
    let moved = |load: &PrimExpr| match load.kind() {
        PrimKind::Load(_, indices, _) => PrimExpr::load(&apart, indices.clone()),
        _ => load.clone(),
    };
    let sum = Stage { value: map_loads(&sum.value, &stage.buffer, &moved), ..sum.clone() };
    Some((user, Stage { buffer: apart, ..stage.clone() }, sum))
}

/// Returns true if neighbouring results load from rows that share a few places.
fn is_crowded(sum: &Stage, load: &PrimExpr) -> bool {
    let PrimKind::Load(buffer, indices, None) = load.kind() else { return false };
    let ([.., row, _], Some(bytes)) = (indices.as_slice(), row_bytes(buffer)) else { return false };
    let mut steps = sum.axes.iter().filter(|axis| !axis.reduce && axis.extent.as_int() != Some(1)).filter_map(|axis| {
        let step = Simplifier::default().poly(row).coefficient(&axis.var)?.as_constant()?;
        step.checked_mul(bytes).filter(|step| *step != 0)
    });
    steps.any(|step| step % (PERIOD / FEW_PLACES) == 0)
}

fn row_bytes(buffer: &Buffer) -> Option<i64> {
    let bytes = i64::from(buffer.dtype.bits) / 8;
    buffer.shape.last()?.as_int()?.checked_mul(bytes).filter(|_| buffer.strides.is_empty() && buffer.dtype.is_scalar())
}

/// A buffer like this one with longer rows.
fn with_room(buffer: &Buffer) -> Option<Buffer> {
    let room = ROOM * 8 / i64::from(buffer.dtype.bits);
    let mut shape = buffer.shape.clone();
    let last = shape.last_mut()?;
    *last = PrimExpr::int(last.as_int()?.checked_add(room)?, last.dtype());
    Some(Buffer::new(buffer.name.clone(), shape, buffer.dtype))
}
