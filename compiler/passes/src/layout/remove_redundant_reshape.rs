//! RemoveRedundantReshape: removes reshapes and broadcasts to the shape that a tensor has already, and the first of
//! two reshapes in a row (including `expand_dims`).

use crate::{
    Context, Pass,
    rewrite::editor::{self, Editor},
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Module, Type,
    relax::{Definitions, Operand, Value},
    types::ShapeType,
};
use hammock_ops::dims;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "RemoveRedundantReshape",
    doc: "Removes reshapes and broadcasts to the same shape, and the first of two in a row",
    options: &[],
    run,
};

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    editor::apply(module, |_, function| (!editor::is_primitive(function)).then_some(remove))
}

fn remove(e: &mut Editor, value: &Value) -> Option<Value> {
    let [x, shape] = value.as_op("reshape").or_else(|| value.as_op("broadcast_to"))?.operands()?;
    if keeps_shape(e, x, shape) && e.may_share(x) {
        return Some(Value::Operand(x.clone()));
    }
    value.as_op("reshape")?;
    let earlier = RESHAPES.iter().find_map(|op| e.op(x, op))?.args.first()?.clone();
    e.make("reshape", [earlier, shape.clone()], [])
}

/// Operators that only change the shape.
const RESHAPES: [&str; 4] = ["reshape", "expand_dims", "squeeze", "flatten"];

/// Returns true if the tensor has that shape already.
fn keeps_shape(e: &Editor, x: &Operand, shape: &Operand) -> bool {
    let Some(x) = e.tensor(x) else { return false };
    match (e.ty(shape), x.dims()) {
        (Type::Shape(ShapeType::Known(wanted)), Some(own)) => dims::all_equal(own, &wanted),
        _ => false,
    }
}
