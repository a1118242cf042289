//! Indexing: slices, and gathers with index tensors.
//!
//! Negative indices count from the end if the operator's documentation specifies it. An out-of-bounds index is an
//! error, at compile time if it is constant, otherwise an `IndexError` of the kernel, which checks indices at their
//! use. Only the modes of `take` other than "fast" accept such an index.

mod constant;
mod gather;
mod slice;
mod take;

pub use constant::{Progression, expect_all_inside, expect_inside};

use crate::{CallContext, dims, op::Op};
use hammock_ir::{DType, PrimExpr, TensorType, relax::InferError};

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    let mut ops = vec![take::take()];
    ops.extend(slice::ops());
    ops.extend(gather::ops());
    ops
}

/// Checks that an operand has an integer dtype.
pub fn expect_integers(cx: &CallContext, param: &str, ty: &TensorType) -> Result<(), InferError> {
    match ty.dtype {
        Some(t) if !t.is_integer() => {
            let error = cx.error_at(param, format_args!("`{param}` must hold integers, not {t}"));
            Err(error.help("convert it with R.astype(…, \"int64\")"))
        }
        _ => Ok(()),
    }
}

/// An index that counts from the end when negative.
pub fn from_end(index: PrimExpr, extent: &PrimExpr) -> PrimExpr {
    if index.dtype().is_uint() { index } else { index.clone().lt(0i64).select(&index + extent, index) }
}

/// An index clamped to `0..extent`.
pub fn clamp(index: &PrimExpr, extent: &PrimExpr) -> PrimExpr {
    index.clone().min(dims::sub(extent, &1i64.into())).max(0i64)
}

/// Returns the condition that an index is in `0..extent`.
pub fn inside(index: &PrimExpr, extent: &PrimExpr) -> PrimExpr {
    index.clone().ge(0i64).and(index.clone().lt(extent))
}

/// A value read at clamped indices of axes with these extents, or zero if one of the axes is empty at run time.
pub fn zero_if_empty<'d>(extents: impl IntoIterator<Item = &'d PrimExpr>, value: PrimExpr) -> PrimExpr {
    let may_be_empty = extents.into_iter().filter(|d| d.as_int().is_none_or(|n| n <= 0));
    let holds = may_be_empty.map(|d| d.clone().gt(0i64)).reduce(PrimExpr::and);
    let zero = PrimExpr::constant(0.0, value.dtype());
    match holds {
        Some(holds) => holds.if_then_else(value, zero),
        None => value,
    }
}

/// An element as an int64.
pub fn int64(element: PrimExpr) -> PrimExpr {
    element.cast(DType::INT64)
}
