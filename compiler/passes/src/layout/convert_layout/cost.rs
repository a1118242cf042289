//! Cost model of a dataflow block's layouts: idle vector lanes, and elements moved.

use super::desired::Desired;
use hammock_ir::{
    AttrValue, DType, Module, PrimExpr,
    relax::{Binding, Call, Callee, Function, Operand, Value, Var},
};
use hammock_target::{assumed_machine::MAX_VECTOR_BYTES, dynamic_extent};

/// Vector width in elements of float32.
const VECTOR_WIDTH: i64 = MAX_VECTOR_BYTES / 4;

/// Cost of moving an element, in vectorized multiplications: measured between 30 (28 x 28 maps, in L1) and 100 (56 x
/// 56 maps).
const MOVE_COST: i64 = 24;

/// Cost of gathering an element for a vector, as in strided convolutions: measured between 50 and 80.
const GATHER_COST: i64 = 64;

/// Minimum number of channels for packed groups (dot2, dot4).
const MIN_PACKED_CHANNELS: i64 = 8;

/// Cost of a block.
#[derive(Clone, Copy, Default)]
pub struct Cost {
    /// Wasted work of convolutions, in multiplications: idle lanes and gathers.
    pub wasted: i64,
    /// Elements moved at run time.
    pub moved_elements: i64,
}

impl Cost {
    /// Returns the total cost in multiplications.
    pub fn total(self) -> i64 {
        self.moved_elements.saturating_mul(MOVE_COST).saturating_add(self.wasted)
    }
}

/// Returns the cost of a block's bindings. Only operators with desired layouts count.
pub fn of(module: &Module, function: &Function, desired: &Desired, bindings: &[Binding]) -> Cost {
    let mut cost = Cost::default();
    for binding in bindings {
        let Value::Call(call) = &binding.value else { continue };
        let Callee::Op(name) = &call.callee else { continue };
        let Some(result) = dims(module, function, &binding.var.into()) else { continue };
        match &**name {
            "permute_dims" | "layout_transform" if !matches!(call.args[0], Operand::Const(_)) => {
                cost.moved_elements = cost.moved_elements.saturating_add(count(result.iter()));
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

/// Returns the variables of calls with desired layouts, in order, with the wasted work of each.
pub fn wasted_by_call(
    module: &Module,
    function: &Function,
    desired: &Desired,
    bindings: &[Binding],
) -> Vec<(Var, i64)> {
    let wasted = |binding: &Binding| {
        let Value::Call(call) = &binding.value else { return None };
        let Callee::Op(name) = &call.callee else { return None };
        let result = dims(module, function, &binding.var.into()).filter(|_| desired.contains_key(&**name))?;
        Some((binding.var, wasted(module, function, call, &result).unwrap_or(0)))
    };
    bindings.iter().filter_map(wasted).collect()
}

/// Returns true if a convolution of a narrow dtype uses dot products of packed channels, which must be adjacent.
pub fn uses_packed_groups(module: &Module, function: &Function, call: &Call) -> bool {
    let dtype = |operand: &Operand| function.operand_ty(module, operand).as_tensor().and_then(|tensor| tensor.dtype);
    let [data, kernel, ..] = call.args.as_slice() else { return false };
    let (Some(data), Some(own)) = (dtype(data), dtype(kernel)) else { return false };
    let bytes = |dtype: DType| dtype.is_integer() && dtype.bits == 8;
    let layout = call.attrs.get("kernel_layout").and_then(AttrValue::as_str);
    let narrow = bytes(data) && bytes(own) || data.is_bfloat16() && own.is_bfloat16();
    let (Some(layout), Some(dims)) = (layout, dims(module, function, kernel)) else { return false };
    let channels = layout.find('I').and_then(|at| dims.get(at)?.as_int()).unwrap_or(1);
    // Elements that a window reads once are packed by the matmul itself.
    narrow && channels >= MIN_PACKED_CHANNELS && window(&dims, layout) > 1
}

/// Returns the number of positions in a kernel's window.
fn window(kernel: &[PrimExpr], layout: &str) -> i64 {
    count(kernel.iter().zip(layout.chars()).filter(|(_, letter)| !"IO".contains(*letter)).map(|(dim, _)| dim))
}

/// Returns the wasted work of a convolution: idle lanes in the tail of the result's last axis (all but one lane, if
/// that is channels and the kernel's last axis is another), and gathers for strided access along the width or packed
/// channels that are not adjacent. `None` if that is unknown.
fn wasted(module: &Module, function: &Function, call: &Call, result: &[PrimExpr]) -> Option<i64> {
    let layout = |name: &str| call.attrs.get(name).and_then(AttrValue::as_str).filter(|text| !text.is_empty());
    let result_layout = layout("out_layout").or_else(|| layout("data_layout"))?;
    let kernel_layout = layout("kernel_layout")?;
    let kernel = dims(module, function, call.args.get(1)?)?;
    if result_layout.len() != result.len() || kernel_layout.len() != kernel.len() {
        return None;
    }
    let (channels, is_transposed) = (result_layout.ends_with('C'), is_transposed(call));
    let groups = call.attrs.get("groups").and_then(AttrValue::as_int).unwrap_or(1);
    // each element of the result takes one multiplication per element of the kernel, without its output channels;
    // with zero insertion removed, a strided transposed convolution has that many for several elements, one per lane
    let all = count(kernel.iter().zip(kernel_layout.chars()).filter(|(_, letter)| *letter != 'O').map(|(dim, _)| dim));
    let steps = strides(call);
    let (each, step) = match is_transposed {
        true => (all / (steps.iter().product::<i64>() * groups).max(1), steps.last().copied().filter(|_| !channels)),
        false => (all, None),
    };
    // a pointwise convolution treats all positions as one row
    let alone = window(&kernel, kernel_layout) == 1 && is_dense(call) && result_layout.starts_with("NC");
    let (others, row) = result.split_at(if alone { 2 } else { result.len() - 1 });
    let last = (count(row.iter()) / step.unwrap_or(1)).max(1);
    let others = count(others.iter()).saturating_mul(each.max(1)).saturating_mul(step.unwrap_or(1));
    // adjacent channels of several groups read different data, contiguous only if each group reads one channel; those of
    // one group are vectorized if there are several
    let inputs = kernel_layout.find('I').and_then(|at| kernel[at].as_int())?;
    let inputs = if is_transposed { inputs / groups.max(1) } else { inputs };
    let of_groups = groups > 1 && (inputs > 1 || !layout("data_layout")?.ends_with('C'));
    let own = last / groups.max(1);
    let across = channels && (!kernel_layout.ends_with('O') || of_groups && (is_transposed || own < VECTOR_WIDTH));
    let whole = |elements: i64| (elements + VECTOR_WIDTH - 1) / VECTOR_WIDTH * VECTOR_WIDTH;
    let lanes = match across {
        true => last * VECTOR_WIDTH,
        false if channels && of_groups => whole(own) * groups,
        false => whole(last),
    };
    let left_over = others.saturating_mul(lanes - last);
    let channels_of_results = kernel_layout.find('O').and_then(|at| kernel[at].as_int())?;
    // data read by few output channels is not worth a copy
    let shared = channels_of_results >= if groups == 1 { 2 } else { groups * VECTOR_WIDTH };
    let not_adjacent = uses_packed_groups(module, function, call) && !layout("data_layout")?.ends_with('C');
    let jumps = !channels && !is_transposed && steps.last().is_some_and(|step| *step > 1);
    let gathers = (not_adjacent || jumps) && shared;
    let copies = if gathers { positions(result, result_layout).saturating_mul(each).saturating_mul(groups) } else { 0 };
    Some(left_over.saturating_add(copies.saturating_mul(GATHER_COST)))
}

/// Returns the strides of a window along each axis.
fn strides(call: &Call) -> Vec<i64> {
    let strides = call.attrs.get("strides").and_then(AttrValue::as_list).unwrap_or_default();
    strides.iter().filter_map(AttrValue::as_int).collect()
}

/// Returns true if a window has unit strides and no padding.
fn is_dense(call: &Call) -> bool {
    let padding = call.attrs.get("padding").and_then(AttrValue::as_list).unwrap_or_default();
    strides(call).iter().all(|step| *step == 1) && padding.iter().all(|size| size.as_int() == Some(0))
}

/// Returns true if a convolution is transposed: the kernel slides over the result (`output_padding` may extend it).
fn is_transposed(call: &Call) -> bool {
    call.attrs.get("output_padding").is_some()
}

/// Returns the number of positions of a result: its elements without the channels.
fn positions(result: &[PrimExpr], layout: &str) -> i64 {
    count(result.iter().zip(layout.chars()).filter(|(_, letter)| *letter != 'C').map(|(dim, _)| dim))
}

fn dims(module: &Module, function: &Function, operand: &Operand) -> Option<Vec<PrimExpr>> {
    function.operand_ty(module, operand).as_tensor()?.dims().map(<[PrimExpr]>::to_vec)
}

/// Returns the product of sizes.
fn count<'a>(dims: impl Iterator<Item = &'a PrimExpr>) -> i64 {
    dims.map(size).fold(1, i64::saturating_mul)
}

/// Returns a size, or an assumed one.
fn size(dim: &PrimExpr) -> i64 {
    dim.as_int().unwrap_or(dynamic_extent::LAYOUT_COST)
}
