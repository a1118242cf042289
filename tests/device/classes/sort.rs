//! Sorts and selections, which run on the host, between kernels of the device.

use super::elementwise::maybe_smooth;
use crate::draw::{Draw, Values};

/// Draws a sort of distinct elements.
pub fn draw(draw: &mut Draw) {
    let dtype = *draw.rng.pick(&["float32", "float32", "int32", "int64"]);
    let shape = draw.shape((1, 3), 2000);
    let row = shape.last().map_or(1, |dim| dim.size);
    let x = draw.param(dtype, &shape, Values::Distinct(row));
    let negated = draw.bind(format!("R.negative({})", x.name), dtype, shape.clone());
    // Elements are distinct along the last axis.
    let descending = if draw.rng.chance(50) { "True" } else { "False" };
    let call = match draw.rng.below(4) {
        0 => format!("R.sort({}, axis=-1, descending={descending})", negated.name),
        1 => format!("R.argsort({}, axis=-1, descending={descending}, dtype=\"int64\")", negated.name),
        2 if row > 0 => {
            let k = draw.rng.between(1, row);
            format!("R.topk({}, k={k}, axis=-1, ret_type=\"values\", largest={descending})", negated.name)
        }
        _ => format!("R.unique({})", negated.name),
    };
    let sorted = draw.bind(call, if dtype == "float32" { "float32" } else { "int64" }, Vec::new());
    let sorted = if sorted.is_float() { sorted } else { maybe_smooth(draw, sorted) };
    let doubled = draw.bind_any(format!("R.add({0}, {0})", sorted.name));
    draw.result(doubled);
}
