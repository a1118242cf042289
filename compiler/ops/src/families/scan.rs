//! Prefix scans, and sampling from distributions by prefix sums.

use crate::{
    CallContext, dims,
    families::manipulate::unflatten,
    legalize::{
        Builder, Combine, Legalized, accumulator,
        loops::{each, in_order, when},
    },
    op::{AttrKind, NONE, Op},
    rules::{Inferred, common_vdevice, expect_ndim},
};
use hammock_ir::{
    DType, PrimExpr, TensorShape, TensorType,
    prim::Var,
    relax::InferError,
    tir::{Buffer, ForKind, Stmt, StmtKind},
};

use super::index::{clamp, expect_integers, int64};

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    vec![
        scan("cumsum", "Cumulative sums along an axis, or of the flattened tensor.", Combine::Sum),
        scan("cumprod", "Cumulative products along an axis, or of the flattened tensor.", Combine::Prod),
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

/// Maximum number of adjacent lines that are scanned together: their accumulators fit in the L1 cache.
const MAX_LINES: i64 = 512;

/// Number of lines per vector.
const LANES: i64 = 16;

fn scan_tir(cx: &CallContext, how: Combine) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, cx.op.name)?;
    let x = b.input("data")?;
    let axis = cx.optional_int("axis")?.map(|a| cx.normalize_axis("axis", a, x.ndim())).transpose()?;
    let out = b.output(&format!("T_{}", cx.op.name))?;
    let scan = Scan { how: how.on(out.dtype), wide: accumulator(out.dtype), exclusive: cx.bool("exclusive")?, out };
    let Some(axis) = axis else {
        let (shape, length) = (x.shape().to_vec(), scan.out.shape[0].clone());
        b.block(cx.op.name, &[], |_| {
            scan.scan_lines(&length, &1i64.into(), |k, _| vec![k.clone()], |at| x.at(&unflatten(&at[0], &shape)))
        });
        return Ok(b.finish());
    };
    let shape = scan.out.shape.clone();
    let (length, inner) = (&shape[axis], &shape[axis + 1..]);
    let outer_rank = inner.len() - collapsed_axes(inner);
    let (between, inner) = inner.split_at(outer_rank);
    let outer = [&shape[..axis], between].concat();
    let lines = dims::product(inner);
    let at = |i: &[PrimExpr], k: &PrimExpr, line: PrimExpr| {
        let inside = if inner.len() == 1 { vec![line] } else { unflatten(&line, inner) };
        [&i[..axis], std::slice::from_ref(k), &i[axis..axis + outer_rank], &inside].concat()
    };
    let width = PrimExpr::int64(MAX_LINES);
    let (groups, rest) = (dims::floordiv(&lines, &width), dims::floormod(&lines, &width));
    if !dims::is(&groups, 0) {
        let space = [&outer[..], std::slice::from_ref(&groups)].concat();
        b.block(cx.op.name, &space, |i| {
            let first = dims::mul(&i[axis + outer_rank], &width);
            scan.scan_lines(length, &width, |k, j| at(i, k, dims::add(&first, j)), |at| x.at(at))
        });
    }
    if !dims::is(&rest, 0) {
        let name = format!("{}{}", cx.op.name, if dims::is(&groups, 0) { "" } else { "_rest" });
        let first = dims::mul(&groups, &width);
        b.block(&name, &outer, |i| {
            scan.scan_lines(length, &rest, |k, j| at(i, k, dims::add(&first, j)), |at| x.at(at))
        });
    }
    Ok(b.finish())
}

/// Number of trailing axes that are collapsed: those of known sizes, if that needs no division at run time, otherwise
/// the last one.
fn collapsed_axes(inner: &[PrimExpr]) -> usize {
    let known = inner.iter().rev().take_while(|d| d.as_int().is_some()).count();
    known.max(inner.len().min(1))
}

/// A prefix sum or product.
struct Scan {
    how: Combine,
    /// Accumulators.
    wide: DType,
    /// True for an exclusive scan: a result does not include its own element.
    exclusive: bool,
    out: Buffer,
}

impl Scan {
    /// Scans at most [`MAX_LINES`] lines together, step by step: `at` returns the index of step `k` of line `j`.
    fn scan_lines(
        &self,
        length: &PrimExpr,
        lines: &PrimExpr,
        at: impl Fn(&PrimExpr, &PrimExpr) -> Vec<PrimExpr>,
        x: impl Fn(&[PrimExpr]) -> PrimExpr,
    ) -> Stmt {
        let room = lines.as_int().unwrap_or(MAX_LINES);
        let so_far = Buffer::scoped("so_far", vec![room.into()], self.wide, "local");
        let begin = each_line(lines, |j| Stmt::store(&so_far, vec![j.clone()], self.how.identity(self.wide)));
        let steps = each("k", length.clone(), |k| {
            each_line(lines, |j| {
                let (at, line) = (at(k, j), || vec![j.clone()]);
                let old = PrimExpr::load(&so_far, line());
                let element = x(&at).cast(self.out.dtype).cast(self.wide);
                let fold = Stmt::store(&so_far, line(), self.how.apply(old.clone(), element));
                let put = Stmt::store(&self.out, at, old.cast(self.out.dtype));
                Stmt::seq(if self.exclusive { [put, fold] } else { [fold, put] })
            })
        });
        in_order([Stmt::new(StmtKind::Alloc(so_far.clone(), Default::default())), begin, steps])
    }
}

/// A vectorized statement for each of the lines scanned together. If their number is dynamic, the last vector is
/// masked.
fn each_line(lines: &PrimExpr, f: impl Fn(&PrimExpr) -> Stmt) -> Stmt {
    let lanes = |count: i64, first: &PrimExpr, body: &dyn Fn(&PrimExpr) -> Stmt| {
        let lane = Var::int64("lane");
        let body = body(&dims::add(first, &lane.expr()));
        Stmt::for_kind(lane, count.into(), ForKind::Vectorized, body)
    };
    let vector = |v: &PrimExpr| dims::mul(v, &LANES.into());
    let Some(known) = lines.as_int() else {
        let there = |j: &PrimExpr| when(j.clone().lt(lines.clone()), f(j));
        return each("vector", dims::ceildiv(lines, &LANES.into()), |v| lanes(LANES, &vector(v), &there));
    };
    let (vectors, rest) = (known / LANES, known % LANES);
    let whole = (vectors > 0).then(|| each("vector", vectors, |v| lanes(LANES, &vector(v), &f)));
    let last = match rest {
        0 => None,
        1 => Some(f(&(vectors * LANES).into())),
        _ => Some(lanes(rest, &(vectors * LANES).into(), &f)),
    };
    Stmt::seq(whole.into_iter().chain(last))
}

fn multinomial_from_uniform() -> Op {
    Op::new("multinomial_from_uniform")
        .doc("For each uniform number, the first category whose cumulative probability exceeds it.")
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

/// Scans the categories of a sample's row; the last one is the result if rounding leaves the sum too small.
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
