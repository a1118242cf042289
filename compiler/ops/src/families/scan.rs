//! Running sums and products, and sampling by them.

use crate::{
    context::CallContext,
    dims,
    families::manipulate::unflatten,
    legalize::{Builder, Combine, Legalized, accumulator},
    op::{AttrKind, NONE, Op},
    rules::{Inferred, common_vdevice, expect_ndim},
};
use hammock_ir::{
    DType, PrimExpr, TensorShape, TensorType,
    prim::Var,
    relax::InferError,
    tir::{Buffer, Stmt, StmtKind},
};

use super::index::{clamp, expect_integers, int64};

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    vec![
        scan("cumsum", "Running sums along an axis, or of the flattened tensor.", Combine::Sum),
        scan("cumprod", "Running products along an axis, or of the flattened tensor.", Combine::Prod),
        multinomial_from_uniform(),
    ]
}

fn scan(name: &'static str, doc: &'static str, how: Combine) -> Op {
    Op::new(name)
        .doc(doc)
        .example("x: float32[2, 3]", "x, axis=1")
        .tensor("data")
        .attr("axis", AttrKind::OptionalInt, NONE)
        .attr("dtype", AttrKind::DType, NONE)
        .attr("exclusive", AttrKind::Bool, false)
        .infer(scan_type)
        .legalize(move |cx| scan_tir(cx, how))
}

fn scan_type(cx: &CallContext) -> Inferred {
    let x = cx.tensor("data")?;
    let dtype = cx.dtype("dtype")?.or(x.dtype);
    let shape = match (cx.optional_int("axis")?, x.ndim()) {
        (None, _) => x.dims().map_or(TensorShape::Rank(1), |d| TensorShape::Known([dims::product(d)].into())),
        (Some(axis), Some(ndim)) => {
            cx.normalize_axis("axis", axis, ndim)?;
            x.shape
        }
        (Some(_), None) => x.shape,
    };
    Ok(TensorType { shape, dtype, vdevice: x.vdevice }.into())
}

fn scan_tir(cx: &CallContext, how: Combine) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, cx.op.name)?;
    let x = b.input("data")?;
    let axis = cx.optional_int("axis")?.map(|a| cx.normalize_axis("axis", a, x.ndim())).transpose()?;
    let exclusive = cx.bool("exclusive")?;
    let out = b.output(&format!("T_{}", cx.op.name))?;
    let how = how.on(out.dtype);
    let wide = accumulator(out.dtype);
    let mut lines = out.shape.clone();
    let length = lines.remove(axis.unwrap_or(0));
    b.block(cx.op.name, &lines, |line| {
        let so_far = Buffer::scoped("so_far", vec![1i64.into()], wide, "local");
        let (zero, k) = (|| vec![PrimExpr::int64(0)], Var::int64("k"));
        let mut at = line.to_vec();
        at.insert(axis.unwrap_or(0), k.expr());
        let element = if axis.is_some() { x.at(&at) } else { x.at(&unflatten(&k.expr(), x.shape())) };
        let old = PrimExpr::load(&so_far, zero());
        let fold = Stmt::store(&so_far, zero(), how.apply(old.clone(), element.cast(out.dtype).cast(wide)));
        let put = Stmt::store(&out, at, old.cast(out.dtype));
        let step = Stmt::seq(if exclusive { [put, fold] } else { [fold, put] });
        Stmt::new(StmtKind::Seq(vec![
            Stmt::new(StmtKind::Alloc(so_far.clone(), Default::default())),
            Stmt::store(&so_far, zero(), how.identity(wide)),
            Stmt::serial(k, length, step),
        ]))
    });
    Ok(b.finish())
}

fn multinomial_from_uniform() -> Op {
    Op::new("multinomial_from_uniform")
        .doc("For each uniform number, the first category whose running sum of probabilities exceeds it.")
        .example("p: float32[1, 4]; u: float32[2, 1]; i: int64[2, 1]", "p, u, i")
        .tensor("prob")
        .tensor("uniform_sample")
        .tensor("sample_indices")
        .attr("dtype", AttrKind::DType, DType::INT64)
        .infer(multinomial_type)
        .legalize(multinomial_tir)
}

fn multinomial_type(cx: &CallContext) -> Inferred {
    let (prob, uniform, rows) = (cx.tensor("prob")?, cx.tensor("uniform_sample")?, cx.tensor("sample_indices")?);
    for (param, t) in [("prob", &prob), ("uniform_sample", &uniform), ("sample_indices", &rows)] {
        expect_ndim(cx, param, t, 2)?;
    }
    expect_integers(cx, "sample_indices", &rows)?;
    for (param, t) in [("prob", &prob), ("uniform_sample", &uniform)] {
        if t.dtype.is_some_and(|d| !d.is_floating()) {
            return Err(cx.error_at(param, format_args!("`{param}` must hold floats")));
        }
    }
    if let (Some(u), Some(r)) = (uniform.dims(), rows.dims()) {
        if dims::equal(&u[0], &r[0]) == Some(false) {
            let text = "`uniform_sample` and `sample_indices` must have one row for each sample";
            return Err(cx.error_at("sample_indices", text));
        }
        for (param, d) in [("uniform_sample", u), ("sample_indices", r)] {
            if dims::equal(&d[1], &1i64.into()) == Some(false) {
                return Err(cx.error_at(param, format_args!("`{param}` must have one column")));
            }
        }
    }
    let vdevice = common_vdevice(cx, [&prob, &uniform, &rows])?;
    let shape = match uniform.dims() {
        Some(d) => TensorShape::Known([d[0].clone(), 1i64.into()].into()),
        None => TensorShape::Rank(2),
    };
    Ok(TensorType { shape, dtype: cx.dtype("dtype")?, vdevice }.into())
}

/// Runs over the categories of a sample's row; the last one is the answer where rounding leaves the sum too small.
fn multinomial_tir(cx: &CallContext) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, "multinomial_from_uniform")?;
    let (prob, uniform, rows) = (b.input("prob")?, b.input("uniform_sample")?, b.input("sample_indices")?);
    let out = b.output("T_multinomial")?;
    let [batch, categories] = prob.shape() else { return Err(cx.error_at("prob", "`prob` must be a matrix")) };
    let (batch, categories) = (batch.clone(), categories.clone());
    let wide = accumulator(prob.dtype());
    b.require_equal(&rows.shape()[0], &uniform.shape()[0], "each sample needs one row index");
    let space = out.shape.clone();
    b.block("multinomial", &space, |i| {
        let sum = Buffer::scoped("sum", vec![1i64.into()], wide, "local");
        let found = Buffer::scoped("found", vec![1i64.into()], DType::INT64, "local");
        let (zero, k) = (|| vec![PrimExpr::int64(0)], Var::int64("k"));
        let row = clamp(&int64(rows.at(i)), &batch);
        let total = PrimExpr::load(&sum, zero()) + prob.at(&[row, k.expr()]).cast(wide);
        let exceeds = PrimExpr::load(&sum, zero()).gt(uniform.at(i).cast(wide));
        let open = PrimExpr::load(&found, zero()).lt(0i64);
        let hit = StmtKind::If(open.clone().and(exceeds), Box::new(Stmt::store(&found, zero(), k.expr())), None);
        let step = Stmt::seq([Stmt::store(&sum, zero(), total), Stmt::new(hit)]);
        let last = dims::max(&dims::sub(&categories, &1i64.into()), &0i64.into());
        let answer = open.select(last, PrimExpr::load(&found, zero()));
        let some_row = batch.clone().gt(0i64).select(categories.clone(), 0i64.into());
        let steps = if batch.as_int().is_some_and(|n| n > 0) { categories.clone() } else { some_row };
        Stmt::new(StmtKind::Seq(vec![
            Stmt::new(StmtKind::Alloc(sum.clone(), Default::default())),
            Stmt::new(StmtKind::Alloc(found.clone(), Default::default())),
            Stmt::store(&sum, zero(), PrimExpr::constant(0.0, wide)),
            Stmt::store(&found, zero(), (-1i64).into()),
            Stmt::serial(k, steps, step),
            Stmt::store(&out, i.to_vec(), answer.cast(out.dtype)),
        ]))
    });
    Ok(b.finish())
}
