//! RemoveRedundantPermuteDims: merges two permutes in a row, or removes both if they cancel. A permute that moves
//! only axes of extent 1 becomes a reshape, which copies nothing.
//!
//! Models whose layout of attention heads differs from the attention operator's permute them twice.

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

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "RemoveRedundantPermuteDims",
    doc: "Merges two permutes in a row, and removes permutes that move nothing",
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
