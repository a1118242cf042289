//! Scatters: elements, slices and rows, updated and combined.

use super::elementwise::maybe_smooth;
use crate::draw::{Dim, Draw, Values};

/// Draws a scatter.
pub fn draw(draw: &mut Draw) {
    let dtype = *draw.rng.pick(&["float32", "float32", "int32", "int64"]);
    draw.tolerance = 1e-4;
    let mut shape = draw.shape((1, 3), 3000);
    for dim in &mut shape {
        if dim.size == 0 {
            *dim = Dim::known(2);
        }
    }
    let x = draw.param(dtype, &shape, Values::Between(-4, 4));
    let x = maybe_smooth(draw, x);
    let call = match draw.rng.below(4) {
        0 | 1 => elements(draw, &x.name, dtype, &shape),
        2 => rows(draw, &x.name, dtype, &shape),
        _ => slice(draw, &x.name, dtype, &shape),
    };
    let y = draw.bind(call, dtype, Vec::new());
    let y = maybe_smooth(draw, y);
    draw.result(y.name);
}

/// Indices are distinct along the last axis, so that no two updates meet; a combination takes any.
fn elements(draw: &mut Draw, x: &str, dtype: &'static str, shape: &[Dim]) -> String {
    let reduction = *draw.rng.pick(&["update", "add", "max", "min", "mul"]);
    let last = shape.len() - 1;
    let axis = if reduction == "update" { last } else { draw.rng.below(shape.len() as u64) as usize };
    let size = shape[axis].size;
    let mut indices = shape.to_vec();
    if draw.rng.chance(60) {
        indices[axis] = draw.between(1, size);
    }
    let index_dtype = *draw.rng.pick(&["int64", "int32"]);
    let values = if reduction == "update" { Values::Distinct(size) } else { Values::Between(0, size - 1) };
    let at = draw.param(index_dtype, &indices, values);
    let updates = if reduction == "mul" { Values::Between(1, 1) } else { Values::Between(-4, 4) };
    let updates = draw.param(dtype, &indices, updates);
    format!("R.scatter_elements({x}, {}, {}, axis={axis}, reduction=\"{reduction}\")", at.name, updates.name)
}

/// Rows that a vector of indices chooses.
fn rows(draw: &mut Draw, x: &str, dtype: &'static str, shape: &[Dim]) -> String {
    let count = draw.between(1, shape[0].size.min(40));
    let updates_shape = [std::slice::from_ref(&count), &shape[1..]].concat();
    let updates = draw.param(dtype, &updates_shape, Values::Between(-4, 4));
    if draw.rng.chance(50) {
        let at = draw.param("int64", std::slice::from_ref(&count), Values::Between(0, shape[0].size - 1));
        return format!("R.index_put({x}, ({},), {}, accumulate=True)", at.name, updates.name);
    }
    let at = draw.param("int64", &[count, Dim::known(1)], Values::Between(0, shape[0].size - 1));
    format!("R.scatter_nd({x}, {}, {}, reduction=\"add\")", at.name, updates.name)
}

/// A slice of one axis.
fn slice(draw: &mut Draw, x: &str, dtype: &'static str, shape: &[Dim]) -> String {
    let axis = draw.rng.below(shape.len() as u64) as usize;
    let size = shape[axis].size;
    let (start, step) = (draw.rng.between(0, size - 1), draw.rng.between(1, 3));
    let end = draw.rng.between(start, size);
    let mut sliced = shape.to_vec();
    sliced[axis] = Dim::known((end - start + step - 1) / step);
    let source = draw.param(dtype, &sliced, Values::Between(-4, 4));
    format!("R.slice_scatter({x}, {}, {start}, {end}, {step}, axis={axis})", source.name)
}
