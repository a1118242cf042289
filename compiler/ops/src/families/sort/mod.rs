//! Sorting and searching.
//!
//! Sorting is stable and orders NaN after every number: last in ascending order, first in descending. Lines along the
//! axis are sorted separately, short ones by rank sort and long ones by radix sort (see [`sorted`]), or the shortest ones
//! in vector lanes (see [`lanes`]); a top-k of a longer line is selected instead (see [`topk`]).

mod best;
mod bucketize;
mod delegates;
mod insertion;
mod lanes;
mod order;
mod radix;
mod rank;
mod reservoir;
mod sorted;
mod topk;

use crate::{
    CallContext,
    legalize::Builder,
    op::{AttrKind, Op},
    rules::same_as,
};
use hammock_ir::{DType, PrimExpr, TensorType, relax::InferError};
use lanes::LaneSelection;

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    vec![sort(), argsort(), topk::topk(), bucketize::bucketize()]
}

pub use order::Order;
pub use sorted::Sorted;

fn sort() -> Op {
    Op::new("sort")
        .doc("Sorts the elements along an axis.")
        .example("x: float32[2, 5]", "x, axis=-1, descending=True")
        .tensor("x")
        .attr("axis", AttrKind::Int, -1)
        .attr("descending", AttrKind::Bool, false)
        .infer(|cx| {
            check_axis(cx, "x")?;
            same_as("x")(cx)
        })
        .legalize(|cx| {
            let mut b = Builder::new(cx, "sort")?;
            let x = b.input("x")?;
            let axis = cx.axis("axis", x.ndim())?;
            let out = b.output("T_sort")?;
            let order = Order::of(cx.bool("descending")?);
            if let Some(lanes) = LaneSelection::of_all(&x, axis, order) {
                LaneSelection { values: Some(&out), ..lanes }.select(&mut b);
            } else {
                let sorted = Sorted::along(&mut b, &x, axis, order, None);
                b.compute(&out, |i| sorted.value(&to_line(i, axis)));
            }
            Ok(b.finish())
        })
}

fn argsort() -> Op {
    Op::new("argsort")
        .doc("The indices that sort the elements along an axis.")
        .example("x: float32[2, 5]", "x, axis=-1")
        .tensor("data")
        .attr("axis", AttrKind::Int, -1)
        .attr("descending", AttrKind::Bool, false)
        .attr("dtype", AttrKind::DType, DType::INT32)
        .infer(|cx| {
            check_axis(cx, "data")?;
            Ok(TensorType { dtype: cx.dtype("dtype")?, ..cx.tensor("data")? }.into())
        })
        .legalize(|cx| {
            let mut b = Builder::new(cx, "argsort")?;
            let x = b.input("data")?;
            let axis = cx.axis("axis", x.ndim())?;
            let out = b.output("T_argsort")?;
            let order = Order::of(cx.bool("descending")?);
            if let Some(lanes) = LaneSelection::of_all(&x, axis, order) {
                LaneSelection { positions: Some(&out), ..lanes }.select(&mut b);
            } else {
                let sorted = Sorted::along(&mut b, &x, axis, order, Some(index_dtype(out.dtype)));
                b.compute(&out, |i| sorted.position(&to_line(i, axis)).cast(out.dtype));
            }
            Ok(b.finish())
        })
}

/// The dtype of stored positions: that of the result if it is a sufficiently wide integer.
fn index_dtype(result: DType) -> DType {
    if result == DType::INT64 { DType::INT64 } else { DType::INT32 }
}

fn check_axis(cx: &CallContext, param: &str) -> Result<(), InferError> {
    match cx.tensor(param)?.ndim() {
        Some(ndim) => cx.axis("axis", ndim).map(drop),
        None => Ok(()),
    }
}

/// An index with the sorted axis last, as in the lines of [`Sorted`].
pub fn to_line(i: &[PrimExpr], axis: usize) -> Vec<PrimExpr> {
    [&i[..axis], &i[axis + 1..], &i[axis..=axis]].concat()
}

/// The index of element `j` of a line: the inverse of [`to_line`].
fn from_line(line: &[PrimExpr], j: &PrimExpr, axis: usize) -> Vec<PrimExpr> {
    [&line[..axis], std::slice::from_ref(j), &line[axis..]].concat()
}
