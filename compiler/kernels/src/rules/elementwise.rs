//! Stages whose elements are computed on their own.

use super::{Choice, Loops, Rule, lanes, spatial};
use crate::{
    plan::Loop,
    stage::{Stage, access::vector_axis},
};

/// Vectors along memory.
pub static RULE: Rule = Rule {
    name: "elementwise",
    doc: "Each element on its own. Where the result and everything that is loaded are contiguous along an axis, its \
          neighbours are lanes, two registers of them, so that operations do not wait for each other.",
    plan,
};

fn plan(stage: &Stage, choice: &Choice) -> Option<Loops> {
    let vector = vector_axis(stage).and_then(|axis| Some((axis, lanes(stage, axis, 2, choice.target)?)));
    let outer = spatial(stage).map(|axis| match vector {
        Some((v, lanes)) if v == axis => Loop::by(axis, lanes),
        _ => Loop::serial(axis),
    });
    Some(outer.chain(vector.map(|(axis, _)| Loop::vector(axis))).collect::<Vec<_>>().into())
}
