//! RewriteDataflowReshape: replaces kernels that copy a tensor in row-major order by reshapes.
//!
//! In dataflow blocks, `call_tir(kernel, (x,))` becomes `reshape(x)` if the kernel copies the elements of an
//! argument, in row-major order, to a result of another shape. The virtual machine then makes a view instead of a
//! copy. Outputs of a block stay as they are, so that they have their own memory. So do functions that become one
//! kernel, which call kernels only.

mod kernel;

use crate::{
    Context, Pass,
    analysis::attributes::PRIMITIVE,
    rewrite::editor::{self, Editor},
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Module,
    relax::{CallTir, Operand, Value},
};
use hammock_ops::dims;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "RewriteDataflowReshape",
    doc: "Replaces kernels that copy a tensor in row-major order by reshapes",
    options: &[],
    run,
};

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    editor::apply_only(module, |_, function| (!function.lambda.attrs.is_true(PRIMITIVE)).then_some(rewrite))
}

fn rewrite(e: &mut Editor, value: &Value) -> Option<Value> {
    let call = CallTir::of_value(value).filter(|_| e.binds_local())?;
    let args = call.inputs()?;
    let x = args.get(kernel::copied_param(e.module.tir(call.kernel()?)?, args.len())?)?.clone();
    let (from, to) = (e.tensor(&x)?, call.out_ty.as_tensor()?);
    let same_count = dims::equal(&dims::product(from.dims()?), &dims::product(to.dims()?)) == Some(true);
    if from.dtype != to.dtype || !same_count || !e.may_share(&x) {
        return None;
    }
    e.make("reshape", [x, Operand::Shape(to.dims()?.to_vec())], [])
}
