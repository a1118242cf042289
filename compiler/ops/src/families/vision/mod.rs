//! Detection: regions of interest, boxes and their suppression.

mod boxes;
mod multibox;
mod nms;
mod roi;
mod suppress;

use crate::op::Op;

/// The operators of these families.
pub fn ops() -> Vec<Op> {
    let mut ops = roi::ops();
    ops.extend(nms::ops());
    ops.extend(multibox::ops());
    ops
}
