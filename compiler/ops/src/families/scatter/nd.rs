//! `scatter_nd`

use super::{REDUCTIONS, around, put, scatter_type};
use crate::{
    CallContext, dims,
    families::index::{expect_inside, expect_integers, from_end},
    legalize::{Builder, Legalized, loops::each_in_vectors},
    op::{AttrKind, Op},
    relayout,
    rules::Inferred,
};
use hammock_ir::{PrimExpr, prim::Var, relax::InferError};

/// `scatter_nd`
pub fn scatter_nd() -> Op {
    Op::new("scatter_nd")
        .doc("`data` with updates scattered to the index vectors in the last axis of `indices`.")
        .example("x: float32[4, 3]; i: int64[1, 1]; u: float32[1, 3]", r#"x, i, u, reduction="add""#)
        .tensor("data")
        .tensor("indices")
        .tensor("updates")
        .attr("reduction", AttrKind::Str, "update")
        .layouts(relayout::scatter_nd)
        .infer(scatter_nd_type)
        .legalize(scatter_nd_tir)
}

fn scatter_nd_type(cx: &CallContext) -> Inferred {
    let data = scatter_type(cx, "updates")?;
    let (indices, updates) = (cx.tensor("indices")?, cx.tensor("updates")?);
    expect_integers(cx, "indices", &indices)?;
    cx.one_of("reduction", &REDUCTIONS)?;
    let (Some(data_dims), Some(places)) = (data.dims(), indices.dims()) else { return Ok(data.into()) };
    let Some((count, outer)) = places.split_last() else {
        return Err(cx.error_at("indices", "`indices` must have at least one dimension"));
    };
    let Some(count) = count.as_int() else { return Ok(data.into()) };
    let Some(inner) = usize::try_from(count).ok().and_then(|c| data_dims.get(c..)) else {
        let ndim = data_dims.len();
        return Err(cx.error_at(
            "indices",
            format_args!(
                "an index of {count} numbers is too long for `data` of {}",
                hammock_ir::count(ndim, "dimension")
            ),
        ));
    };
    expect_inside(cx, "indices", cx.operand("indices")?, &data_dims[..data_dims.len() - inner.len()])?;
    let expected = [outer, inner].concat();
    if let Some(updates) = updates.dims()
        && (updates.len() != expected.len()
            || updates.iter().zip(&expected).any(|(a, b)| dims::equal(a, b) == Some(false)))
    {
        let (want, got) = (crate::text::dims_text(&expected), crate::text::dims_text(updates));
        return Err(cx.error_at("updates", format_args!("`updates` must have the shape {want}, not {got}")));
    }
    Ok(data.into())
}

/// Copies the data, then applies the updates sequentially.
fn scatter_nd_tir(cx: &CallContext) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, "scatter_nd")?;
    let (data, indices, updates) = (b.input("data")?, b.input("indices")?, b.input("updates")?);
    let how = cx.one_of("reduction", &REDUCTIONS)?;
    let outer = indices.ndim() - 1;
    let Some(count) = indices.shape()[outer].as_int() else {
        return Err(cx.error_at("indices", "the last size of `indices` must be known"));
    };
    let out = b.output("T_scatter_nd")?;
    let expected = [&indices.shape()[..outer], &out.shape[count as usize..]].concat();
    for (a, c) in updates.shape().iter().zip(&expected) {
        b.require_equal(a, c, "`updates` does not fit `indices` and `data`");
    }
    b.compute(&out, |i| data.at(i));
    let (inner, last) = match out.shape[count as usize..].split_last() {
        Some((last, inner)) => (inner.to_vec(), Some(last.clone())),
        None => (Vec::new(), None),
    };
    b.block("scatter", &[], |_| {
        let loops: Vec<Var> = (0..outer).map(|n| Var::int64(format!("j{n}"))).collect();
        let rest: Vec<Var> = (0..inner.len()).map(|n| Var::int64(format!("k{n}"))).collect();
        let row: Vec<PrimExpr> = loops.iter().map(Var::expr).collect();
        let place = |n: i64| {
            let at = [&row[..], &[n.into()]].concat();
            from_end(indices.index_at(&at), &out.shape[n as usize])
        };
        let to: Vec<PrimExpr> = (0..count).map(place).collect();
        let put = |own: &[PrimExpr]| {
            let rest: Vec<PrimExpr> = rest.iter().map(Var::expr).chain(own.iter().cloned()).collect();
            put(&out, how, [&to[..], &rest].concat(), updates.at(&[&row[..], &rest].concat()))
        };
        let body = match &last {
            Some(last) => each_in_vectors("k", last, |k| put(std::slice::from_ref(k))),
            None => put(&[]),
        };
        let body = around(rest.clone(), &inner, body);
        around(loops, &indices.shape()[..outer], body)
    });
    Ok(b.finish())
}
