//! ReorderTakeAfterMatmul: multiplies by all weights and takes from the result, instead of taking weights first.
//!
//! `matmul(x, take(weights, indices))` becomes `take(matmul(x, weights), indices)`, and likewise for a table of
//! matrices of which each batch row takes one. The weights can then be packed at compile time, and are not copied at
//! each call; in return, results that are not taken are computed as well.

use crate::{
    Context, OptionKind, Pass, PassOption,
    analysis::compile_time::CompileTime,
    rewrite::editor::{self, Editor},
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    AttrValue, Module,
    relax::{Call, Definitions, Operand, Value},
};
use hammock_ops::dims;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "ReorderTakeAfterMatmul",
    doc: "Multiplies by all weights and takes from the result, instead of taking weights first",
    options: &[CHEAPER],
    run,
};

pub const CHEAPER: PassOption = PassOption {
    name: "cheaper",
    kind: OptionKind::Bool,
    default: "false",
    doc: "Only if multiplying by all columns of the weights costs less than copying the taken ones",
};

/// Cost of copying one element of a taken column, in multiplications. With 768 rows of weights, one row is multiplied
/// by 8 times as many columns in half the time, 32 rows by twice as many in 0.85 of it, and 64 rows by twice as many
/// in 1.25 of it.
const COPY_COST: i64 = 32;

/// Maximum factor of additional columns: with few rows, reading them costs as much as the multiplications.
const MAX_COLUMN_FACTOR: i64 = 8;

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let cheaper = context.options.is_on(CHEAPER.name);
    editor::apply(module, |_, function| {
        let known = cheaper.then(|| CompileTime::of(function, false));
        Some(move |e: &mut Editor, value: &Value| reorder(e, value, known.as_ref()))
    })
}

/// Reorders a take and a matmul. With `known`, the values known at compile time, only where that is cheaper.
fn reorder(e: &mut Editor, value: &Value, known: Option<&CompileTime>) -> Option<Value> {
    let matmul = value.as_op("matmul")?;
    let [x, chosen] = matmul.operands()?;
    let take = e.op(chosen, "take")?.clone();
    let [weights, indices] = take.operands()?;
    let axis = take.attrs.get("axis")?.as_int()?;
    let ndim = e.tensor(weights)?.ndim()? as i64;
    let axis = if axis < 0 { axis + ndim } else { axis };
    match (e.tensor(indices)?.ndim()?, ndim) {
        (1, 2..) if axis + 1 == ndim => match known {
            Some(known) if known.knows(chosen) || !all_columns_are_cheaper(e, matmul)? => None,
            _ => columns(e, matmul, x, &take),
        },
        // many more multiplications, and three more kernels
        (1, 3) if axis == 0 && known.is_none() => matrices(e, matmul, x, &take),
        _ => None,
    }
}

/// Returns true if multiplying by all columns costs less than copying the taken ones, see [`COPY_COST`].
fn all_columns_are_cheaper(e: &Editor, matmul: &Call) -> Option<bool> {
    let [x, chosen] = matmul.operands()?;
    let [weights, _] = e.op(chosen, "take")?.operands()?;
    let (x, all, taken_columns) = (e.tensor(x)?, e.tensor(weights)?, e.tensor(chosen)?);
    let rows = x.dims()?.split_last()?.1;
    let (all, taken_columns) = (all.dims()?, taken_columns.dims()?);
    // each matrix of a batch is multiplied by its own rows
    let rows = if taken_columns.len() == 2 { dims::product(rows) } else { rows.last()?.clone() };
    let (rows, all, taken_columns) = (rows.as_int()?, all.last()?.as_int()?, taken_columns.last()?.as_int()?);
    let products = rows.saturating_mul(all.saturating_sub(taken_columns).max(0));
    let is_cheaper =
        products <= COPY_COST.saturating_mul(taken_columns) && all <= MAX_COLUMN_FACTOR.saturating_mul(taken_columns);
    Some(is_cheaper && !e.is_shared(chosen))
}

/// Takes columns of the result instead of columns of the weights.
fn columns(e: &mut Editor, matmul: &Call, x: &Operand, take: &Call) -> Option<Value> {
    let [weights, indices] = take.operands()?;
    let table = e.emit("matmul", [x.clone(), weights.clone()], [out_dtype(matmul)?])?;
    let last = e.tensor(&table)?.ndim()? as i64 - 1;
    e.make("take", [table, indices.clone()], [("axis", last.into()), mode(take)?])
}

/// Each batch row takes one matrix. The matmul with all of them, concatenated along columns, has at `[i, j]` the
/// result of row `i` with matrix `j`; that of index `indices[i]` is taken.
fn matrices(e: &mut Editor, matmul: &Call, x: &Operand, take: &Call) -> Option<Value> {
    let [weights, indices] = take.operands()?;
    let (x_ty, weights_ty, indices_ty) = (e.tensor(x)?, e.tensor(weights)?, e.tensor(indices)?);
    let ([batch, rows, _], [table, depth, width]) = (x_ty.dims()?, weights_ty.dims()?) else { return None };
    if dims::equal(batch, &indices_ty.dims()?[0]) != Some(true) {
        return None;
    }
    let shape = |dims: &[_]| Operand::Shape(dims.to_vec());
    let side_by_column = e.emit("permute_dims", [weights.clone()], [("axes", vec![1, 0, 2].into())])?;
    let joined = [depth.clone(), dims::mul(table, width)];
    let joined = e.emit("reshape", [side_by_column, shape(&joined)], [])?;
    let products = e.emit("matmul", [x.clone(), joined], [out_dtype(matmul)?])?;
    let split = [batch, rows, table, width].map(Clone::clone);
    let split = e.emit("reshape", [products, shape(&split)], [])?;
    let taken = e.emit("take", [split, indices.clone()], [("axis", 2.into()), mode(take)?])?;
    e.make("einsum", [Operand::Tuple(vec![taken])], [("subscripts", "ijik->ijk".into())])
}

fn out_dtype(matmul: &Call) -> Option<(&'static str, AttrValue)> {
    Some(("out_dtype", matmul.attrs.get("out_dtype")?.clone()))
}

fn mode(take: &Call) -> Option<(&'static str, AttrValue)> {
    Some(("mode", take.attrs.get("mode")?.clone()))
}
