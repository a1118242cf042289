//! RemoveRedundantPermuteDims: merges two permutes in a row, or removes both if they cancel. A permute that moves
//! only axes of extent 1 becomes a reshape, which copies nothing. A pooling between two permutes that cancel is computed
//! in the layout of its data before the first one.
//!
//! Models whose layout of attention heads differs from the attention operator's permute them twice. Models with channels
//! last permute them around poolings, whose layout is NCHW in ONNX.

use crate::{
    Context, Pass,
    analysis::permutation::permutation,
    rewrite::editor::{self, Editor},
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    AttrValue, Module, PrimExpr,
    relax::{Definitions, Operand, Value},
};
use hammock_target::assumed_machine::MAX_VECTOR_BYTES;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "RemoveRedundantPermuteDims",
    doc: "Merges two permutes in a row, and removes those that move nothing, or cancel around a pooling",
    options: &[],
    run,
};

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    editor::apply(module, |_, function| (!editor::is_primitive(function)).then_some(remove))
}

fn remove(e: &mut Editor, value: &Value) -> Option<Value> {
    let permute = value.as_op("permute_dims")?;
    let [x] = permute.operands()?;
    let ndim = e.tensor(x)?.ndim()?;
    let last = permutation(permute, ndim)?;
    if last.iter().copied().eq(0..ndim as i64) && e.may_share(x) {
        return Some(Value::Operand(x.clone()));
    }
    if let Some(shape) = reshaped(e, x, &last) {
        return e.make("reshape", [x.clone(), Operand::Shape(shape)], []);
    }
    if let Some(pooled) = pool_without_permutes(e, x, &last) {
        return Some(pooled);
    }
    let earlier = e.op(x, "permute_dims")?;
    let ([x], first) = (earlier.operands()?.clone(), permutation(earlier, ndim)?);
    let joined: Option<Vec<AttrValue>> = last.iter().map(|axis| Some((*first.get(*axis as usize)?).into())).collect();
    e.make("permute_dims", [x], [("axes", AttrValue::List(joined?))])
}

/// Returns the permuted shape, if all axes of extent above 1 keep their order.
fn reshaped(e: &Editor, x: &Operand, axes: &[i64]) -> Option<Vec<PrimExpr>> {
    let x = e.tensor(x)?;
    let dims = x.dims()?;
    let several = axes.iter().filter(|axis| dims.get(**axis as usize).is_some_and(|dim| dim.as_int() != Some(1)));
    several.is_sorted().then(|| axes.iter().map(|axis| dims.get(*axis as usize).cloned()).collect())?
}

/// Minimum extent of the innermost axis of a pooling: elements of a vector.
const MIN_INNERMOST_EXTENT: i64 = MAX_VECTOR_BYTES / 4;

/// Returns the pooling `x` of data before their permute, which the permute `last` of the result cancels.
fn pool_without_permutes(e: &Editor, x: &Operand, last: &[i64]) -> Option<Value> {
    let pool = e.call(x).filter(|_| !e.is_shared(x))?;
    let text = |name: &str| pool.attrs.get(name).and_then(AttrValue::as_str);
    let (layout, out_layout) = (text("layout")?, text("out_layout")?);
    let [data] = pool.operands()?;
    let permute = e.op(data, "permute_dims")?;
    let ([source], first) = (permute.operands()?, permutation(permute, last.len())?);
    let is_plain = layout.len() == last.len() && layout.chars().all(|letter| letter.is_ascii_uppercase());
    let cancels = last.iter().enumerate().all(|(at, axis)| first.get(*axis as usize) == Some(&(at as i64)));
    let innermost = e.tensor(source)?.dims()?.last()?.as_int();
    let fills_vectors = innermost.is_some_and(|extent| extent >= MIN_INNERMOST_EXTENT);
    if !is_plain || !cancels || !fills_vectors || out_layout != layout {
        return None;
    }
    // Axis `i` of the data is axis `last[i]` of the permuted data.
    let letters: Vec<char> = layout.chars().collect();
    let before: String = last.iter().filter_map(|axis| letters.get(*axis as usize)).collect();
    let mut pool = pool.clone();
    pool.args[0] = source.clone();
    for name in ["layout", "out_layout"] {
        pool.attrs.set(name, AttrValue::Str(before.as_str().into()));
    }
    Some(Value::Call(pool))
}
