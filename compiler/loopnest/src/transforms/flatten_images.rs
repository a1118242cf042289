//! Makes one axis of the rows and columns of an image, for convolutions on a GPU.
//!
//! A block computes a tile of results: channels along one edge, positions in the image along the other. Rows of small
//! images leave most of the edge empty: 14 of 64 positions. The positions of all rows, and of several images if these are
//! adjacent in memory, fill it:
//!
//! ```text
//! y[n, c, i, j] = Σ x[n, k, i + u, j + v] * w[c, k, u, v]        i: 14, j: 14
//! y[n, c, p] = Σ x[n, k, p // 14 + u, p % 14 + v] * w[c, k, u, v]        p: 196
//! ```
//!
//! Only of constant extents, where that fills tiles better. Accesses that are contiguous along both axes are so along the
//! new one; `collapse-axes` has made one axis of them already if all accesses are.

use super::{
    Transform,
    collapse_axes::{AxisPair, pairs},
    rewrite_stages,
};
use crate::{
    Stage,
    access::{contraction_operands, size},
};

/// See the module's documentation.
pub static TRANSFORM: Transform = Transform {
    name: "flatten-images",
    doc: "Makes one axis of the rows and columns of an image, for convolutions on a GPU",
    may_alias: true,
    suits_gpus: true,
    run: |kernel, scope| {
        if scope.machine.is_gpu() {
            rewrite_stages(kernel, apply);
        }
    },
};

/// Edge of a tile of results.
const TILE: i64 = 64;
/// Minimum gain of the share of a tile that is used, in per cent.
const MIN_GAIN: i64 = 15;
/// Minimum extent of the other edge of a tile.
const MIN_EXTENT: i64 = 8;

fn apply(stage: &mut Stage) {
    while let Some(pair) = pairs(stage).into_iter().find(|pair| is_worthwhile(stage, pair)) {
        *stage = pair.collapse(stage);
    }
}

/// Returns true if one operand of a contraction varies along both axes, the other along an axis of results of its own, and
/// one axis fills tiles better than the inner one alone.
fn is_worthwhile(stage: &Stage, pair: &AxisPair) -> bool {
    let (Some((a, b)), Some((rows, columns))) =
        (contraction_operands(stage), pair.outer.extent.as_int().zip(pair.inner.extent.as_int()))
    else {
        return false;
    };
    let (image, other) = if a.uses(&pair.inner.var) { (a, b) } else { (b, a) };
    let is_tile = !pair.is_used(other) && image.uses(&pair.outer.var) && image.uses(&pair.inner.var);
    let mut results = stage.axes.iter().filter(|axis| !axis.reduce && size(&axis.extent) >= MIN_EXTENT);
    let has_other_edge = results.any(|axis| other.uses(&axis.var) && !image.uses(&axis.var));
    let positions = rows.saturating_mul(columns);
    let fills_better = used(positions) * 100 > used(columns) * (100 + MIN_GAIN);
    is_tile && has_other_edge && !pair.outer.reduce && columns > 0 && fills_better && pair.fits_stores(stage)
}

/// Returns the share of tiles that some positions use, in per mille.
fn used(positions: i64) -> i64 {
    let whole = positions.saturating_add(TILE - 1) / TILE * TILE;
    positions.saturating_mul(1000) / whole.max(1)
}
