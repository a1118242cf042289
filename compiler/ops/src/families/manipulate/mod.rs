//! Operators that change a tensor's shape.

mod join;
mod layout;
mod repeat;
mod reshape;

use crate::{
    CallContext, dims,
    legalize::{Builder, Combine, Legalized},
    op::{AttrKind, NONE, Op, OperandKind},
    precision::Precision,
    relayout,
    rules::{Broadcast, broadcast_dims, common_vdevice},
    text::dims_text,
};
use hammock_ir::{PrimExpr, TensorShape, TensorType, relax::InferError, types::ShapeType};
pub use layout::{inverse, mapped_shape};
pub use reshape::{flatten, unflatten};

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    let mut ops =
        vec![permute_dims(), expand_dims(), squeeze(), broadcast_to(), collapse_sum_like(), collapse_sum_to()];
    ops.extend(reshape::ops());
    ops.extend(join::ops());
    ops.extend(repeat::ops());
    ops.push(layout::layout_transform());
    ops
}

fn permute_dims() -> Op {
    Op::new("permute_dims")
        .doc("Transposes: permutes the dimensions, or reverses them if no axes are given.")
        .example("x: float32[2, 3, 4]", "x, axes=[0, 2, 1]")
        .tensor("x")
        .view()
        .attr("axes", AttrKind::OptionalInts, NONE)
        .layouts(relayout::permutation)
        .precision(Precision::Follow)
        .infer(|cx| {
            let x = cx.tensor("x")?;
            let Some(ndim) = x.ndim() else { return Ok(x.into()) };
            let axes = permutation(cx, ndim)?;
            let shape = match x.dims() {
                Some(d) => TensorShape::Known(axes.iter().map(|a| d[*a].clone()).collect()),
                None => TensorShape::Rank(ndim),
            };
            Ok(TensorType { shape, ..x }.into())
        })
        .legalize(|cx| {
            let mut b = Builder::new(cx, "transpose")?;
            let x = b.input("x")?;
            let axes = permutation(cx, x.ndim())?;
            let out = b.output("T_transpose")?;
            b.compute(&out, |i| {
                let mut own = i.to_vec();
                axes.iter().zip(i).for_each(|(a, i)| own[*a] = i.clone());
                x.at(&own)
            });
            Ok(b.finish())
        })
}

/// The axes of `permute_dims`.
fn permutation(cx: &CallContext, ndim: usize) -> Result<Vec<usize>, InferError> {
    if cx.attr("axes")?.is_none() {
        return Ok((0..ndim).rev().collect());
    }
    let axes = cx.axes("axes", ndim)?;
    if axes.len() != ndim {
        let given = axes.len();
        return Err(cx.error_at("axes", format_args!("`axes` must name all {ndim} axes of `x`, but it names {given}")));
    }
    Ok(axes)
}

fn expand_dims() -> Op {
    Op::new("expand_dims")
        .doc("Inserts axes of size 1 at the positions `axis` of the result.")
        .example("x: float32[2, 3]", "x, axis=[0]")
        .tensor("x")
        .view()
        .required("axis", AttrKind::Ints)
        .layouts(relayout::expansion)
        .precision(Precision::Follow)
        .infer(|cx| {
            let x = cx.tensor("x")?;
            let Some(ndim) = x.ndim() else { return Ok(x.into()) };
            let ndim = ndim + cx.ints("axis")?.len();
            let axes = cx.axes("axis", ndim)?;
            let shape = match x.dims() {
                Some(dims) => {
                    let mut own = dims.iter();
                    let dim = |i| if axes.contains(&i) { Some(1i64.into()) } else { own.next().cloned() };
                    TensorShape::Known((0..ndim).filter_map(dim).collect())
                }
                None => TensorShape::Rank(ndim),
            };
            Ok(TensorType { shape, ..x }.into())
        })
        .legalize(|cx| {
            let mut b = Builder::new(cx, "expand_dims")?;
            let x = b.input("x")?;
            let out = b.output("expand_dims")?;
            let axes = cx.axes("axis", out.ndim())?;
            b.compute(&out, |i| x.at(&without(i, &axes)));
            Ok(b.finish())
        })
}

/// The elements at other positions.
fn without(all: &[PrimExpr], axes: &[usize]) -> Vec<PrimExpr> {
    all.iter().enumerate().filter(|(i, _)| !axes.contains(i)).map(|(_, e)| e.clone()).collect()
}

fn squeeze() -> Op {
    Op::new("squeeze")
        .doc(
            "Removes axes of size 1: the given ones, or all. A given axis of another size is unchanged; a symbolic one must be 1.",
        )
        .example("x: float32[1, 2, 1, 3]", "x, axis=[0]")
        .tensor("x")
        .view()
        .attr("axis", AttrKind::OptionalInts, NONE)
        .layouts(relayout::squeezed)
        .precision(Precision::Follow)
        .infer(|cx| {
            let x = cx.tensor("x")?;
            let Some(dims) = x.dims() else {
                let removed = cx.optional_ints("axis")?.map(|a| a.len());
                let ndim = x.ndim().zip(removed).and_then(|(n, r)| n.checked_sub(r));
                let shape = ndim.map_or(TensorShape::Unknown, TensorShape::Rank);
                return Ok(TensorType { shape, ..x }.into());
            };
            let shape = squeezed(cx, dims)?
                .map_or(TensorShape::Unknown, |axes| TensorShape::Known(without(dims, &axes).into()));
            Ok(TensorType { shape, ..x }.into())
        })
        .legalize(|cx| {
            let mut b = Builder::new(cx, "squeeze")?;
            let x = b.input("x")?;
            let out = b.output("T_squeeze")?;
            let axes = squeezed(cx, x.shape())?.unwrap_or_default();
            b.compute(&out, |i| {
                let mut own = i.iter();
                let index = |d| if axes.contains(&d) { None } else { own.next().cloned() };
                x.at(&(0..x.ndim()).map(index).map(|i| i.unwrap_or(0i64.into())).collect::<Vec<_>>())
            });
            Ok(b.finish())
        })
}

/// The axes that `squeeze` removes; `None` when that depends on symbolic sizes.
fn squeezed(cx: &CallContext, dims: &[PrimExpr]) -> Result<Option<Vec<usize>>, InferError> {
    if cx.attr("axis")?.is_none() {
        let known = dims.iter().all(|d| d.as_int().is_some());
        return Ok(known.then(|| (0..dims.len()).filter(|i| dims::is(&dims[*i], 1)).collect()));
    }
    let axes = cx.axes("axis", dims.len())?;
    Ok(Some(axes.into_iter().filter(|a| dims[*a].as_int().is_none_or(|n| n == 1)).collect()))
}

fn broadcast_to() -> Op {
    Op::new("broadcast_to")
        .doc("Broadcasts to a larger shape: repeats elements along axes of size 1 and along new leading axes.")
        .example("x: float32[3, 1]", "x, R.shape([2, 3, 4])")
        .tensor("x")
        .operand("shape", OperandKind::Shape)
        .precision(Precision::Follow)
        .infer(|cx| {
            let (x, shape) = (cx.tensor("x")?, cx.shape("shape")?);
            if let (Some(from), ShapeType::Known(to)) = (x.dims(), &shape) {
                check_broadcast(cx, ("x", from), ("shape", to))?;
            }
            Ok(TensorType { shape: reshape::target(cx, shape)?, ..x }.into())
        })
        .legalize(|cx| {
            let mut b = Builder::new(cx, "broadcast_to")?;
            let x = b.input("x")?;
            let out = b.output("T_broadcast_to")?;
            b.require_broadcast(x.shape(), &out.shape, "`x` does not broadcast to `shape`");
            b.compute(&out, |i| x.broadcast_to(i, &out.shape));
            Ok(b.finish())
        })
}

/// Checks that one shape broadcasts to exactly another.
fn check_broadcast(
    cx: &CallContext,
    (small_name, small): (&str, &[PrimExpr]),
    (large_name, large): (&str, &[PrimExpr]),
) -> Result<(), InferError> {
    let fits = match broadcast_dims(large, small) {
        Broadcast::To(result) => small.len() <= large.len() && !differ(&result, large),
        Broadcast::Undecided => small.len() <= large.len(),
        Broadcast::Mismatch(..) => false,
    };
    if fits {
        return Ok(());
    }
    let (small, large) = (dims_text(small), dims_text(large));
    Err(cx.error_at(
        small_name,
        format_args!("`{small_name}` of shape {small} does not broadcast to {large} (`{large_name}`)"),
    ))
}

/// Returns true if some pair of dimensions is certainly different.
fn differ(a: &[PrimExpr], b: &[PrimExpr]) -> bool {
    a.len() != b.len() || a.iter().zip(b).any(|(a, b)| dims::equal(a, b) == Some(false))
}

fn collapse_sum_like() -> Op {
    Op::new("collapse_sum_like")
        .doc("Sums `data` down to the shape of another tensor, the reverse of broadcasting.")
        .example("x: float32[2, 3, 4]; y: float32[3, 1]", "x, y")
        .tensor("data")
        .tensor("collapse_target")
        .infer(|cx| {
            let (data, target) = (cx.tensor("data")?, cx.tensor("collapse_target")?);
            if let (Some(from), Some(to)) = (data.dims(), target.dims()) {
                check_broadcast(cx, ("collapse_target", to), ("data", from))?;
            }
            let vdevice = common_vdevice(cx, [&data, &target])?;
            Ok(TensorType { shape: target.shape, dtype: data.dtype, vdevice }.into())
        })
        .legalize(collapse_sum)
}

fn collapse_sum_to() -> Op {
    Op::new("collapse_sum_to")
        .doc("Sums `data` down to a shape, the reverse of broadcasting.")
        .example("x: float32[2, 3, 4]", "x, R.shape([3, 1])")
        .tensor("data")
        .operand("shape", OperandKind::Shape)
        .infer(|cx| {
            let (data, shape) = (cx.tensor("data")?, cx.shape("shape")?);
            if let (Some(from), ShapeType::Known(to)) = (data.dims(), &shape) {
                check_broadcast(cx, ("shape", to), ("data", from))?;
            }
            Ok(TensorType { shape: reshape::target(cx, shape)?, ..data }.into())
        })
        .legalize(collapse_sum)
}

/// Sums over leading axes, and over axes of size 1 in the result. If that depends on symbolic sizes, the axis is summed
/// over its whole length or over one element.
fn collapse_sum(cx: &CallContext) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, "collapse_sum")?;
    let x = b.input("data")?;
    let out = b.output("T_collapse_sum")?;
    b.require_broadcast(&out.shape, x.shape(), "`data` does not collapse to that shape");
    let lead = x.ndim() - out.ndim();
    let (mut over, mut sources) = (Vec::new(), Vec::new());
    for (axis, size) in x.shape().iter().enumerate() {
        let kept = axis.checked_sub(lead).map(|i| out.shape[i].clone());
        let source = match kept {
            Some(to) if dims::equal(&to, size) == Some(true) => Source::Kept,
            Some(to) if to.as_int().is_none() => Source::Either(to.eq(1i64)),
            Some(to) if !dims::is(&to, 1) => Source::Kept,
            _ => Source::Summed,
        };
        match &source {
            Source::Kept => {}
            Source::Summed => over.push((format!("k{axis}"), size.clone())),
            Source::Either(summed) => {
                over.push((format!("k{axis}"), summed.clone().select(size.clone(), 1i64.into())));
            }
        }
        sources.push(source);
    }
    let index = |i: &[PrimExpr], k: &[PrimExpr]| {
        let mut k = k.iter().cloned();
        let mut summed = || k.next().unwrap_or(0i64.into());
        let at = |(axis, source): (usize, &Source)| match source {
            Source::Kept => i[axis - lead].clone(),
            Source::Summed => summed(),
            Source::Either(condition) => condition.clone().select(summed(), i[axis - lead].clone()),
        };
        x.at(&sources.iter().enumerate().map(at).collect::<Vec<_>>())
    };
    match over.is_empty() {
        true => b.compute(&out, |i| index(i, &[])),
        false => b.reduce(&out, &over, Combine::Sum, index),
    }
    Ok(b.finish())
}

/// Source of the index of a collapsed axis.
enum Source {
    /// The result's index.
    Kept,
    /// The reduction's index.
    Summed,
    /// The reduction's index if this condition holds.
    Either(PrimExpr),
}
