//! Tensors with some elements replaced.
//!
//! Negative indices count from the end; what is still outside is left out. Where several updates meet one element,
//! `"update"` keeps the last and the other reductions fold all into what was there.

mod elements;
mod nd;
mod put;
mod slice;

use crate::{
    context::CallContext,
    legalize::Builder,
    op::Op,
    rules::{common_dtype, common_vdevice},
};
use hammock_ir::{
    DType, PrimExpr, TensorType,
    prim::Var,
    relax::InferError,
    tir::{Buffer, Stmt},
};

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    vec![elements::scatter_elements(), nd::scatter_nd(), put::index_put(), slice::slice_scatter()]
}

/// The ways to combine an update with what was there.
const REDUCTIONS: [&str; 6] = ["update", "add", "mul", "mean", "max", "min"];

/// Dtypes and devices of data, indices and updates; the result is like the data.
fn scatter_type(cx: &CallContext, updates: &str) -> Result<TensorType, InferError> {
    let (data, new) = (cx.tensor("data")?, cx.tensor(updates)?);
    common_dtype(cx, ("data", &data), (updates, &new))?;
    let vdevice = common_vdevice(cx, [&data, &new])?;
    Ok(TensorType { vdevice, ..data })
}

/// How many values each element of a mean holds: at first, what was there.
fn counts(b: &mut Builder, out: &Buffer) -> Buffer {
    let counts = b.temp("counts", out.shape.clone(), DType::INT32);
    b.compute(&counts, |_| PrimExpr::int32(1));
    counts
}

/// Turns sums into means.
fn divide(b: &mut Builder, out: &Buffer, counts: &Buffer) {
    b.block("mean", &out.shape.clone(), |i| {
        let count = PrimExpr::load(counts, i.to_vec()).cast(out.dtype);
        Stmt::store(out, i.to_vec(), PrimExpr::load(out, i.to_vec()) / count)
    });
}

/// Combines one update with an element.
fn put(out: &Buffer, counts: Option<&Buffer>, how: &str, at: Vec<PrimExpr>, update: PrimExpr) -> Stmt {
    let old = PrimExpr::load(out, at.clone());
    let new = match how {
        "add" | "mean" => old + update,
        "mul" => old * update,
        "max" => old.max(update),
        "min" => old.min(update),
        _ => update,
    };
    let count = counts.map(|c| Stmt::store(c, at.clone(), PrimExpr::load(c, at.clone()) + PrimExpr::int32(1)));
    Stmt::seq(std::iter::once(Stmt::store(out, at, new)).chain(count))
}

/// Serial loops around a body, the first outermost.
fn around(loops: Vec<Var>, extents: &[PrimExpr], body: Stmt) -> Stmt {
    loops.into_iter().zip(extents).rev().fold(body, |body, (var, extent)| Stmt::serial(var, extent.clone(), body))
}
