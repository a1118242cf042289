//! Element-wise operators and broadcasts, of all dtypes.

use crate::draw::{Dim, Draw, Value, Values};

const FLOATS: [&str; 3] = ["float32", "float32", "float16"];
const INTEGERS: [&str; 4] = ["int32", "int64", "int8", "uint8"];
/// Functions of floating-point numbers that are continuous; `_` is the operand.
const SMOOTH: [&str; 20] = [
    "R.exp(R.tanh(_))",
    "R.tanh(_)",
    "R.sigmoid(_)",
    "R.nn.relu(_)",
    "R.nn.gelu(_)",
    "R.nn.silu(_)",
    "R.erf(_)",
    "R.sqrt(R.abs(_))",
    "R.log(R.add(R.abs(_), R.const(1.0, \"#\")))",
    "R.sin(_)",
    "R.cos(_)",
    "R.negative(_)",
    "R.square(R.tanh(_))",
    "R.rsqrt(R.add(R.abs(_), R.const(0.5, \"#\")))",
    "R.atan(_)",
    "R.nn.softplus(_)",
    "R.clip(_, -1.5, 2.0)",
    "R.nn.leakyrelu(_, 0.1)",
    "R.nn.gelu_tanh(_)",
    "R.sinh(R.tanh(_))",
];
/// Functions that jump: only of numbers that are exact.
const EXACT: [&str; 10] = [
    "R.floor(_)",
    "R.ceil(_)",
    "R.round(_)",
    "R.trunc(_)",
    "R.sign(_)",
    "R.abs(_)",
    "R.nn.relu6(_)",
    "R.astype(R.isnan(_), \"#\")",
    "R.astype(R.isfinite(_), \"#\")",
    "R.where(R.greater(_, R.const(0.5, \"#\")), _, R.const(2.0, \"#\"))",
];

/// Draws a shape and operands that broadcast to it.
pub fn draw(draw: &mut Draw) {
    let shape = draw.shape((0, 4), 6000);
    match draw.rng.below(10) {
        0..=5 => floats(draw, &shape),
        6..=8 => integers(draw, &shape),
        _ => booleans(draw, &shape),
    }
}

/// A shape that broadcasts to another.
fn broadcast(draw: &mut Draw, shape: &[Dim]) -> Vec<Dim> {
    let dropped = if draw.rng.chance(30) { draw.rng.below(shape.len() as u64 + 1) as usize } else { 0 };
    let one = |dim: &Dim| if draw.rng.chance(25) { Dim::known(1) } else { dim.clone() };
    shape[dropped..].iter().map(one).collect()
}

/// A function of a value, of those that a list has.
pub fn applied(draw: &mut Draw, functions: &[&str], of: &Value) -> Value {
    let function = draw
        .rng
        .pick(functions)
        .replace("(_", &format!("({}", of.name))
        .replace(" _,", &format!(" {},", of.name))
        .replace('#', of.dtype);
    draw.bind(function, of.dtype, of.shape.clone())
}

/// Maybe a continuous function of a value.
pub fn maybe_smooth(draw: &mut Draw, of: Value) -> Value {
    if of.is_float() && draw.rng.chance(40) { applied(draw, &SMOOTH, &of) } else { of }
}

fn floats(draw: &mut Draw, shape: &[Dim]) {
    let dtype = *draw.rng.pick(&FLOATS);
    if dtype == "float16" {
        draw.tolerance = 4e-3;
    }
    let values = if draw.rng.chance(30) { Values::Special } else { Values::Between(-4, 4) };
    let first = draw.param(dtype, shape, values);
    let mut value = if draw.rng.chance(40) { applied(draw, &EXACT, &first) } else { first.clone() };
    for _ in 0..draw.rng.between(1, 4) {
        if draw.rng.chance(50) {
            value = applied(draw, &SMOOTH, &value);
            continue;
        }
        let other = broadcast(draw, shape);
        let other = draw.param(dtype, &other, Values::Between(-4, 4));
        let (a, b) = if draw.rng.chance(50) { (&value, &other) } else { (&other, &value) };
        let call = match draw.rng.below(7) {
            0 => format!("R.divide({}, R.add(R.abs({}), R.const(1.0, \"{dtype}\")))", a.name, b.name),
            1 => format!("R.multiply(R.tanh({}), {})", a.name, b.name),
            2 => format!("R.where(R.less({}, {}), {}, {})", first.name, other.name, a.name, b.name),
            n => format!("R.{}({}, {})", ["add", "subtract", "maximum", "minimum"][n as usize - 3], a.name, b.name),
        };
        value = draw.bind(call, dtype, shape.to_vec());
    }
    draw.result(value.name.clone());
    if draw.rng.chance(20) {
        let to = *draw.rng.pick(&["float32", "float16", "float64"]);
        draw.tolerance = if to == "float16" { 4e-3 } else { draw.tolerance };
        let cast = draw.bind_any(format!("R.astype({}, \"{to}\")", value.name));
        draw.result(cast);
    }
}

fn integers(draw: &mut Draw, shape: &[Dim]) {
    let dtype = *draw.rng.pick(&INTEGERS);
    let low = if dtype == "uint8" { 0 } else { -100 };
    let mut value = draw.param(dtype, shape, Values::Between(low, 100));
    for _ in 0..draw.rng.between(1, 4) {
        let other = broadcast(draw, shape);
        let other = draw.param(dtype, &other, Values::Between(1, 7));
        let op = *draw.rng.pick(&[
            "add",
            "subtract",
            "multiply",
            "maximum",
            "minimum",
            "bitwise_and",
            "bitwise_or",
            "bitwise_xor",
            "left_shift",
            "right_shift",
            "floor_divide",
            "floor_mod",
            "mod",
        ]);
        value = draw.bind(format!("R.{op}({}, {})", value.name, other.name), dtype, shape.to_vec());
        if draw.rng.chance(25) {
            let op = *draw.rng.pick(&["abs", "negative", "bitwise_not", "sign"]);
            value = draw.bind(format!("R.{op}({})", value.name), dtype, shape.to_vec());
        }
    }
    draw.result(value.name.clone());
    let to = *draw.rng.pick(&["int32", "int64", "int8", "bool", "float32", "float16"]);
    let small = draw.bind_any(format!("R.floor_mod({}, R.const(11, \"{dtype}\"))", value.name));
    let cast = draw.bind_any(format!("R.astype({small}, \"{to}\")"));
    draw.result(cast);
}

fn booleans(draw: &mut Draw, shape: &[Dim]) {
    let a = draw.param("bool", shape, Values::Between(-2, 2));
    let other = broadcast(draw, shape);
    let b = draw.param("bool", &other, Values::Between(-2, 2));
    let op = *draw.rng.pick(&["logical_and", "logical_or", "logical_xor", "equal", "bitwise_and"]);
    let c = draw.bind(format!("R.{op}({}, {})", a.name, b.name), "bool", shape.to_vec());
    let not = draw.bind_any(format!("R.logical_not({})", c.name));
    let picked = draw.bind_any(format!("R.where({not}, R.const(1.5, \"float32\"), R.const(-2.0, \"float32\"))"));
    draw.result(not);
    draw.result(picked);
}
