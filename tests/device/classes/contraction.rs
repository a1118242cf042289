//! Contractions: matrix-vector products, small and large matmuls, attention.

use super::elementwise::maybe_smooth;
use crate::draw::{Dim, Draw, Value, Values};

/// Draws a matmul with few rows or columns.
pub fn draw_gemv(draw: &mut Draw) {
    let (m, k) = (draw.dim(8), draw.dim(2050));
    let n = draw.dim(6000 / k.size.max(1));
    matmul(draw, &[], [m, n, k]);
}

/// Draws a matmul with a batch, or other contractions.
pub fn draw(draw: &mut Draw) {
    let (m, n, k) = (draw.dim(130), draw.dim(130), draw.dim(70));
    let batch = if draw.rng.chance(30) { draw.shape((1, 2), 6) } else { Vec::new() };
    if draw.rng.chance(12) {
        return einsum(draw, [m, n, k]);
    }
    matmul(draw, &batch, [m, n, k]);
}

fn matmul(draw: &mut Draw, batch: &[Dim], [m, n, k]: [Dim; 3]) {
    let dtype = *draw.rng.pick(&["float32", "float32", "float32", "float16", "int8", "int32"]);
    draw.tolerance = if dtype == "float16" { 1e-2 } else { 1e-4 };
    let values = if dtype == "float16" { Values::Between(-1, 1) } else { Values::Between(-4, 4) };
    let of = |draw: &mut Draw, lead: &[Dim], rows: &Dim, columns: &Dim| {
        if draw.rng.chance(35) {
            let shape = [lead, &[columns.clone(), rows.clone()]].concat();
            let stored = draw.param(dtype, &shape, values);
            let axes: Vec<usize> = (0..lead.len()).chain([lead.len() + 1, lead.len()]).collect();
            return draw.bind(format!("R.permute_dims({}, axes={axes:?})", stored.name), dtype, Vec::new());
        }
        draw.param(dtype, &[lead, &[rows.clone(), columns.clone()]].concat(), values)
    };
    let other_batch = if draw.rng.chance(50) { batch } else { &[] };
    let a = if m.size == 1 && batch.is_empty() && draw.rng.chance(30) {
        draw.param(dtype, std::slice::from_ref(&k), values)
    } else {
        of(draw, batch, &m, &k)
    };
    let b = of(draw, other_batch, &k, &n);
    let wide = if dtype == "int8" { ", out_dtype=\"int32\"" } else { "" };
    let dtype = if dtype == "int8" { "int32" } else { dtype };
    let mut c = draw.bind(format!("R.matmul({}, {}{wide})", a.name, b.name), dtype, Vec::new());
    if draw.rng.chance(50) {
        let bias = draw.param(dtype, std::slice::from_ref(&n), Values::Between(-4, 4));
        c = draw.bind(format!("R.add({}, {})", c.name, bias.name), dtype, Vec::new());
    }
    let c = maybe_smooth(draw, c);
    draw.result(c.name);
}

fn einsum(draw: &mut Draw, [m, n, k]: [Dim; 3]) {
    draw.tolerance = 1e-4;
    let subscripts = *draw.rng.pick(&["ik,kj->ij", "ki,jk->ji", "ik,jk->ij", "ik,ik->i", "ij,kj->ki"]);
    let (inputs, _) = subscripts.split_once("->").unwrap();
    let size = |letter: char| match letter {
        'i' => m.clone(),
        'j' => n.clone(),
        _ => k.clone(),
    };
    let operands: Vec<String> = inputs
        .split(',')
        .map(|letters| {
            draw.param("float32", &letters.chars().map(size).collect::<Vec<_>>(), Values::Between(-4, 4)).name
        })
        .collect();
    let c = draw.bind_any(format!("R.einsum(({}), subscripts=\"{subscripts}\")", operands.join(", ")));
    draw.result(c);
}

/// Draws an attention: of any sizes in float32, or in float16 with sizes for tensor cores.
pub fn draw_attention(draw: &mut Draw) {
    let dtype = *draw.rng.pick(&["float32", "float16"]);
    let is_short = dtype == "float16";
    draw.tolerance = if is_short { 4e-3 } else { 1e-4 };
    let (batch, heads) = (draw.between(1, 2), draw.between(1, 3));
    let shared = if draw.rng.chance(30) { Dim::known(1) } else { heads.clone() };
    let (queries, keys) = (draw.full_dim(40), draw.between(1, 100));
    let size = |draw: &mut Draw| match is_short {
        true => Dim::known(*draw.rng.pick(&[16, 32])),
        false => draw.full_dim(33),
    };
    let (depth, width) = (size(draw), size(draw));
    let shape = |length: &Dim, heads: &Dim, depth: &Dim| [batch.clone(), length.clone(), heads.clone(), depth.clone()];
    let param = |draw: &mut Draw, shape: &[Dim]| draw.param(dtype, shape, Values::Between(-1, 1));
    let q = param(draw, &shape(&queries, &heads, &depth));
    let k = param(draw, &shape(&keys, &shared, &depth));
    let v: Value = param(draw, &shape(&keys, &shared, &width));
    let args = [q, k, v].map(|value| value.name).join(", ");
    let mask = *draw.rng.pick(&["", "", ", causal_mask=\"TopLeft\"", ", causal_mask=\"BottomRight\""]);
    let call = if draw.rng.chance(30) {
        let bias = param(draw, &[batch, heads, queries, keys]);
        format!("R.nn.attention_bias({args}, {}{mask})", bias.name)
    } else {
        let scale = if draw.rng.chance(30) { ", scale=0.25" } else { "" };
        format!("R.nn.attention({args}{scale}{mask})")
    };
    let result = draw.bind_any(call);
    draw.result(result);
}
