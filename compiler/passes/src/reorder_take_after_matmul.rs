//! ReorderTakeAfterMatmul: the product with chosen weights becomes a choice from the product with all weights.
//!
//! `matmul(x, take(weights, indices))` becomes `take(matmul(x, weights), indices)`, and the same for a table of matrices
//! of which each row of a batch chooses one. The weights can then be prepared when the module is compiled, and are not
//! copied at each call; in return, products that are not chosen are computed as well.

use crate::{Context, Pass, editor, editor::Editor};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    AttrValue, Module,
    relax::{Call, Definitions, Operand, Value},
};
use hammock_ops::dims;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "ReorderTakeAfterMatmul",
    doc: "Multiplies by whole tables of weights and takes from the product",
    options: &[],
    run,
};

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    editor::apply(module, |_, _| Some(reorder))
}

fn reorder(e: &mut Editor, value: &Value) -> Option<Value> {
    let matmul = value.as_op("matmul")?;
    let [x, chosen] = matmul.operands()?;
    let take = e.op(chosen, "take")?.clone();
    let [weights, indices] = take.operands()?;
    let axis = take.attrs.get("axis")?.as_int()?;
    let ndim = e.tensor(weights)?.ndim()? as i64;
    let axis = if axis < 0 { axis + ndim } else { axis };
    match (e.tensor(indices)?.ndim()?, ndim) {
        (1, 2..) if axis + 1 == ndim => columns(e, matmul, x, &take),
        (1, 3) if axis == 0 => matrices(e, matmul, x, &take),
        _ => None,
    }
}

/// The indices choose columns of the weights, and so of the product.
fn columns(e: &mut Editor, matmul: &Call, x: &Operand, take: &Call) -> Option<Value> {
    let [weights, indices] = take.operands()?;
    let table = e.emit("matmul", [x.clone(), weights.clone()], [out_dtype(matmul)?])?;
    let last = e.tensor(&table)?.ndim()? as i64 - 1;
    e.make("take", [table, indices.clone()], [("axis", last.into()), mode(take)?])
}

/// Each row of a batch chooses one matrix. The product with all of them, side by side, has at `[i, j]` what each matrix
/// makes of the input's row; the one of index `indices[i]` is taken.
fn matrices(e: &mut Editor, matmul: &Call, x: &Operand, take: &Call) -> Option<Value> {
    let [weights, indices] = take.operands()?;
    let (x_ty, weights_ty, indices_ty) = (e.tensor(x)?, e.tensor(weights)?, e.tensor(indices)?);
    let ([batch, rows, _], [table, depth, width]) = (x_ty.dims()?, weights_ty.dims()?) else { return None };
    if dims::equal(batch, &indices_ty.dims()?[0]) != Some(true) {
        return None;
    }
    let shape = |dims: &[_]| Operand::Shape(dims.to_vec());
    let beside = e.emit("permute_dims", [weights.clone()], [("axes", vec![1, 0, 2].into())])?;
    let joined = [depth.clone(), dims::mul(table, width)];
    let joined = e.emit("reshape", [beside, shape(&joined)], [])?;
    let products = e.emit("matmul", [x.clone(), joined], [out_dtype(matmul)?])?;
    let apart = [batch, rows, table, width].map(Clone::clone);
    let apart = e.emit("reshape", [products, shape(&apart)], [])?;
    let taken = e.emit("take", [apart, indices.clone()], [("axis", 2.into()), mode(take)?])?;
    e.make("einsum", [Operand::Tuple(vec![taken])], [("subscripts", "ijik->ijk".into())])
}

fn out_dtype(matmul: &Call) -> Option<(&'static str, AttrValue)> {
    Some(("out_dtype", matmul.attrs.get("out_dtype")?.clone()))
}

fn mode(take: &Call) -> Option<(&'static str, AttrValue)> {
    Some(("mode", take.attrs.get("mode")?.clone()))
}
