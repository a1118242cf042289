//! Quantized operators: conversions, and matmuls and convolutions between them.

use crate::draw::{Dim, Draw, Values};

/// Draws quantized operators.
pub fn draw(draw: &mut Draw) {
    draw.tolerance = 1e-4;
    match draw.rng.below(4) {
        0 => conversions(draw),
        1 => weights(draw),
        2 => matmul(draw),
        _ => convolution(draw),
    }
}

fn conversions(draw: &mut Draw) {
    let shape = draw.shape((1, 3), 5000);
    let axis = draw.rng.below(shape.len() as u64) as usize;
    let dtype = *draw.rng.pick(&["int8", "uint8"]);
    let x = draw.param("float32", &shape, Values::Between(-8, 8));
    let (scale, zero) = if draw.rng.chance(50) {
        let channels = std::slice::from_ref(&shape[axis]);
        (
            draw.param("float32", channels, Values::Between(1, 2)).name,
            draw.param(dtype, channels, Values::Between(0, 5)).name,
        )
    } else {
        ("R.const(0.125, \"float32\")".to_owned(), format!("R.const({}, \"{dtype}\")", draw.rng.between(0, 9)))
    };
    let q = draw.bind_any(format!("R.quantize({}, {scale}, {zero}, axis={axis}, out_dtype=\"{dtype}\")", x.name));
    let d = draw.bind_any(format!("R.dequantize({q}, {scale}, {zero}, axis={axis})"));
    draw.result(q);
    draw.result(d);
}

/// A matmul by weights of 8 bits with a scale for each column.
fn weights(draw: &mut Draw) {
    let (m, n, k) = (draw.dim(33), draw.full_dim(65), draw.full_dim(129));
    let x = draw.param("float32", &[m, k.clone()], Values::Between(-2, 2));
    let w = draw.param("int8", &[k, n.clone()], Values::Between(-100, 100));
    let scale = draw.param("float32", std::slice::from_ref(&n), Values::Between(1, 2));
    let zero = draw.param("int8", &[n], Values::Between(-2, 2));
    let d = draw.bind_any(format!("R.dequantize({}, {}, {}, axis=1)", w.name, scale.name, zero.name));
    let y = draw.bind_any(format!("R.matmul({}, {d})", x.name));
    draw.result(y);
}

/// A matmul between dequantized operands, with its result quantized.
fn matmul(draw: &mut Draw) {
    let (m, n, k) = (draw.dim(40), draw.full_dim(65), draw.full_dim(65));
    let dtype = *draw.rng.pick(&["int8", "uint8"]);
    let x = draw.param(dtype, &[m, k.clone()], Values::Between(0, 100));
    let w = draw.param("int8", &[k, n.clone()], Values::Between(-100, 100));
    let a = draw.bind_any(format!("R.dequantize({}, R.const(0.125, \"float32\"), R.const(3, \"{dtype}\"))", x.name));
    let b = draw.bind_any(format!("R.dequantize({}, R.const(0.25, \"float32\"), R.const(0, \"int8\"))", w.name));
    let y = draw.bind_any(format!("R.matmul({a}, {b})"));
    let y = if draw.rng.chance(50) { draw.bind_any(format!("R.nn.relu({y})")) } else { y };
    let q = draw.bind_any(format!(
        "R.quantize({y}, R.const(8.0, \"float32\"), R.const(3, \"{dtype}\"), out_dtype=\"{dtype}\")"
    ));
    draw.result(q);
}

fn convolution(draw: &mut Draw) {
    let (batch, height, width) = (draw.between(1, 2), draw.between(3, 12), draw.between(3, 12));
    let (inside, outside) = (draw.rng.between(1, 6), draw.rng.between(1, 9));
    let shape = [batch, Dim::known(inside), height, width];
    let x = draw.param("uint8", &shape, Values::Between(0, 100));
    let w = draw.param("int8", &[outside, inside, 3, 3].map(Dim::known), Values::Between(-100, 100));
    let a = draw.bind_any(format!("R.dequantize({}, R.const(0.125, \"float32\"), R.const(3, \"uint8\"))", x.name));
    let b =
        draw.bind_any(format!("R.dequantize({}, R.const(0.25, \"float32\"), R.const(0, \"int8\"), axis=0)", w.name));
    let stride = draw.rng.between(1, 2);
    let y = draw.bind_any(format!("R.nn.conv2d({a}, {b}, strides=[{stride}, {stride}], padding=[1, 1])"));
    let q = draw
        .bind_any(format!("R.quantize({y}, R.const(4.0, \"float32\"), R.const(3, \"uint8\"), out_dtype=\"uint8\")"));
    draw.result(q);
}
