//! Layer, root-mean-square, group and instance normalization.
//!
//! Each subtracts a mean and divides by a deviation, both over some axes, then scales by `gamma` and adds `beta`. The
//! variance is computed after subtracting the mean (two passes), so that a large mean loses no precision.

use super::{activation::float_tensor, rows::Rows};
use crate::{
    CallContext, dims,
    legalize::{Builder, Combine, Input, Legalized, accumulator},
    op::{AttrKind, Op},
    precision::Precision,
    relayout,
    rules::Inferred,
    text::{dim_text, dims_text},
};
use hammock_ir::{DType, PrimExpr, TensorType, count, relax::InferError};

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    vec![layer_norm(), rms_norm(), group_norm(), instance_norm()]
}

fn scaled(op: Op) -> Op {
    op.attr("epsilon", AttrKind::Float, 1e-5).attr("center", AttrKind::Bool, true).attr("scale", AttrKind::Bool, true)
}

fn layer_norm() -> Op {
    let op = Op::new("nn.layer_norm")
        .doc("Normalizes over `axes`; `gamma` and `beta` have the sizes of those axes.")
        .example("x: float32[2, 3]; g: float32[3]; b: float32[3]", "x, g, b, axes=[-1]")
        .tensor("data")
        .tensor("gamma")
        .tensor("beta")
        .required("axes", AttrKind::Ints);
    let op = op.layouts(relayout::normalized).precision(Precision::Follow);
    scaled(op).infer(|cx| infer_over_axes(cx, &["gamma", "beta"])).legalize(|cx| {
        let mut b = Builder::new(cx, "layer_norm")?;
        let x = b.input("data")?;
        let axes = cx.axes("axes", x.ndim())?;
        let normal = Statistics::of(&mut b, &x, x.shape(), &axes, cx.float("epsilon")?, |i| x.at(i));
        finish(cx, b, normal, &x, |i| axes.iter().map(|a| i[*a].clone()).collect())
    })
}

fn rms_norm() -> Op {
    Op::new("nn.rms_norm")
        .doc("Divides by the root mean square over `axes`, then scales by `weight`.")
        .example("x: float32[2, 3]; w: float32[3]", "x, w, axes=[-1]")
        .tensor("data")
        .tensor("weight")
        .attr("axes", AttrKind::Ints, vec![-1i64])
        .attr("epsilon", AttrKind::Float, 1e-5)
        .layouts(relayout::normalized)
        .precision(Precision::Follow)
        .infer(|cx| infer_over_axes(cx, &["weight"]))
        .legalize(legalize_rms_norm)
}

fn legalize_rms_norm(cx: &CallContext) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, "rms_norm")?;
    let (x, weight) = (b.input("data")?, b.input("weight")?);
    let axes = cx.axes("axes", x.ndim())?;
    let epsilon = cx.float("epsilon")?;
    let sizes: Vec<_> = axes.iter().map(|a| x.shape()[*a].clone()).collect();
    b.require_shape("weight", &weight, &sizes);
    let out = b.output("rms_norm")?;
    let wide = accumulator(x.dtype());
    let rows = Rows::new(x.ndim(), axes.clone());
    let square = |i: &[PrimExpr]| {
        let x = x.at(i).cast(wide);
        &x * &x
    };
    let sum = rows.fold(&mut b, "square_sum", x.shape(), wide, Combine::Sum, square);
    let inverse = b.stage("rsqrt", rows.retained(x.shape()), wide, |i| {
        inverse_root(sum.at(i) / rows.count(x.shape(), wide), epsilon)
    });
    b.compute(&out, |i| {
        let own: Vec<_> = axes.iter().map(|a| i[*a].clone()).collect();
        (x.at(i).cast(wide) * inverse.at(&rows.retained(i)) * weight.at(&own).cast(wide)).cast(out.dtype)
    });
    Ok(b.finish())
}

fn inverse_root(mean_square: PrimExpr, epsilon: f64) -> PrimExpr {
    let dtype = mean_square.dtype();
    PrimExpr::float(1.0, dtype) / (mean_square + PrimExpr::float(epsilon, dtype)).unary("sqrt")
}

/// The rule of normalizations whose parameters have the sizes of `axes`.
fn infer_over_axes(cx: &CallContext, params: &[&'static str]) -> Inferred {
    let data = float_tensor(cx, "data")?;
    let axes = data.ndim().map(|ndim| cx.axes("axes", ndim)).transpose()?;
    let sizes = data.dims().zip(axes.as_ref()).map(|(d, axes)| axes.iter().map(|a| d[*a].clone()).collect::<Vec<_>>());
    for param in params {
        expect_param(cx, param, &data, axes.as_ref().map(Vec::len), sizes.as_deref())?;
    }
    Ok(data.into())
}

/// Checks a parameter of a normalization: the data's dtype, and these sizes.
///
/// # Errors
/// When it is something else.
pub fn expect_param(
    cx: &CallContext,
    param: &str,
    data: &TensorType,
    ndim: Option<usize>,
    sizes: Option<&[PrimExpr]>,
) -> Result<(), InferError> {
    let ty = cx.tensor(param)?;
    if let (Some(d), Some(p)) = (data.dtype, ty.dtype)
        && d != p
    {
        return Err(cx.error_at(param, format_args!("`data` is {d}, but `{param}` is {p}")));
    }
    if let (Some(want), Some(got)) = (ndim, ty.ndim())
        && want != got
    {
        return Err(
            cx.error_at(param, format_args!("`{param}` must have {}, but it has {got}", count(want, "dimension")))
        );
    }
    if let (Some(want), Some(got)) = (sizes, ty.dims())
        && want.iter().zip(got).any(|(w, g)| dims::equal(w, g) == Some(false))
    {
        let (want, got) = (dims_text(want), dims_text(got));
        return Err(cx.error_at(param, format_args!("`{param}` must have the shape {want}, but it has {got}")));
    }
    Ok(())
}

fn group_norm() -> Op {
    let op = Op::new("nn.group_norm")
        .doc("Normalizes over `axes` and the channels of each group; `gamma` and `beta` have one value per channel.")
        .example("x: float32[2, 4, 3]; g: float32[4]; b: float32[4]", "x, g, b, num_groups=2, channel_axis=1, axes=[2]")
        .tensor("data")
        .tensor("gamma")
        .tensor("beta")
        .required("num_groups", AttrKind::Int)
        .required("channel_axis", AttrKind::Int)
        .required("axes", AttrKind::Ints);
    let op = op.layouts(relayout::channels_and_axes).precision(Precision::Follow);
    scaled(op).infer(infer_group_norm).legalize(legalize_group_norm)
}

fn num_groups(cx: &CallContext) -> Result<i64, InferError> {
    match cx.int("num_groups")? {
        groups if groups > 0 => Ok(groups),
        other => Err(cx.error_at("num_groups", format_args!("`num_groups` must be greater than 0, not {other}"))),
    }
}

fn infer_group_norm(cx: &CallContext) -> Inferred {
    let data = infer_by_channel(cx)?;
    let groups = num_groups(cx)?;
    if let Some(ndim) = data.ndim() {
        let channel = cx.axis("channel_axis", ndim)?;
        if cx.axes("axes", ndim)?.contains(&channel) {
            return Err(cx.error_at("axes", format_args!("`axes` must not hold the channel axis {channel}")));
        }
        if let Some(size) = data.dims().map(|d| &d[channel])
            && size.as_int().is_some_and(|c| c % groups != 0)
        {
            let channels = dim_text(size);
            return Err(
                cx.error_at("data", format_args!("the {channels} channels cannot be split into {groups} groups"))
            );
        }
    }
    Ok(data.into())
}

/// The rule of normalizations whose parameters have one value a channel.
fn infer_by_channel(cx: &CallContext) -> Result<TensorType, InferError> {
    let data = float_tensor(cx, "data")?;
    let channel = data.ndim().map(|ndim| cx.axis("channel_axis", ndim)).transpose()?;
    data.ndim().map(|ndim| cx.axes("axes", ndim)).transpose()?;
    let size = data.dims().zip(channel).map(|(d, c)| vec![d[c].clone()]);
    for param in ["gamma", "beta"] {
        expect_param(cx, param, &data, Some(1), size.as_deref())?;
    }
    Ok(data)
}

/// Normalizes the data with its channel axis split in two: group, and index in the group.
fn legalize_group_norm(cx: &CallContext) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, "group_norm")?;
    let x = b.input("data")?;
    let channel = cx.axis("channel_axis", x.ndim())?;
    let groups: PrimExpr = num_groups(cx)?.into();
    let per_group = dims::floordiv(&x.shape()[channel], &groups);
    b.require_equal(&x.shape()[channel], &dims::mul(&per_group, &groups), "the channels cannot be split into groups");
    let mut shape = x.shape().to_vec();
    shape.splice(channel..=channel, [groups, per_group.clone()]);
    let mut axes = vec![channel + 1];
    axes.extend(cx.axes("axes", x.ndim())?.into_iter().map(|a| if a > channel { a + 1 } else { a }));
    let join = |i: &[PrimExpr]| {
        let mut joined = i.to_vec();
        joined.splice(channel..channel + 2, [dims::add(&dims::mul(&i[channel], &per_group), &i[channel + 1])]);
        joined
    };
    let mut normal = Statistics::of(&mut b, &x, &shape, &axes, cx.float("epsilon")?, |i| x.at(&join(i)));
    normal.split = Some((channel, per_group.clone()));
    finish(cx, b, normal, &x, |i| vec![i[channel].clone()])
}

fn instance_norm() -> Op {
    let op = Op::new("nn.instance_norm")
        .doc("Normalizes over `axes`; `gamma` and `beta` have one value per channel.")
        .example("x: float32[2, 4, 3]; g: float32[4]; b: float32[4]", "x, g, b, channel_axis=1, axes=[2]")
        .tensor("data")
        .tensor("gamma")
        .tensor("beta")
        .required("channel_axis", AttrKind::Int)
        .required("axes", AttrKind::Ints);
    let op = op.layouts(relayout::channels_and_axes).precision(Precision::Follow);
    scaled(op).infer(|cx| Ok(infer_by_channel(cx)?.into())).legalize(|cx| {
        let mut b = Builder::new(cx, "instance_norm")?;
        let x = b.input("data")?;
        let (channel, axes) = (cx.axis("channel_axis", x.ndim())?, cx.axes("axes", x.ndim())?);
        let normal = Statistics::of(&mut b, &x, x.shape(), &axes, cx.float("epsilon")?, |i| x.at(i));
        finish(cx, b, normal, &x, |i| vec![i[channel].clone()])
    })
}

/// Mean and inverse deviation of rows, in float32 for shorter floats.
struct Statistics {
    rows: Rows,
    mean: Input,
    inverse: Input,
    wide: DType,
    /// The axis of the data that is split in two in the rows' shape, and the size of the second part.
    split: Option<(usize, PrimExpr)>,
}

impl Statistics {
    /// Adds the stages that compute them, for elements `at` an index of a tensor of that shape.
    fn of(
        b: &mut Builder,
        x: &Input,
        shape: &[PrimExpr],
        axes: &[usize],
        epsilon: f64,
        at: impl Fn(&[PrimExpr]) -> PrimExpr,
    ) -> Self {
        let wide = accumulator(x.dtype());
        let rows = Rows::new(shape.len(), axes.to_vec());
        let count = rows.count(shape, wide);
        let sum = rows.fold(b, "sum", shape, wide, Combine::Sum, |i| at(i).cast(wide));
        let mean = b.stage("mean", rows.retained(shape), wide, |i| sum.at(i) / count.clone());
        let square = rows.fold(b, "square_sum", shape, wide, Combine::Sum, |i| {
            let rest = at(i).cast(wide) - mean.at(&rows.retained(i));
            &rest * &rest
        });
        let inverse = b.stage("rsqrt", rows.retained(shape), wide, |i| inverse_root(square.at(i) / count, epsilon));
        Statistics { rows, mean, inverse, wide, split: None }
    }

    /// The normalized value of the element `x` at an index of the data.
    fn apply(&self, x: PrimExpr, i: &[PrimExpr]) -> PrimExpr {
        let mut place = i.to_vec();
        if let Some((axis, size)) = &self.split {
            place.splice(axis..=axis, [dims::floordiv(&i[*axis], size), dims::floormod(&i[*axis], size)]);
        }
        let row = self.rows.retained(&place);
        (x.cast(self.wide) - self.mean.at(&row)) * self.inverse.at(&row)
    }
}

/// Writes the result: `normal(x) * gamma + beta`, each only if requested. `param_index` selects the parameters'
/// indices, or sizes, from those of the data.
fn finish(
    cx: &CallContext,
    mut b: Builder,
    normal: Statistics,
    x: &Input,
    param_index: impl Fn(&[PrimExpr]) -> Vec<PrimExpr>,
) -> Result<Legalized, InferError> {
    let sizes = param_index(x.shape());
    let mut param = |asked: &str, name: &str| -> Result<Option<Input>, InferError> {
        if !cx.bool(asked)? {
            return Ok(None);
        }
        let input = b.input(name)?;
        b.require_shape(name, &input, &sizes);
        Ok(Some(input))
    };
    let (gamma, beta) = (param("scale", "gamma")?, param("center", "beta")?);
    let out = b.output("normalized")?;
    b.compute(&out, |i| {
        let mut value = normal.apply(x.at(i), i);
        if let Some(gamma) = gamma {
            value = value * gamma.at(&param_index(i)).cast(normal.wide);
        }
        if let Some(beta) = beta {
            value = value + beta.at(&param_index(i)).cast(normal.wide);
        }
        value.cast(out.dtype)
    });
    Ok(b.finish())
}
