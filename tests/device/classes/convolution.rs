//! Convolutions and pooling.

use super::elementwise::maybe_smooth;
use crate::draw::{Dim, Draw, Values};

/// Draws a convolution: grouped, depthwise, strided, dilated, transposed.
pub fn draw(draw: &mut Draw) {
    draw.tolerance = 1e-4;
    let dims = draw.rng.between(1, 3) as usize;
    let is_transposed = draw.rng.chance(30);
    let groups = *draw.rng.pick(&[1, 1, 1, 2, 3, 4]);
    // A depthwise convolution has one channel in each group.
    let (inside, outside) = if draw.rng.chance(25) {
        (1, draw.rng.between(1, 2))
    } else {
        (draw.rng.between(1, 5), draw.rng.between(1, 9))
    };
    let (kernel, stride) = (draw.rng.between(1, 4), draw.rng.between(1, 3));
    let (padding, dilation) = (draw.rng.between(0, 2), draw.rng.between(1, 2));
    let reach = dilation * (kernel - 1) + 1;
    let most = if dims == 3 { 7 } else { 19 };
    let sizes: Vec<Dim> = (0..dims).map(|_| draw.between(reach.min(most), most.max(reach))).collect();
    let batch = draw.between(1, 3);
    let kernel = vec![Dim::known(kernel); dims];
    let x = draw.param("float32", &[vec![batch, Dim::known(groups * inside)], sizes].concat(), Values::Between(-2, 2));
    let x = maybe_smooth(draw, x);
    let channels = if is_transposed { [groups * inside, outside] } else { [groups * outside, inside] };
    let w = draw.param("float32", &[channels.map(Dim::known).to_vec(), kernel].concat(), Values::Between(-1, 1));
    let list = |value: i64| format!("{:?}", vec![value; dims]);
    let (name, more) =
        if is_transposed { ("_transpose", String::new()) } else { ("", format!(", dilation={}", list(dilation))) };
    let padding = if is_transposed { padding.min(reach - 1).min(1) } else { padding };
    let call = format!(
        "R.nn.conv{dims}d{name}({}, {}, strides={}, padding={}, groups={groups}{more})",
        x.name,
        w.name,
        list(stride),
        list(padding),
    );
    let mut y = draw.bind(call, "float32", Vec::new());
    if draw.rng.chance(50) {
        let ones = vec![Dim::known(1); dims];
        let shape = [vec![Dim::known(1), Dim::known(groups * outside)], ones].concat();
        let bias = draw.param("float32", &shape, Values::Between(-2, 2));
        y = draw.bind(format!("R.add({}, {})", y.name, bias.name), "float32", Vec::new());
    }
    let y = maybe_smooth(draw, y);
    draw.result(y.name);
}

/// Draws a pooling.
pub fn draw_pooling(draw: &mut Draw) {
    draw.tolerance = 1e-4;
    let dims = draw.rng.between(1, 3) as usize;
    let (pool, stride) = (draw.rng.between(1, 3), draw.rng.between(1, 3));
    let padding = draw.rng.between(0, pool / 2);
    let most = if dims == 3 { 8 } else { 33 };
    let sizes: Vec<Dim> = (0..dims).map(|_| draw.between(pool, most)).collect();
    let (batch, channels) = (draw.dim(3), draw.between(1, 7));
    let op = *draw.rng.pick(&["max", "avg"]);
    let values = if op == "max" && draw.rng.chance(30) { Values::Special } else { Values::Between(-4, 4) };
    let x = draw.param("float32", &[vec![batch, channels], sizes].concat(), values);
    let list = |value: i64| format!("{:?}", vec![value; dims]);
    let ceil = if draw.rng.chance(30) { ", ceil_mode=True" } else { "" };
    let include = if op == "avg" && draw.rng.chance(50) { ", count_include_pad=True" } else { "" };
    let call = format!(
        "R.nn.{op}_pool{dims}d({}, pool_size={}, strides={}, padding={}{ceil}{include})",
        x.name,
        list(pool),
        list(stride),
        list(padding),
    );
    let y = draw.bind(call, "float32", Vec::new());
    let y = maybe_smooth(draw, y);
    draw.result(y.name);
}
