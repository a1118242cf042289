//! Vector lanes: how many elements of a stage a register holds, and how many lanes a vector loop may have.

use hammock_loopnest::Stage;
use hammock_target::Target;

/// Maximum lanes of a vector during lowering; a vectorized loop of more iterations is split, or stays a loop.
pub const MAX_LANES: i64 = 64;

/// Returns the maximum lanes, up to `lanes`, whose vectors do not cross block boundaries.
pub fn lanes_within_block(lanes: i64, block: i64) -> i64 {
    (1..=lanes).rev().find(|lanes| block % lanes == 0).unwrap_or(1)
}

/// Returns the elements of one vector register. Elements of less than four bytes count as four unless they are only
/// copied, because comparisons and masks of small elements would need many registers.
pub fn register_lanes(stage: &Stage, target: &Target) -> i64 {
    let min_bytes = if stage.is_copy() { 1 } else { 4 };
    let bytes = stage.buffer.dtype.bytes().max(min_bytes) as i64;
    (i64::from(target.vector_bytes) / bytes).clamp(1, MAX_LANES)
}

/// Returns the lanes of `registers` registers, limited to the extent of the axis; `None` if there would be one.
pub fn lanes(stage: &Stage, axis: usize, registers: i64, target: &Target) -> Option<i64> {
    let one = register_lanes(stage, target);
    let most = stage.axes[axis].extent.as_int().unwrap_or(MAX_LANES);
    let lanes = (one * registers).min(MAX_LANES).min(most);
    // A partial register may have any length; several registers are filled completely.
    let lanes = if lanes > one { 1 << lanes.ilog2() } else { lanes };
    (lanes >= 2).then_some(lanes)
}
