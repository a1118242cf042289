//! `slice_scatter`

use crate::{
    CallContext, dims,
    families::index::{from_end, int64},
    legalize::{Builder, Legalized},
    op::{AttrKind, Op, OperandKind},
    rules::{Inferred, common_dtype},
};
use hammock_ir::{PrimExpr, count, relax::InferError};

/// `slice_scatter`
pub fn slice_scatter() -> Op {
    Op::new("slice_scatter")
        .doc("`input_tensor` with `src` written to the slice `start:end:step` of an axis.")
        .example("x: float32[5, 3]; s: float32[2, 3]", "x, s, 1, 5, 2, axis=0")
        .tensor("input_tensor")
        .tensor("src")
        .operand("start", OperandKind::Prim)
        .operand("end", OperandKind::Prim)
        .operand_or("step", OperandKind::Prim, 1)
        .attr("axis", AttrKind::Int, 0)
        .infer(slice_scatter_type)
        .legalize(slice_scatter_tir)
}

fn slice_scatter_type(cx: &CallContext) -> Inferred {
    let (x, src) = (cx.tensor("input_tensor")?, cx.tensor("src")?);
    common_dtype(cx, ("input_tensor", &x), ("src", &src))?;
    if let (Some(a), Some(b)) = (x.ndim(), src.ndim())
        && a != b
    {
        return Err(cx.error_at("src", format_args!("`input_tensor` has {}, but `src` has {b}", count(a, "dimension"))));
    }
    if cx.prim("step")?.as_int().is_some_and(|s| s < 1) {
        return Err(cx.error_at("step", "`step` must be positive"));
    }
    let Some(ndim) = x.ndim() else { return Ok(x.into()) };
    let axis = cx.axis("axis", ndim)?;
    if let (Some(a), Some(b)) = (x.dims(), src.dims())
        && let Some(other) = (0..ndim).find(|i| *i != axis && dims::equal(&a[*i], &b[*i]) == Some(false))
    {
        return Err(cx.error_at("src", format_args!("`input_tensor` and `src` differ in axis {other}")));
    }
    Ok(x.into())
}

/// Each element comes from `src` if its index along the axis is in the slice, otherwise from the input.
fn slice_scatter_tir(cx: &CallContext) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, "slice_scatter")?;
    let (x, src) = (b.input("input_tensor")?, b.input("src")?);
    let [start, end, step] = ["start", "end", "step"].map(|p| b.prim(p).map(int64));
    let (start, end, step) = (start?, end?, step?);
    let axis = cx.axis("axis", x.ndim())?;
    let extent = x.shape()[axis].clone();
    let place = |bound: PrimExpr| match bound.as_int() {
        Some(v) if v >= 0 => dims::min(&bound, &extent),
        Some(_) => dims::max(&dims::add(&extent, &bound), &0i64.into()),
        None => dims::min(&dims::max(&from_end(bound, &extent), &0i64.into()), &extent),
    };
    let (start, end) = (place(start), place(end));
    let out = b.output("T_slice_scatter")?;
    for other in (0..x.ndim()).filter(|a| *a != axis) {
        b.require_equal(&src.shape()[other], &x.shape()[other], "`src` does not fit `input_tensor`");
    }
    b.compute(&out, |i| {
        let offset = dims::sub(&i[axis], &start);
        let position = dims::floordiv(&offset, &step);
        let mut hit = i[axis].clone().ge(start).and(i[axis].clone().lt(end));
        if !dims::is(&step, 1) {
            hit = hit.and(offset.floormod(step).eq(0i64));
        }
        let hit = hit.and(position.clone().lt(&src.shape()[axis]));
        let mut at = i.to_vec();
        at[axis] = position;
        hit.if_then_else(src.at(&at), x.at(i))
    });
    Ok(b.finish())
}
