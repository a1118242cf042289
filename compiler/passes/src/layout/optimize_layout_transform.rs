//! OptimizeLayoutTransform: removes a layout transform and its inverse.
//!
//! Two `layout_transform`s in a row are removed if the second is the inverse of the first, and restores its shape.

use crate::{
    Context, Pass,
    rewrite::editor::{self, Editor},
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    AttrValue, Module, PrimExpr,
    arith::Analyzer,
    prim::{IndexMap, Substitution},
    relax::{Call, Definitions, Value},
};
use hammock_ops::dims;

/// See the module's documentation.
pub static PASS: Pass =
    Pass { name: "OptimizeLayoutTransform", doc: "Removes layout transforms that cancel", options: &[], run };

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    editor::apply(module, |_, function| (!editor::is_primitive(function)).then_some(remove))
}

fn remove(e: &mut Editor, value: &Value) -> Option<Value> {
    let back = value.as_op("layout_transform")?;
    let there = e.op(&back.args[0], "layout_transform")?;
    let (transformed, x) = (e.tensor(&back.args[0])?, e.tensor(&there.args[0])?);
    let shape = x.dims()?;
    // the result has the original shape: no padding remains
    let result = hammock_ops::layout_shape(map(back)?, transformed.dims()?)?;
    let same = dims::all_equal(&result, shape) && undoes(map(back)?, map(there)?, shape);
    same.then(|| Value::Operand(there.args[0].clone()))
}

fn map(call: &Call) -> Option<&IndexMap> {
    match call.attrs.get("index_map")? {
        AttrValue::IndexMap(map) => Some(map),
        _ => None,
    }
}

/// Returns true if `back` is the inverse of `there` for all indices of the shape.
fn undoes(back: &IndexMap, there: &IndexMap, shape: &[PrimExpr]) -> bool {
    let values: Substitution = back.params.iter().cloned().zip(there.results.iter().cloned()).collect();
    let mut analyzer = Analyzer::for_shapes();
    for (param, size) in there.params.iter().zip(shape) {
        analyzer.bind(param, &PrimExpr::int(0, param.dtype()), &size.clone().cast(param.dtype()));
    }
    let is_own = |(result, param): (&PrimExpr, &hammock_ir::prim::Var)| {
        let result = result.substitute(&values);
        result.dtype() == param.dtype() && analyzer.prove_eq(&result, &param.expr())
    };
    back.params.len() == there.results.len()
        && back.results.len() == there.params.len()
        && back.results.iter().zip(&there.params).all(is_own)
}
