//! What a dataflow block costs in the layouts that it has: counted are lanes of vectors that compute nothing, and elements
//! that are moved.

use super::desired::Desired;
use hammock_ir::{
    AttrValue, DType, Module, PrimExpr,
    relax::{Binding, Call, Callee, Function, Operand, Value},
};

/// Vectors are filled by dimensions that are multiples of this: 16 elements of float32 are the widest vectors there are.
const VECTOR: i64 = 16;

/// How many multiplications can be computed in full vectors in the time in which one element is moved: measured between 30
/// (28 x 28 maps, in the nearest cache) and 100 (56 x 56 maps).
const MOVE_COST: i64 = 24;

/// The same for an element that is copied to be beside its neighbour in a vector, as where a window moves by several
/// places: measured between 50 and 80.
const GATHER_COST: i64 = 64;

/// How many channels data has at least that words of neighbouring channels are made of.
const IN_WORDS: i64 = 8;

/// What sizes that are not known are taken for.
const TYPICAL: i64 = 24;

/// What a block costs.
#[derive(Clone, Copy, Default)]
pub struct Cost {
    /// What convolutions take more than in full vectors, in multiplications.
    pub wasted: i64,
    /// Elements of tensors that are moved when the module runs.
    pub moved: i64,
}

impl Cost {
    /// In multiplications.
    pub fn total(self) -> i64 {
        self.moved.saturating_mul(MOVE_COST).saturating_add(self.wasted)
    }
}

/// The cost of a block's bindings. Only operators count that are to get other layouts.
pub fn of(module: &Module, function: &Function, desired: &Desired, bindings: &[Binding]) -> Cost {
    let mut cost = Cost::default();
    for binding in bindings {
        let Value::Call(call) = &binding.value else { continue };
        let Callee::Op(name) = &call.callee else { continue };
        let Some(result) = dims(module, function, &binding.var.into()) else { continue };
        match &**name {
            "permute_dims" | "layout_transform" if !matches!(call.args[0], Operand::Const(_)) => {
                cost.moved = cost.moved.saturating_add(count(result.iter()));
            }
            name if desired.contains_key(name) => {
                let wasted = wasted(module, function, call, &result).unwrap_or(0);
                cost.wasted = cost.wasted.saturating_add(wasted);
            }
            _ => {}
        }
    }
    cost
}

/// Returns true if a window moves over numbers of which processors multiply several at once, if they lie side by side:
/// those of the channels.
pub fn takes_words(module: &Module, function: &Function, call: &Call) -> bool {
    let dtype = |operand: &Operand| function.operand_ty(module, operand).as_tensor().and_then(|tensor| tensor.dtype);
    let [data, kernel, ..] = call.args.as_slice() else { return false };
    let (Some(data), Some(own)) = (dtype(data), dtype(kernel)) else { return false };
    let bytes = |dtype: DType| dtype.is_integer() && dtype.bits == 8;
    let layout = call.attrs.get("kernel_layout").and_then(AttrValue::as_str);
    let narrow = bytes(data) && bytes(own) || data.is_bfloat16() && own.is_bfloat16();
    let (Some(layout), Some(dims)) = (layout, dims(module, function, kernel)) else { return false };
    let channels = layout.find('I').and_then(|at| dims.get(at)?.as_int()).unwrap_or(1);
    // What a window reads once is as well put in words by the product itself.
    narrow && channels >= IN_WORDS && window(&dims, layout) > 1
}

/// The places of a kernel's window.
fn window(kernel: &[PrimExpr], layout: &str) -> i64 {
    count(kernel.iter().zip(layout.chars()).filter(|(_, letter)| !"IO".contains(*letter)).map(|(dim, _)| dim))
}

/// What a convolution takes more than in full vectors: lanes that are left over at the end of its result's last axis, all
/// but one where these are channels and the kernel has another axis last, and copies of the data where these are places
/// that a window moves over in steps, or channels of which several are multiplied at once lie apart. `None` where that
/// cannot be said.
fn wasted(module: &Module, function: &Function, call: &Call, result: &[PrimExpr]) -> Option<i64> {
    let layout = |name: &str| call.attrs.get(name).and_then(AttrValue::as_str).filter(|text| !text.is_empty());
    let result_layout = layout("out_layout").or_else(|| layout("data_layout"))?;
    let kernel_layout = layout("kernel_layout")?;
    let kernel = dims(module, function, call.args.get(1)?)?;
    if result_layout.len() != result.len() || kernel_layout.len() != kernel.len() {
        return None;
    }
    let (channels, spreads) = (result_layout.ends_with('C'), spreads(call));
    let groups = call.attrs.get("groups").and_then(AttrValue::as_int).unwrap_or(1);
    // each element of the result takes one multiplication for each of the kernel, but for its channels of results; spread
    // out, a kernel that moves in steps has that many for several elements, of which vectors have each
    let all = count(kernel.iter().zip(kernel_layout.chars()).filter(|(_, letter)| *letter != 'O').map(|(dim, _)| dim));
    let steps = strides(call);
    let (each, step) = match spreads {
        true => (all / (steps.iter().product::<i64>() * groups).max(1), steps.last().copied().filter(|_| !channels)),
        false => (all, None),
    };
    // where each place is computed of one other, all of them are one row
    let alone = window(&kernel, kernel_layout) == 1 && is_dense(call) && result_layout.starts_with("NC");
    let (others, row) = result.split_at(if alone { 2 } else { result.len() - 1 });
    let last = (count(row.iter()) / step.unwrap_or(1)).max(1);
    let others = count(others.iter()).saturating_mul(each.max(1)).saturating_mul(step.unwrap_or(1));
    // neighbouring channels of several groups read different data, side by side only where each reads one channel
    let inputs = kernel_layout.find('I').and_then(|at| kernel[at].as_int())?;
    let inputs = if spreads { inputs / groups.max(1) } else { inputs };
    let of_groups = groups > 1 && (inputs > 1 || !layout("data_layout")?.ends_with('C'));
    let across = channels && (!kernel_layout.ends_with('O') || of_groups);
    let lanes = if across { last * VECTOR } else { (last + VECTOR - 1) / VECTOR * VECTOR };
    let left_over = others.saturating_mul(lanes - last);
    let channels_of_results = kernel_layout.find('O').and_then(|at| kernel[at].as_int())?;
    // what only a few channels of results read is not worth a copy
    let shared = channels_of_results >= if groups == 1 { 2 } else { groups * VECTOR };
    let apart = takes_words(module, function, call) && !layout("data_layout")?.ends_with('C');
    let jumps = !channels && !spreads && steps.last().is_some_and(|step| *step > 1);
    let gathers = (apart || jumps) && shared;
    let copies = if gathers { places(result, result_layout).saturating_mul(each).saturating_mul(groups) } else { 0 };
    Some(left_over.saturating_add(copies.saturating_mul(GATHER_COST)))
}

/// How many places a window moves by along each axis.
fn strides(call: &Call) -> Vec<i64> {
    let strides = call.attrs.get("strides").and_then(AttrValue::as_list).unwrap_or_default();
    strides.iter().filter_map(AttrValue::as_int).collect()
}

/// Returns true if a window moves over every place of the data and no margin.
fn is_dense(call: &Call) -> bool {
    let padding = call.attrs.get("padding").and_then(AttrValue::as_list).unwrap_or_default();
    strides(call).iter().all(|step| *step == 1) && padding.iter().all(|size| size.as_int() == Some(0))
}

/// Returns true if a convolution is transposed, so that its kernel moves over the result: such a one may say how far
/// this goes beyond the data.
fn spreads(call: &Call) -> bool {
    call.attrs.get("output_padding").is_some()
}

/// The places of a result: its elements, but for its channels.
fn places(result: &[PrimExpr], layout: &str) -> i64 {
    count(result.iter().zip(layout.chars()).filter(|(_, letter)| *letter != 'C').map(|(dim, _)| dim))
}

fn dims(module: &Module, function: &Function, operand: &Operand) -> Option<Vec<PrimExpr>> {
    function.operand_ty(module, operand).as_tensor()?.dims().map(<[PrimExpr]>::to_vec)
}

/// A product of sizes.
fn count<'a>(dims: impl Iterator<Item = &'a PrimExpr>) -> i64 {
    dims.map(size).fold(1, i64::saturating_mul)
}

/// A size; one that is symbolic is taken for a number that is no multiple of a vector's elements.
fn size(dim: &PrimExpr) -> i64 {
    dim.as_int().unwrap_or(TYPICAL)
}
