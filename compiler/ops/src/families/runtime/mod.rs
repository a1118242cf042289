//! Operators that run as functions of the runtime.

mod inspect;
mod sequence;
mod set;

use crate::op::Op;

/// The operators of these families.
pub fn ops() -> Vec<Op> {
    [set::ops(), sequence::ops(), inspect::ops()].into_iter().flatten().collect()
}
