//! ExpandMatmulOfSum: distributes a matmul over a sum of weights.
//!
//! `matmul(x, a + b)` becomes `matmul(x, a) + matmul(x, b)`, also if the sum is transposed first. This separates
//! weights known at compile time from others, such as low-rank corrections; if both are known, their sum is computed
//! at compile time, and nothing changes. Results are rounded differently.

use crate::{
    Context, Pass,
    analysis::compile_time::CompileTime,
    rewrite::editor::{self, Editor},
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    AttrValue, Module,
    relax::{Definitions, Operand, Value},
};
use hammock_ops::dims;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "ExpandMatmulOfSum",
    doc: "Distributes matmuls over sums of weights that are not known at compile time",
    options: &[],
    run,
};

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    editor::apply(module, |_, function| {
        let known = CompileTime::of(function, true);
        Some(move |e: &mut Editor, value: &Value| expand(e, &known, value))
    })
}

fn expand(e: &mut Editor, known: &CompileTime, value: &Value) -> Option<Value> {
    let matmul = value.as_op("matmul")?;
    let [x, weights] = matmul.operands()?;
    let permute = e.op(weights, "permute_dims").cloned();
    let sum = match &permute {
        Some(permute) => permute.args.first()?,
        None => weights,
    };
    let [a, b] = e.op(sum, "add")?.operands()?.clone();
    if known.knows(&a) && known.knows(&b) || !same_shape(e, &a, &b) {
        return None;
    }
    let out_dtype = matmul.attrs.get("out_dtype")?;
    let axes = permute.as_ref().and_then(|call| call.attrs.get("axes"));
    let a = emit_matmul(e, x, a, axes, out_dtype)?;
    let b = emit_matmul(e, x, b, axes, out_dtype)?;
    e.make("add", [a, b], [])
}

fn emit_matmul(
    e: &mut Editor,
    x: &Operand,
    mut weights: Operand,
    axes: Option<&AttrValue>,
    out_dtype: &AttrValue,
) -> Option<Operand> {
    if let Some(axes) = axes {
        weights = e.emit("permute_dims", [weights], [("axes", axes.clone())])?;
    }
    e.emit("matmul", [x.clone(), weights], [("out_dtype", out_dtype.clone())])
}

/// Returns true if both are tensors of the same shape, so that adding them broadcasts neither.
fn same_shape(e: &Editor, a: &Operand, b: &Operand) -> bool {
    let (Some(a), Some(b)) = (e.tensor(a), e.tensor(b)) else { return false };
    a.dims().zip(b.dims()).is_some_and(|(a, b)| dims::all_equal(a, b))
}
