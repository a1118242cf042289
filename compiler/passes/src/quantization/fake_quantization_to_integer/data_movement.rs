//! Operators that only move or select elements.

use super::constants::{number, scale};
use crate::{analysis::permutation::permutation, rewrite::editor::Editor};
use hammock_ir::{
    AttrValue,
    relax::{Call, Definitions, Operand, Value},
};

/// Operators whose results consist of elements of their first operand.
const MOVING: &[&str] = &[
    "broadcast_to",
    "expand_dims",
    "flip",
    "nn.batch_flatten",
    "nn.pixel_shuffle",
    "permute_dims",
    "repeat",
    "reshape",
    "squeeze",
    "strided_slice",
    "take",
    "tile",
];

/// Operators that select a maximum or minimum.
const SELECTING: &[&str] = &["max", "min", "nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d"];

/// Returns the call of `dequantize` that computes an operand, if its input is int8 or uint8.
fn dequantized_bytes(e: &Editor, operand: &Operand) -> Option<Call> {
    let call = e.op(operand, "dequantize")?;
    let dtype = e.tensor(call.args.first()?)?.dtype?;
    (dtype.is_integer() && dtype.bits == 8).then(|| call.clone())
}

/// Returns true if scale and zero point are per tensor.
fn is_single(e: &Editor, dequantize: &Call) -> bool {
    let one = |operand: &Operand| {
        let ty = e.tensor(operand);
        ty.is_some_and(|ty| ty.dims().is_some_and(|dims| dims.iter().all(|size| size.as_int() == Some(1))))
    };
    dequantize.args[1..].iter().all(one)
}

/// Moves `dequantize` after an operator.
pub fn after(e: &mut Editor, call: &Call) -> Option<Value> {
    let applies = |names: &[&str]| names.iter().any(|name| call.is_op(name));
    let dequantize = dequantized_bytes(e, call.args.first()?)?;
    let [numbers, own_scale, _] = dequantize.operands()?;
    let single = is_single(e, &dequantize);
    let mut axis = None;
    match () {
        () if applies(MOVING) && single => {}
        () if applies(SELECTING) && single && scale(e, own_scale).is_some() => {}
        () if call.is_op("permute_dims") => {
            let rank = e.tensor(numbers)?.ndim()?;
            let own = dequantize.attrs.get("axis")?.as_int()?;
            let own = if own < 0 { own + rank as i64 } else { own };
            axis = Some(permutation(call, rank)?.iter().position(|from| *from == own)? as i64);
        }
        () => return None,
    }
    let mut integer_call = call.clone();
    integer_call.args[0] = numbers.clone();
    let integer_call = e.bind(Value::Call(integer_call))?;
    Some(dequantize_like(&dequantize, integer_call, axis))
}

/// Moves `dequantize` after taking a part.
pub fn member(e: &mut Editor, value: &Value) -> Option<Value> {
    let Value::TupleGet(tuple, index) = value else { return None };
    let split = e.op(tuple, "split")?.clone();
    let dequantize = dequantized_bytes(e, split.args.first()?).filter(|call| is_single(e, call))?;
    let mut integer_call = split;
    integer_call.args[0] = dequantize.args.first()?.clone();
    let parts = e.bind(Value::Call(integer_call))?;
    let part = e.bind(Value::TupleGet(parts, *index))?;
    Some(dequantize_like(&dequantize, part, None))
}

/// Returns the same `dequantize` of other data, possibly along another axis.
fn dequantize_like(dequantize: &Call, numbers: Operand, axis: Option<i64>) -> Value {
    let mut call = dequantize.clone();
    call.args[0] = numbers;
    // The rank may differ; a per-tensor scale has no axis.
    call.attrs.set("axis", axis.unwrap_or(-1));
    Value::Call(call)
}

/// Moves `quantize` before a `concat`: parts that were dequantized with the same parameters need no computation.
pub fn quantized_parts(e: &mut Editor, quantize: &Call) -> Option<Value> {
    let [x, own_scale, zero] = quantize.operands()?;
    let concat = e.op(x, "concat")?.clone();
    number(e, own_scale).and(number(e, zero))?;
    if e.is_shared(x) {
        return None;
    }
    let parts = e.members(concat.args.first()?)?.to_vec();
    let mut each = Vec::with_capacity(parts.len());
    for part in parts {
        let mut call = quantize.clone();
        call.args[0] = part;
        call.attrs.set("axis", AttrValue::Int(-1));
        each.push(e.bind(Value::Call(call))?);
    }
    Some(Value::Call(Call { args: vec![Operand::Tuple(each)], ..concat }))
}
