//! Convolutions that read their data without a permute.
//!
//! A convolution that is vectorized along output channels broadcasts single elements of its data, whose layout does
//! not matter. So data that is only permuted for it keeps its layout, and only the result has the new one. Dot
//! products of packed channels are excluded: their channels must be adjacent.

use super::cost::uses_packed_groups;
use crate::analysis::permutation::permutation;
use hammock_ir::{
    AttrValue, Module,
    relax::{Binding, Call, Function, Operand, Value, Var},
};
use rustc_hash::{FxHashMap, FxHashSet};

/// Returns the bindings of a block without the permutes that only convolutions read.
pub fn elide_input_permutes(module: &Module, function: &Function, mut bindings: Vec<Binding>) -> Vec<Binding> {
    let mut permutes: FxHashMap<Var, (Operand, Vec<i64>)> = FxHashMap::default();
    for binding in &mut bindings {
        let Value::Call(call) = &mut binding.value else { continue };
        if let Some(source) = permute_source(call) {
            permutes.insert(binding.var, source);
        } else if !uses_packed_groups(module, function, call)
            && let Some(without_permute) = without_permute(call, &permutes)
        {
            *call = without_permute;
        }
    }
    let mut used: FxHashSet<Var> = FxHashSet::default();
    bindings.iter().for_each(|binding| binding.value.each_var(&mut |var| _ = used.insert(var)));
    let needed = |var: Var| used.contains(&var) || !permutes.contains_key(&var) || !function.vars[var].dataflow;
    bindings.retain(|binding| needed(binding.var));
    bindings
}

/// Returns the operand and the axes of a permute.
fn permute_source(call: &Call) -> Option<(Operand, Vec<i64>)> {
    let axes = call.attrs.get("axes").filter(|_| call.is_op("permute_dims"))?.as_list()?.len();
    let axes = permutation(call, axes)?;
    let [data] = call.args.as_slice() else { return None };
    matches!(data, Operand::Var(_)).then(|| (data.clone(), axes))
}

/// Returns a convolution of the data before its permute.
fn without_permute(call: &Call, permutes: &FxHashMap<Var, (Operand, Vec<i64>)>) -> Option<Call> {
    let text = |name: &str| call.attrs.get(name).and_then(AttrValue::as_str);
    let (layout, kernel) = (text("data_layout")?, text("kernel_layout")?);
    let [Operand::Var(data), ..] = call.args.as_slice() else { return None };
    let (source, axes) = permutes.get(data)?;
    let letters: Vec<char> = layout.chars().collect();
    if !kernel.ends_with('O') || letters.len() != axes.len() || !letters.iter().all(char::is_ascii_uppercase) {
        return None;
    }
    // Axis `i` of the permuted data is axis `axes[i]` of the data.
    let mut before = letters.clone();
    axes.iter().zip(&letters).for_each(|(axis, letter)| before[*axis as usize] = *letter);
    let result = text("out_layout").filter(|own| !own.is_empty()).unwrap_or(layout).to_owned();
    let mut call = call.clone();
    call.args[0] = source.clone();
    call.attrs.set("data_layout", AttrValue::Str(before.into_iter().collect::<String>().into()));
    call.attrs.set("out_layout", AttrValue::Str(result.into()));
    Some(call)
}
