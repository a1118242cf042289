//! Operators that only move elements, or choose among them.

use super::constants::{number, scale};
use crate::{analysis::permutation::permutation, rewrite::editor::Editor};
use hammock_ir::{
    AttrValue,
    relax::{Call, Definitions, Operand, Value},
};

/// Operators whose elements are elements of their first operand.
const MOVE: &[&str] = &[
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

/// Those that choose the greatest or the least of several.
const CHOOSE: &[&str] = &["max", "min", "nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d"];

/// The call of `dequantize` that gives an operand, if it makes floats of bytes.
fn of_bytes(e: &Editor, operand: &Operand) -> Option<Call> {
    let call = e.op(operand, "dequantize")?;
    let dtype = e.tensor(call.args.first()?)?.dtype?;
    (dtype.is_integer() && dtype.bits == 8).then(|| call.clone())
}

/// Returns true if scale and zero point are single numbers.
fn is_single(e: &Editor, dequantize: &Call) -> bool {
    let one = |operand: &Operand| {
        let ty = e.tensor(operand);
        ty.is_some_and(|ty| ty.dims().is_some_and(|dims| dims.iter().all(|size| size.as_int() == Some(1))))
    };
    dequantize.args[1..].iter().all(one)
}

/// An operator on dequantized bytes as one on bytes, dequantized then.
pub fn after(e: &mut Editor, call: &Call) -> Option<Value> {
    let applies = |names: &[&str]| names.iter().any(|name| call.is_op(name));
    let dequantize = of_bytes(e, call.args.first()?)?;
    let [numbers, own_scale, _] = dequantize.operands()?;
    let single = is_single(e, &dequantize);
    let mut axis = None;
    match () {
        () if applies(MOVE) && single => {}
        () if applies(CHOOSE) && single && scale(e, own_scale).is_some() => {}
        () if call.is_op("permute_dims") => {
            let rank = e.tensor(numbers)?.ndim()?;
            let own = dequantize.attrs.get("axis")?.as_int()?;
            let own = if own < 0 { own + rank as i64 } else { own };
            axis = Some(permutation(call, rank)?.iter().position(|from| *from == own)? as i64);
        }
        () => return None,
    }
    let mut moved = call.clone();
    moved.args[0] = numbers.clone();
    let moved = e.bind(Value::Call(moved))?;
    Some(again(&dequantize, moved, axis))
}

/// A part of dequantized bytes, dequantized on its own.
pub fn member(e: &mut Editor, value: &Value) -> Option<Value> {
    let Value::TupleGet(tuple, index) = value else { return None };
    let split = e.op(tuple, "split")?.clone();
    let dequantize = of_bytes(e, split.args.first()?).filter(|call| is_single(e, call))?;
    let mut moved = split;
    moved.args[0] = dequantize.args.first()?.clone();
    let parts = e.bind(Value::Call(moved))?;
    let part = e.bind(Value::TupleGet(parts, *index))?;
    Some(again(&dequantize, part, None))
}

/// `dequantize` of other bytes, perhaps along another axis.
fn again(dequantize: &Call, numbers: Operand, axis: Option<i64>) -> Value {
    let mut call = dequantize.clone();
    call.args[0] = numbers;
    // Of another number of dimensions; a single number has no axis.
    call.attrs.set("axis", axis.unwrap_or(-1));
    Value::Call(call)
}

/// `quantize` of tensors that are joined: joined are quantized ones. Where some were dequantized from the same numbers,
/// nothing is left to compute.
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
