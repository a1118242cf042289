//! Operators that move elements: transposes, slices, gathers.

use super::elementwise::maybe_smooth;
use crate::draw::{Dim, Draw, Value, Values};

const DTYPES: [&str; 7] = ["float32", "float32", "float16", "int8", "int32", "int64", "bool"];

/// Draws an operator, with element-wise functions before and after it.
pub fn draw(draw: &mut Draw) {
    let shape = draw.shape((1, 4), 8000);
    let dtype = *draw.rng.pick(&DTYPES);
    if dtype == "float16" {
        draw.tolerance = 4e-3;
    }
    let values = if draw.rng.chance(20) { Values::Special } else { Values::Between(-4, 4) };
    let x = draw.param(dtype, &shape, values);
    let x = maybe_smooth(draw, x);
    let call = match draw.rng.below(8) {
        0 => transposed(draw, &x),
        1 => joined(draw, &x),
        2 => cut(draw, &x),
        3 => gathered(draw, &x),
        4 => repeated(draw, &x),
        5 => reshaped(draw, &x),
        6 if x.is_float() => padded(draw, &x),
        _ => transposed(draw, &x),
    };
    let moved = draw.bind(call, dtype, Vec::new());
    let moved = maybe_smooth(draw, moved);
    draw.result(moved.name);
}

fn transposed(draw: &mut Draw, x: &Value) -> String {
    let mut axes: Vec<usize> = (0..x.rank()).collect();
    for at in (1..axes.len()).rev() {
        axes.swap(at, draw.rng.below(at as u64 + 1) as usize);
    }
    let call = format!("R.permute_dims({}, axes={axes:?})", x.name);
    if draw.rng.chance(30) {
        let shape: Vec<Dim> = axes.iter().map(|axis| x.shape[*axis].clone()).collect();
        let other = draw.param(x.dtype, &shape, Values::Between(0, 1));
        return format!("R.maximum({call}, {})", other.name);
    }
    call
}

fn joined(draw: &mut Draw, x: &Value) -> String {
    let axis = draw.axis(x);
    if draw.rng.chance(30) {
        let y = draw.param(x.dtype, &x.shape, Values::Between(-4, 4));
        return format!("R.stack(({}, {}), axis={axis})", x.name, y.name);
    }
    let mut parts = vec![x.name.clone()];
    for _ in 0..draw.rng.between(1, 3) {
        let mut shape = x.shape.clone();
        shape[axis] = draw.dim(33);
        let part = draw.param(x.dtype, &shape, Values::Between(-4, 4));
        parts.push(maybe_smooth(draw, part).name);
    }
    format!("R.concat(({}), axis={axis})", parts.join(", "))
}

fn cut(draw: &mut Draw, x: &Value) -> String {
    let axis = draw.axis(x);
    let size = x.shape[axis].size;
    match draw.rng.below(4) {
        0 => format!("R.flip({}, axis={axis})", x.name),
        1 if x.rank() >= 2 => {
            let (op, k) = (*draw.rng.pick(&["tril", "triu"]), draw.rng.between(-3, 3));
            format!("R.{op}({}, k={k})", x.name)
        }
        _ => {
            let (begin, end) = (draw.rng.between(-size - 1, size), draw.rng.between(-size, size + 1));
            let stride = *draw.rng.pick(&[1, 1, 2, 3]);
            format!("R.strided_slice({}, axes=[{axis}], begin=[{begin}], end=[{end}], strides=[{stride}])", x.name)
        }
    }
}

fn gathered(draw: &mut Draw, x: &Value) -> String {
    let axis = draw.axis(x);
    let size = x.shape[axis].size;
    let dtype = *draw.rng.pick(&["int64", "int32"]);
    if draw.rng.chance(40) {
        let mut shape = x.shape.clone();
        shape[axis] = draw.dim(65);
        let indices = draw.param(dtype, &shape, Values::Between(-size, size - 1));
        return format!("R.gather_elements({}, {}, axis={axis})", x.name, indices.name);
    }
    let shape = draw.shape((0, 2), 40);
    let indices = draw.param(dtype, &shape, Values::Between(0, (size - 1).max(0)));
    let mode = *draw.rng.pick(&["fast", "clip", "wrap"]);
    format!("R.take({}, {}, axis={axis}, mode=\"{mode}\")", x.name, indices.name)
}

fn repeated(draw: &mut Draw, x: &Value) -> String {
    let axis = draw.axis(x);
    match draw.rng.below(3) {
        0 => format!("R.repeat({}, repeats={}, axis={axis})", x.name, draw.rng.between(1, 3)),
        1 => {
            let repeats: Vec<i64> = x.shape.iter().map(|_| draw.rng.between(1, 2)).collect();
            let comma = if repeats.len() == 1 { "," } else { "" };
            let list = repeats.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
            format!("R.tile({}, repeats=({list}{comma}))", x.name)
        }
        _ => {
            let lead = draw.rng.between(1, 5);
            format!("R.broadcast_to({}, R.shape([{lead}, {}]))", x.name, x.sizes())
        }
    }
}

fn reshaped(draw: &mut Draw, x: &Value) -> String {
    match draw.rng.below(3) {
        0 => format!("R.flatten({})", x.name),
        1 => format!("R.expand_dims({}, axis=[{}])", x.name, draw.rng.below(x.rank() as u64 + 1)),
        _ => {
            let mut sizes: Vec<String> = x.shape.iter().map(|dim| dim.text.clone()).collect();
            if sizes.len() > 1 {
                let at = draw.rng.below(sizes.len() as u64 - 1) as usize;
                let next = sizes.remove(at + 1);
                sizes[at] = format!("{} * {next}", sizes[at]);
            }
            format!("R.reshape({}, R.shape([{}]))", x.name, sizes.join(", "))
        }
    }
}

fn padded(draw: &mut Draw, x: &Value) -> String {
    let widths: Vec<i64> = x.shape.iter().flat_map(|_| [draw.rng.between(0, 3), draw.rng.between(0, 3)]).collect();
    let value = draw.rng.between(-1, 2);
    format!("R.nn.pad({}, pad_width={widths:?}, pad_value={value}.0)", x.name)
}
