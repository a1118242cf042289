//! Scatters: tensors with some elements replaced.
//!
//! Negative indices count from the end; indices that are still out of bounds are ignored. If several updates address
//! one element, `"update"` keeps the last and the other reductions combine them sequentially with the old value.

mod elements;
mod nd;
mod put;
mod slice;

use crate::{
    CallContext,
    op::Op,
    rules::{common_dtype, common_vdevice},
};
use hammock_ir::{
    PrimExpr, TensorType,
    prim::Var,
    relax::InferError,
    tir::{Buffer, Stmt},
};

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    vec![elements::scatter_elements(), nd::scatter_nd(), put::index_put(), slice::slice_scatter()]
}

/// The ways to combine an update with the old value.
const REDUCTIONS: [&str; 6] = ["update", "add", "mul", "mean", "max", "min"];

/// Dtypes and devices of data, indices and updates; the result is like the data.
fn scatter_type(cx: &CallContext, updates: &str) -> Result<TensorType, InferError> {
    let (data, new) = (cx.tensor("data")?, cx.tensor(updates)?);
    common_dtype(cx, ("data", &data), (updates, &new))?;
    let vdevice = common_vdevice(cx, [&data, &new])?;
    Ok(TensorType { vdevice, ..data })
}

/// Combines one update with an element. A mean is that of the two: the last of several updates has the largest weight,
/// as in TVM.
fn put(out: &Buffer, how: &str, at: Vec<PrimExpr>, update: PrimExpr) -> Stmt {
    let old = PrimExpr::load(out, at.clone());
    let new = match how {
        "add" => old + update,
        "mean" => (old + update) / PrimExpr::int32(2).cast(out.dtype),
        "mul" => old * update,
        "max" => old.max(update),
        "min" => old.min(update),
        _ => update,
    };
    Stmt::store(out, at, new)
}

/// Serial loops around a body, the first outermost.
fn around(loops: Vec<Var>, extents: &[PrimExpr], body: Stmt) -> Stmt {
    loops.into_iter().zip(extents).rev().fold(body, |body, (var, extent)| Stmt::serial(var, extent.clone(), body))
}
