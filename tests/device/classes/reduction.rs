//! Reductions, normalizations of rows, and scans.

use super::elementwise::maybe_smooth;
use crate::draw::{Dim, Draw, Value, Values};

/// Draws a reduction over any axes.
pub fn draw(draw: &mut Draw) {
    let shape = draw.shape((1, 4), 8000);
    let op = *draw.rng.pick(&["sum", "max", "min", "mean", "prod", "argmax", "argmin", "variance", "std", "softmax"]);
    let dtype = match op {
        "sum" | "max" | "min" | "argmax" | "argmin" => {
            *draw.rng.pick(&["float32", "float32", "float16", "int32", "int64", "int8"])
        }
        _ => "float32",
    };
    draw.tolerance = if dtype == "float16" { 1e-2 } else { 1e-4 };
    let is_selecting = ["max", "min", "argmax", "argmin"].contains(&op);
    let values = match op {
        _ if is_selecting && draw.rng.chance(40) => Values::Special,
        "prod" => Values::Between(1, 1),
        "sum" if dtype == "float16" => Values::Between(-1, 1),
        _ => Values::Between(-4, 4),
    };
    let x = draw.param(dtype, &shape, values);
    // Functions before a selection could change which of two elements is larger.
    let x = if is_selecting { x } else { maybe_smooth(draw, x) };
    let keep = if draw.rng.chance(50) { "True" } else { "False" };
    let axis = draw.axis(&x);
    let call = match op {
        "softmax" => format!("R.nn.softmax({}, axis={axis})", x.name),
        "argmax" | "argmin" if draw.rng.chance(80) => format!("R.{op}({}, axis={axis}, keepdims={keep})", x.name),
        _ if !op.starts_with("arg") && draw.rng.chance(80) => {
            let axes: Vec<usize> = (0..x.rank()).filter(|other| *other == axis || draw.rng.chance(40)).collect();
            format!("R.{op}({}, axis={axes:?}, keepdims={keep})", x.name)
        }
        _ => format!("R.{op}({}, keepdims={keep})", x.name),
    };
    let reduced = draw.bind(call, if op.starts_with("arg") { "int64" } else { dtype }, Vec::new());
    let reduced = if op == "prod" { reduced } else { maybe_smooth(draw, reduced) };
    draw.result(reduced.name);
}

/// Draws a normalization, with functions around it.
pub fn draw_rows(draw: &mut Draw) {
    let shape = draw.shape((2, 4), 8000);
    let dtype = *draw.rng.pick(&["float32", "float32", "float32", "float16"]);
    draw.tolerance = if dtype == "float16" { 1e-2 } else { 1e-4 };
    let x = draw.param(dtype, &shape, Values::Between(-4, 4));
    let x = maybe_smooth(draw, x);
    let axis = draw.axis(&x);
    let call = match draw.rng.below(6) {
        0 => format!("R.nn.log_softmax({}, axis={axis})", x.name),
        1 => format!("R.nn.softmax({}, axis={axis})", x.name),
        2 => {
            let count = draw.rng.between(1, 2) as usize;
            let [gamma, beta] =
                [1, 2].map(|high| draw.param(dtype, &shape[shape.len() - count..], Values::Between(-1, high)));
            let axes: Vec<i64> = (0..count as i64).map(|at| at - count as i64).collect();
            format!("R.nn.layer_norm({}, {}, {}, axes={axes:?})", x.name, gamma.name, beta.name)
        }
        3 => {
            let weight = draw.param(dtype, &shape[shape.len() - 1..], Values::Between(-1, 1));
            format!("R.nn.rms_norm({}, {}, axes=[-1])", x.name, weight.name)
        }
        4 if shape.len() > 2 => {
            let [gamma, beta] = [1, 2].map(|high| draw.param(dtype, &shape[1..2], Values::Between(-1, high)));
            let axes: Vec<usize> = (2..shape.len()).collect();
            format!("R.nn.instance_norm({}, {}, {}, channel_axis=1, axes={axes:?})", x.name, gamma.name, beta.name)
        }
        _ => {
            let [a, b, c] = [1, 2, 3].map(|high| draw.param(dtype, &shape[1..2], Values::Between(-1, high)));
            let d = draw.param(dtype, &shape[1..2], Values::Between(1, 2));
            let stats = [a, b, c, d].map(|value| value.name).join(", ");
            format!("R.nn.batch_norm({}, {stats}, axis=1, training=False)[0]", x.name)
        }
    };
    let mut rows = draw.bind(call, dtype, shape.clone());
    if draw.rng.chance(40) {
        let other = draw.param(dtype, &shape, Values::Between(-1, 1));
        rows = draw.bind(format!("R.add({}, {})", rows.name, other.name), dtype, shape);
    }
    let rows = maybe_smooth(draw, rows);
    draw.result(rows.name);
}

/// Draws a scan along an axis, or of all elements.
pub fn draw_scan(draw: &mut Draw) {
    let shape = draw.shape((1, 3), 4000);
    let dtype = *draw.rng.pick(&["float32", "float32", "int32", "int64", "int8"]);
    let op = *draw.rng.pick(&["cumsum", "cumsum", "cumprod"]);
    draw.tolerance = 1e-4;
    let x = draw.param(dtype, &shape, if op == "cumprod" { Values::Between(1, 1) } else { Values::Between(-4, 4) });
    let x = if op == "cumprod" { x } else { maybe_smooth(draw, x) };
    let axis = if draw.rng.chance(80) { format!(", axis={}", draw.axis(&x)) } else { String::new() };
    let exclusive = if draw.rng.chance(30) { ", exclusive=True" } else { "" };
    let wide = if dtype == "int8" { ", dtype=\"int32\"" } else { "" };
    let sums = draw.bind(
        format!("R.{op}({}{axis}{wide}{exclusive})", x.name),
        if wide.is_empty() { dtype } else { "int32" },
        Vec::new(),
    );
    let sums = maybe_smooth(draw, Value { shape: vec![Dim::known(1)], ..sums });
    draw.result(sums.name);
}
