//! Convolutions that read their data as it lies.
//!
//! A convolution whose vectors are channels of its results multiplies them with single numbers of its data: where those
//! lie does not matter. So data that is only moved for it stays where it is, and only the result has the other layout.
//! Where several channels are multiplied at once, these lie side by side.

use super::cost::takes_words;
use crate::analysis::permutation::permutation;
use hammock_ir::{
    AttrValue, Module,
    relax::{Binding, Call, Function, Operand, Value, Var},
};
use rustc_hash::{FxHashMap, FxHashSet};

/// The bindings of a block without the permutations that only convolutions read.
pub fn as_it_lies(module: &Module, function: &Function, mut bindings: Vec<Binding>) -> Vec<Binding> {
    let mut moved: FxHashMap<Var, (Operand, Vec<i64>)> = FxHashMap::default();
    for binding in &mut bindings {
        let Value::Call(call) = &mut binding.value else { continue };
        if let Some(source) = permuted(call) {
            moved.insert(binding.var, source);
        } else if !takes_words(module, function, call)
            && let Some(unmoved) = unmoved(call, &moved)
        {
            *call = unmoved;
        }
    }
    let mut used: FxHashSet<Var> = FxHashSet::default();
    bindings.iter().for_each(|binding| binding.value.each_var(&mut |var| _ = used.insert(var)));
    let needed = |var: Var| used.contains(&var) || !moved.contains_key(&var) || !function.vars[var].dataflow;
    bindings.retain(|binding| needed(binding.var));
    bindings
}

/// What a permutation moves, and the axes.
fn permuted(call: &Call) -> Option<(Operand, Vec<i64>)> {
    let axes = call.attrs.get("axes").filter(|_| call.is_op("permute_dims"))?.as_list()?.len();
    let axes = permutation(call, axes)?;
    let [data] = call.args.as_slice() else { return None };
    matches!(data, Operand::Var(_)).then(|| (data.clone(), axes))
}

/// A convolution with the data from before it was moved.
fn unmoved(call: &Call, moved: &FxHashMap<Var, (Operand, Vec<i64>)>) -> Option<Call> {
    let text = |name: &str| call.attrs.get(name).and_then(AttrValue::as_str);
    let (layout, kernel) = (text("data_layout")?, text("kernel_layout")?);
    let [Operand::Var(data), ..] = call.args.as_slice() else { return None };
    let (source, axes) = moved.get(data)?;
    let letters: Vec<char> = layout.chars().collect();
    if !kernel.ends_with('O') || letters.len() != axes.len() || !letters.iter().all(char::is_ascii_uppercase) {
        return None;
    }
    // Axis `i` of the moved data is axis `axes[i]` of the data.
    let mut before = letters.clone();
    axes.iter().zip(&letters).for_each(|(axis, letter)| before[*axis as usize] = *letter);
    let result = text("out_layout").filter(|own| !own.is_empty()).unwrap_or(layout).to_owned();
    let mut call = call.clone();
    call.args[0] = source.clone();
    call.attrs.set("data_layout", AttrValue::Str(before.into_iter().collect::<String>().into()));
    call.attrs.set("out_layout", AttrValue::Str(result.into()));
    Some(call)
}
