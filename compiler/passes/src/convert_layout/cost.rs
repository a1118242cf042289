//! What a dataflow block costs in the layouts that it has: counted are multiplications that fill no vectors, and elements
//! that are moved.

use super::desired::Desired;
use hammock_ir::{
    AttrValue, Module, PrimExpr,
    relax::{Binding, Call, Callee, Function, Operand, Value},
};

/// Vectors are filled by dimensions that are multiples of this: 16 elements of float32 are the widest vectors there are.
const VECTOR: i64 = 16;

/// How many multiplications can be computed in full vectors, instead of in others, in the time in which one element is
/// moved: measured between 30 (28 x 28 maps, in the nearest cache) and 100 (56 x 56 maps).
const MOVE_COST: i64 = 64;

/// What a block costs.
#[derive(Clone, Copy, Default)]
pub struct Cost {
    /// Multiplications of convolutions that fill no vectors.
    pub unfilled: i64,
    /// Elements of tensors that are moved when the module runs.
    pub moved: i64,
}

impl Cost {
    /// In multiplications.
    pub fn total(self) -> i64 {
        self.moved.saturating_mul(MOVE_COST).saturating_add(self.unfilled)
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
                let unfilled = unfilled(module, function, call, &result).unwrap_or(0);
                cost.unfilled = cost.unfilled.saturating_add(unfilled);
            }
            _ => {}
        }
    }
    cost
}

/// The multiplications of a convolution, if they fill no vectors: the last axis of its result is no multiple of them, or
/// is that of channels while the kernel has another one last. `None` where that cannot be said.
fn unfilled(module: &Module, function: &Function, call: &Call, result: &[PrimExpr]) -> Option<i64> {
    let layout = |name: &str| call.attrs.get(name).and_then(AttrValue::as_str).filter(|text| !text.is_empty());
    let result_layout = layout("out_layout").or_else(|| layout("data_layout"))?;
    let kernel_layout = layout("kernel_layout")?;
    let kernel = dims(module, function, call.args.get(1)?)?;
    if result_layout.len() != result.len() || kernel_layout.len() != kernel.len() {
        return None;
    }
    let across = result_layout.ends_with('C') && !kernel_layout.ends_with('O');
    let fills = !across && result.last()?.as_int()? % VECTOR == 0;
    // each element of the result takes one multiplication for each of the kernel, but for its channels of results
    let each = kernel.iter().zip(kernel_layout.chars()).filter(|(_, letter)| *letter != 'O').map(|(dim, _)| dim);
    Some(if fills { 0 } else { count(result.iter()).saturating_mul(count(each)) })
}

fn dims(module: &Module, function: &Function, operand: &Operand) -> Option<Vec<PrimExpr>> {
    function.operand_ty(module, operand).as_tensor()?.dims().map(<[PrimExpr]>::to_vec)
}

/// A product of sizes, without those that are symbolic: these are the same in all that is compared.
fn count<'a>(dims: impl Iterator<Item = &'a PrimExpr>) -> i64 {
    dims.filter_map(PrimExpr::as_int).fold(1, i64::saturating_mul)
}
