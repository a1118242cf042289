//! Images and volumes: resampling to another size, and along a grid.

mod grid_sample;
mod resize;
mod sampling;
mod taps;

use crate::op::Op;

/// The operators of these families.
pub fn ops() -> Vec<Op> {
    let mut ops = resize::ops();
    ops.extend(grid_sample::ops());
    ops
}
