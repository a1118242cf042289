//! `scatter_elements`

use super::{REDUCTIONS, put, scatter_type};
use crate::{
    CallContext, dims,
    families::index::{expect_inside, expect_integers, from_end},
    legalize::{Builder, Legalized},
    op::{AttrKind, Op},
    relayout,
    rules::Inferred,
};
use hammock_ir::{count, prim::Var, relax::InferError, tir::Stmt};

/// `scatter_elements`
pub fn scatter_elements() -> Op {
    Op::new("scatter_elements")
        .doc(
            "`data` with updates scattered into it: along `axis` the position comes from `indices`, along the other \
             axes it is the update's own.",
        )
        .example("x: float32[4, 3]; i: int64[1, 3]; u: float32[1, 3]", "x, i, u, axis=0")
        .tensor("data")
        .tensor("indices")
        .tensor("updates")
        .attr("axis", AttrKind::Int, 0)
        .attr("reduction", AttrKind::Str, "update")
        .layouts(relayout::scatter_elements)
        .infer(scatter_elements_type)
        .legalize(scatter_elements_tir)
}

fn scatter_elements_type(cx: &CallContext) -> Inferred {
    let data = scatter_type(cx, "updates")?;
    let (indices, updates) = (cx.tensor("indices")?, cx.tensor("updates")?);
    expect_integers(cx, "indices", &indices)?;
    cx.one_of("reduction", &REDUCTIONS)?;
    for (param, t) in [("indices", &indices), ("updates", &updates)] {
        if let (Some(a), Some(b)) = (data.ndim(), t.ndim())
            && a != b
        {
            return Err(cx.error_at(param, format_args!("`data` has {}, but `{param}` has {b}", count(a, "dimension"))));
        }
    }
    if let (Some(i), Some(u)) = (indices.dims(), updates.dims())
        && i.iter().zip(u).any(|(i, u)| dims::equal(i, u) == Some(false))
    {
        return Err(cx.error_at("updates", "`indices` and `updates` must have one shape"));
    }
    if let Some(ndim) = data.ndim() {
        let axis = cx.axis("axis", ndim)?;
        if let Some(dims) = data.dims() {
            expect_inside(cx, "indices", cx.operand("indices")?, &dims[axis..=axis])?;
        }
    }
    Ok(data.into())
}

/// Copies the data, then applies the updates of each line along the axis sequentially.
fn scatter_elements_tir(cx: &CallContext) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, "scatter_elements")?;
    let (data, indices, updates) = (b.input("data")?, b.input("indices")?, b.input("updates")?);
    let axis = cx.axis("axis", data.ndim())?;
    let how = cx.one_of("reduction", &REDUCTIONS)?;
    let out = b.output("T_scatter_elements")?;
    for (a, c) in indices.shape().iter().zip(updates.shape()) {
        b.require_equal(a, c, "`indices` and `updates` must have one shape");
    }
    for other in (0..data.ndim()).filter(|other| *other != axis) {
        let (own, longest) = (indices.shape()[other].clone(), data.shape()[other].clone());
        b.require(own.le(longest), &format!("`indices` is longer than `data` in axis {other}"));
    }
    b.compute(&out, |i| data.at(i));
    let mut lines = indices.shape().to_vec();
    let length = lines.remove(axis);
    b.block("scatter", &lines, |line| {
        let k = Var::int64("k");
        let mut from = line.to_vec();
        from.insert(axis, k.expr());
        let mut to = from.clone();
        to[axis] = from_end(indices.index_at(&from), &out.shape[axis]);
        Stmt::serial(k, length, put(&out, how, to, updates.at(&from)))
    });
    Ok(b.finish())
}
