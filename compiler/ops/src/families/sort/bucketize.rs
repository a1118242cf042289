//! `bucketize`

use super::Order;
use crate::{
    CallContext, dims,
    legalize::{Builder, Legalized},
    op::{AttrKind, Op},
    rules::{common_dtype, common_vdevice, expect_ndim},
};
use hammock_ir::{
    DType, PrimExpr, TensorType,
    relax::InferError,
    tir::{Buffer, Stmt, StmtKind},
};

/// `bucketize`
pub fn bucketize() -> Op {
    Op::new("bucketize")
        .doc(
            "For each element, the number of ascending boundaries before it: those less, or with `right` \
             those not greater.",
        )
        .example("x: float32[2, 3]; b: float32[4]", "x, b")
        .tensor("input_tensor")
        .tensor("boundaries")
        .attr("out_int32", AttrKind::Bool, false)
        .attr("right", AttrKind::Bool, false)
        .infer(|cx| {
            let (x, boundaries) = (cx.tensor("input_tensor")?, cx.tensor("boundaries")?);
            expect_ndim(cx, "boundaries", &boundaries, 1)?;
            common_dtype(cx, ("input_tensor", &x), ("boundaries", &boundaries))?;
            let vdevice = common_vdevice(cx, [&x, &boundaries])?;
            let dtype = if cx.bool("out_int32")? { DType::INT32 } else { DType::INT64 };
            Ok(TensorType { dtype: Some(dtype), vdevice, ..x }.into())
        })
        .legalize(bucketize_tir)
}

/// Binary search.
fn bucketize_tir(cx: &CallContext) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, "searchsorted")?;
    let (x, boundaries) = (b.input("input_tensor")?, b.input("boundaries")?);
    let right = cx.bool("right")?;
    let out = b.output("searchsorted")?;
    let count = boundaries.shape()[0].clone();
    let space = out.shape.clone();
    b.block("searchsorted", &space, |i| {
        let range = Buffer::scoped("range", vec![2i64.into()], DType::INT64, "local");
        let end = |n: i64| PrimExpr::load(&range, vec![n.into()]);
        let set = |n: i64, value: PrimExpr| Stmt::store(&range, vec![n.into()], value);
        let middle = dims::floordiv(&(end(0) + end(1)), &2i64.into());
        let boundary = boundaries.at(std::slice::from_ref(&middle));
        let element = x.at(i);
        let goes_right = match right {
            true => Order::Ascending.before(element, boundary).not(),
            false => Order::Ascending.before(boundary, element),
        };
        let step = StmtKind::If(
            goes_right,
            Box::new(set(0, dims::add(&middle, &1i64.into()))),
            Some(Box::new(set(1, middle))),
        );
        let search = StmtKind::While(end(0).lt(end(1)), Box::new(Stmt::new(step)));
        Stmt::new(StmtKind::Seq(vec![
            Stmt::new(StmtKind::Alloc(range.clone(), Default::default())),
            set(0, 0i64.into()),
            set(1, count),
            Stmt::new(search),
            Stmt::store(&out, i.to_vec(), end(0).cast(out.dtype)),
        ]))
    });
    Ok(b.finish())
}
