//! Reductions over axes, and statistics.

mod median;

use crate::{
    CallContext, dims,
    families::manipulate::flatten,
    legalize::{Builder, Combine, Input, Legalized, accumulator, highest, lowest},
    op::{AttrKind, NONE, Op},
    relayout,
    rules::Inferred,
};
use hammock_ir::{DType, PrimExpr, TensorShape, TensorType, relax::InferError, tir::Buffer};
use median::median;

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    vec![
        reduction("sum", "Adds elements along axes, or all of them.", Combine::Sum),
        reduction("prod", "Multiplies elements along axes, or all of them.", Combine::Prod),
        reduction("max", "The largest element along axes, or of all elements; NaN if one is NaN.", Combine::Max),
        reduction("min", "The smallest element along axes, or of all elements; NaN if one is NaN.", Combine::Min),
        mean(),
        statistic("variance", "The mean squared distance from the mean, along axes or of all elements.", |v| v),
        statistic("std", "The square root of the variance.", |v| v.unary("sqrt")),
        median(),
        size(),
        arg(
            "argmax",
            "The index of the largest element along an axis, or of all elements; the first one if several are equal.",
            true,
        ),
        arg(
            "argmin",
            "The index of the smallest element along an axis, or of all elements; the first one if several are equal.",
            false,
        ),
    ]
}

fn over_axes(name: &'static str, doc: &'static str) -> Op {
    Op::new(name)
        .doc(doc)
        .example("x: float32[2, 3]", "x, axis=[1]")
        .tensor("x")
        .attr("axis", AttrKind::OptionalInts, NONE)
        .attr("keepdims", AttrKind::Bool, false)
        .layouts(relayout::reduction)
        .infer(|cx| reduced(cx, "x", None))
}

fn reduction(name: &'static str, doc: &'static str, how: Combine) -> Op {
    over_axes(name, doc).legalize(move |cx| {
        let mut b = Builder::new(cx, cx.op.name)?;
        let x = b.input("x")?;
        let axes = Axes::of(cx, &x)?;
        let out = b.output("x_red")?;
        b.reduce(&out, &axes.over(&x), how, |i, k| x.at(&axes.merge(i, k)));
        Ok(b.finish())
    })
}

fn mean() -> Op {
    over_axes("mean", "The mean along axes, or of all elements.").legalize(|cx| {
        let mut b = Builder::new(cx, "mean")?;
        let x = b.input("x")?;
        let axes = Axes::of(cx, &x)?;
        let out = b.output("T_divide")?;
        let total = axes.sum(&mut b, &x, &out, |e| e);
        b.compute(&out, |i| divide_by(total.at(i), axes.count(&x)).cast(out.dtype));
        Ok(b.finish())
    })
}

/// `variance` and functions of it.
fn statistic(name: &'static str, doc: &'static str, f: fn(PrimExpr) -> PrimExpr) -> Op {
    over_axes(name, doc).legalize(move |cx| {
        let mut b = Builder::new(cx, name)?;
        let x = b.input("x")?;
        let axes = Axes::of(cx, &x)?;
        let out = b.output("T_divide")?;
        let wide = accumulator(out.dtype);
        let total = axes.sum(&mut b, &x, &out, |e| e);
        let mean = b.stage("mean", out.shape.clone(), wide, |i| divide_by(total.at(i), axes.count(&x)));
        let squares = b.temp("squares", out.shape.clone(), wide);
        b.reduce(&squares, &axes.over(&x), Combine::Sum, |i, k| {
            let distance = x.at(&axes.merge(i, k)).cast(wide) - mean.at(i);
            &distance * &distance
        });
        b.compute(&out, |i| f(divide_by(PrimExpr::load(&squares, i.to_vec()), axes.count(&x))).cast(out.dtype));
        Ok(b.finish())
    })
}

fn size() -> Op {
    Op::new("size")
        .doc("The number of elements.")
        .example("x: float32[2, 3]", "x")
        .tensor("expr")
        .infer(|cx| {
            let x = cx.tensor("expr")?;
            Ok(TensorType { vdevice: x.vdevice, ..TensorType::new([] as [PrimExpr; 0], DType::INT64) }.into())
        })
        .legalize(|cx| {
            let mut b = Builder::new(cx, "size")?;
            let x = cx.tensor("expr")?;
            let dims = x.dims().ok_or_else(|| cx.error_at("expr", "the shape of `expr` is not known"))?;
            let count = dims::product(&b.dims(dims));
            let out = b.output("T_size")?;
            b.compute(&out, |_| count);
            Ok(b.finish())
        })
}

/// A sum divided by a number of elements; of integers, truncating.
fn divide_by(sum: PrimExpr, count: PrimExpr) -> PrimExpr {
    let count = match count.as_int() {
        Some(n) => PrimExpr::constant(n as f64, sum.dtype()),
        None => count.cast(sum.dtype()),
    };
    sum / count
}

/// The type of a tensor reduced over the call's axes.
fn reduced(cx: &CallContext, param: &str, dtype: Option<DType>) -> Inferred {
    let x = cx.tensor(param)?;
    let dtype = dtype.or(x.dtype);
    let keep = cx.bool("keepdims")?;
    let Some(ndim) = x.ndim() else {
        let all = cx.attr("axis")?.is_none() && !keep;
        let shape = if all { TensorShape::Known([].into()) } else { TensorShape::Unknown };
        return Ok(TensorType { shape, dtype, ..x }.into());
    };
    let axes = cx.axes_or_all("axis", ndim)?;
    let shape = match x.dims() {
        Some(dims) => TensorShape::Known(kept_dims(dims, &axes, keep).into()),
        None if keep => TensorShape::Rank(ndim),
        None if axes.len() == ndim => TensorShape::Known([].into()),
        None => TensorShape::Rank(ndim - axes.len()),
    };
    Ok(TensorType { shape, dtype, ..x }.into())
}

fn kept_dims(dims: &[PrimExpr], axes: &[usize], keep: bool) -> Vec<PrimExpr> {
    let dim = |(i, d): (usize, &PrimExpr)| match axes.contains(&i) {
        false => Some(d.clone()),
        true if keep => Some(PrimExpr::int64(1)),
        true => None,
    };
    dims.iter().enumerate().filter_map(dim).collect()
}

/// Axes to reduce over.
pub struct Axes {
    axes: Vec<usize>,
    keep: bool,
}

impl Axes {
    /// The axes of a call's `axis` and `keepdims`.
    ///
    /// # Errors
    /// When an axis is out of range.
    pub fn of(cx: &CallContext, x: &Input) -> Result<Self, InferError> {
        Ok(Axes { axes: cx.axes_or_all("axis", x.ndim())?, keep: cx.bool("keepdims")? })
    }

    /// Their names and extents, for [`Builder::reduce`].
    pub fn over(&self, x: &Input) -> Vec<(String, PrimExpr)> {
        self.axes.iter().map(|a| (format!("k{a}"), x.shape()[*a].clone())).collect()
    }

    /// Number of elements reduced to one.
    pub fn count(&self, x: &Input) -> PrimExpr {
        dims::product(self.axes.iter().map(|a| &x.shape()[*a]))
    }

    /// The operand's index for an index of the result and a position on the reduction axes.
    pub fn merge(&self, i: &[PrimExpr], k: &[PrimExpr]) -> Vec<PrimExpr> {
        let ndim = if self.keep { i.len() } else { i.len() + k.len() };
        let mut rest = i.iter();
        let at = |axis: usize| {
            let folded = self.axes.iter().position(|a| *a == axis);
            let own = if folded.is_none() || self.keep { rest.next() } else { None };
            folded.map(|p| k[p].clone()).or(own.cloned()).unwrap_or(PrimExpr::int64(0))
        };
        (0..ndim).map(at).collect()
    }

    /// The sum of `f` of each element, of the shape of `out`, in a wide accumulator dtype.
    pub fn sum(&self, b: &mut Builder, x: &Input, out: &Buffer, f: impl FnOnce(PrimExpr) -> PrimExpr) -> Input {
        let wide = accumulator(out.dtype);
        let total = b.temp("x_red", out.shape.clone(), wide);
        b.reduce(&total, &self.over(x), Combine::Sum, |i, k| f(x.at(&self.merge(i, k)).cast(wide)));
        Input::Buffer(total)
    }
}

/// `argmax` and `argmin`.
fn arg(name: &'static str, doc: &'static str, largest: bool) -> Op {
    Op::new(name)
        .doc(doc)
        .example("x: float32[2, 3]", "x, axis=1")
        .tensor("x")
        .attr("axis", AttrKind::OptionalInt, NONE)
        .attr("keepdims", AttrKind::Bool, false)
        .infer(|cx| reduced(cx, "x", Some(DType::INT64)))
        .legalize(move |cx| arg_tir(cx, largest))
}

/// An arg-reduction: reduces pairs of position and value.
fn arg_tir(cx: &CallContext, largest: bool) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, cx.op.name)?;
    let x = b.input("x")?;
    let axes = Axes::of(cx, &x)?;
    let out = b.output("x_red")?;
    let best = b.temp("x_red_value", out.shape.clone(), x.dtype());
    let worst = if largest { lowest(x.dtype()) } else { highest(x.dtype()) };
    let over = axes.over(&x);
    let extents: Vec<PrimExpr> = over.iter().map(|(_, e)| e.clone()).collect();
    b.fold(&[&out, &best], &over, vec![PrimExpr::int64(0), worst], |so_far, i, k| {
        let new = [flatten(k, &extents), x.at(&axes.merge(i, k))];
        let wins = wins(&new, so_far, largest);
        new.into_iter().zip(so_far).map(|(new, old)| wins.clone().select(new, old.clone())).collect()
    });
    Ok(b.finish())
}

/// The condition that one pair of position and value wins over another: the better value does, of equal ones the first,
/// and NaN over all. The order is total, so the result does not depend on the order of reduction.
pub fn wins(new: &[PrimExpr], old: &[PrimExpr], largest: bool) -> PrimExpr {
    let [(at, x), (old_at, y)] = [new, old].map(|p| (p[0].clone(), p[1].clone()));
    let first = at.lt(old_at);
    let better = if largest { x.clone().gt(y.clone()) } else { x.clone().lt(y.clone()) };
    let wins = better.or(x.clone().eq(y.clone()).and(first.clone()));
    if !x.dtype().is_floating() {
        return wins;
    }
    let is_nan = |e: PrimExpr| PrimExpr::intrin("isnan", vec![e], DType::BOOL);
    wins.or(is_nan(x).and(is_nan(y).not().or(first)))
}
