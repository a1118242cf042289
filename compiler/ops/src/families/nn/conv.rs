//! Convolutions.
//!
//! Over primal axes `N`, `C` and the spatial ones, with the window's strides `s`, dilation `d` and padding `p`:
//!
//! ```text
//! out[n, o, y…] = Σ data[n, g(o)·I + i, y·s + k·d - p…] · weight[o, i, k…]      over i < I, k… < kernel
//! ```
//!
//! where `g(o)` is the group of `o`. Layouts of data, weight and result are independent of each other.

use super::window::{Window, complete, default_to, example_convolution};
use crate::{
    CallContext, dims,
    layout::Layout,
    legalize::{Builder, Combine, Input, Legalized, accumulator},
    op::{AttrKind, NONE, Op},
    precision::Precision,
    relayout,
    rules::{Inferred, common_dtype, common_vdevice},
    text::{dim_text, shape_text},
};
use hammock_ir::{DType, PrimExpr, TensorShape, TensorType, relax::InferError};

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    vec![
        conv("nn.conv1d", "W", "Convolves a sequence of `NCW` with a kernel of `OIW`."),
        conv("nn.conv2d", "HW", "Convolves images of `NCHW` with a kernel of `OIHW`."),
        conv("nn.conv3d", "DHW", "Convolves volumes of `NCDHW` with a kernel of `OIDHW`."),
    ]
}

fn conv(name: &'static str, spatial: &'static str, doc: &'static str) -> Op {
    signature(name, doc, spatial, "OI", false)
        .layouts(relayout::convolution(spatial, "OI"))
        .infer(move |cx| infer(cx, spatial))
        .legalize(move |cx| legalize(cx, spatial))
}

/// Operands and attributes of a convolution, plain or transposed; `channels` are the kernel's primal axes.
pub fn signature(name: &'static str, doc: &'static str, spatial: &'static str, channels: &str, transposed: bool) -> Op {
    let rank = spatial.len();
    let op = Op::new(name).doc(doc).example(example_convolution(rank), "x, w, padding=1");
    let mut op = op.tensor("data").tensor("weight");
    op = op.attr("strides", AttrKind::Ints, vec![1i64; rank]).attr("padding", AttrKind::Ints, vec![0i64; rank]);
    if transposed {
        op = op.attr("output_padding", AttrKind::Ints, vec![0i64; rank]);
    }
    op.attr("dilation", AttrKind::Ints, vec![1i64; rank])
        .attr("groups", AttrKind::Int, 1i64)
        .attr("data_layout", AttrKind::Str, format!("NC{spatial}").as_str())
        .attr("kernel_layout", AttrKind::Str, format!("{channels}{spatial}").as_str())
        .attr("out_layout", AttrKind::OptionalStr, NONE)
        .attr("out_dtype", AttrKind::DType, NONE)
        .layout_axes([format!("NC{spatial}"), format!("{channels}{spatial}"), format!("NC{spatial}")])
        .precision(Precision::Always)
        .complete(move |call| {
            complete(&mut call.attrs, rank);
            default_to(&mut call.attrs, "out_layout", "data_layout");
        })
}

/// The layouts of a convolution's operands and result, with their primal axes.
pub struct Layouts {
    /// `NC` and the spatial axes.
    pub primal: String,
    /// The kernel's primal axes.
    pub kernel_primal: String,
    /// The data's layout.
    pub data: Layout,
    /// The kernel's layout.
    pub kernel: Layout,
    /// The result's layout.
    pub out: Layout,
}

/// Sizes of the data and of the kernel over their primal axes.
pub type PrimalShapes = (Vec<PrimExpr>, Vec<PrimExpr>);

impl Layouts {
    /// Reads the layouts of a call.
    ///
    /// # Errors
    /// When one is malformed, has other axes, or has blocks of a spatial axis.
    pub fn of(cx: &CallContext, spatial: &str, channels: &str) -> Result<Self, InferError> {
        let (primal, kernel_primal) = (format!("NC{spatial}"), format!("{channels}{spatial}"));
        let data = layout(cx, "data_layout", &primal)?;
        let out =
            if cx.optional_str("out_layout")?.is_some() { layout(cx, "out_layout", &primal)? } else { data.clone() };
        let kernel = layout(cx, "kernel_layout", &kernel_primal)?;
        Ok(Layouts { primal, kernel_primal, data, kernel, out })
    }

    /// Sizes of data and kernel over their primal axes; `None` if one is unknown.
    ///
    /// # Errors
    /// When an operand has another number of dimensions than its layout.
    pub fn primal_shapes(&self, cx: &CallContext) -> Result<Option<PrimalShapes>, InferError> {
        let (data, weight) = (cx.tensor("data")?, cx.tensor("weight")?);
        expect_layout(cx, "data", &data, "data_layout", &self.data)?;
        expect_layout(cx, "weight", &weight, "kernel_layout", &self.kernel)?;
        let (Some(d), Some(w)) = (data.dims(), weight.dims()) else { return Ok(None) };
        Ok(Some((self.data.to_primal(&self.primal, d), self.kernel.to_primal(&self.kernel_primal, w))))
    }
}

/// A layout attribute with these primal axes and blocks only of the first two.
///
/// # Errors
/// When it is anything else.
pub fn layout(cx: &CallContext, name: &str, primal: &str) -> Result<Layout, InferError> {
    let text = cx.str(name)?;
    Layout::parse(text).filter(|layout| layout.is_layout_of(primal)).ok_or_else(|| {
        cx.error_at(name, format_args!("`{name}` must be {primal} in some order, not \"{text}\""))
            .help("blocks of channels are written after their axis, as in \"NCHW16c\"")
    })
}

/// Checks an operand's number of dimensions against its layout.
///
/// # Errors
/// When it is known and another.
pub fn expect_layout(
    cx: &CallContext,
    param: &str,
    ty: &TensorType,
    attr: &str,
    layout: &Layout,
) -> Result<(), InferError> {
    match ty.ndim() {
        Some(n) if n != layout.ndim() => {
            let text = cx.str(attr)?;
            let shape = shape_text(ty);
            Err(cx.error_at(
                param,
                format_args!("`{param}` must have the {} axes of \"{text}\", but its shape is {shape}", layout.ndim()),
            ))
        }
        _ => Ok(()),
    }
}

/// The result's dtype: `out_dtype`, or that of the operands.
///
/// # Errors
/// When no `out_dtype` is given and the operands' dtypes differ.
pub fn out_dtype(cx: &CallContext) -> Result<Option<DType>, InferError> {
    match cx.dtype("out_dtype")? {
        Some(dtype) => Ok(Some(dtype)),
        None => common_dtype(cx, ("data", &cx.tensor("data")?), ("weight", &cx.tensor("weight")?)),
    }
}

/// A positive number of groups.
///
/// # Errors
/// When it is not positive.
pub fn groups(cx: &CallContext) -> Result<i64, InferError> {
    match cx.int("groups")? {
        groups if groups > 0 => Ok(groups),
        other => Err(cx.error_at("groups", format_args!("`groups` must be greater than 0, not {other}"))),
    }
}

/// Checks that a number of channels is divisible into groups.
///
/// # Errors
/// When it is known and not divisible.
pub fn expect_divisible(
    cx: &CallContext,
    param: &str,
    what: &str,
    channels: &PrimExpr,
    groups: i64,
) -> Result<(), InferError> {
    match channels.as_int() {
        Some(c) if c % groups != 0 => {
            Err(cx.error_at(param, format_args!("the {c} {what} channels cannot be split into {groups} groups")))
        }
        _ => Ok(()),
    }
}

/// The result's type, of these sizes over primal axes.
///
/// # Errors
/// When dtypes or devices of the operands differ.
pub fn result(cx: &CallContext, layouts: &Layouts, primal: Option<Vec<PrimExpr>>) -> Inferred {
    let dtype = out_dtype(cx)?;
    let vdevice = common_vdevice(cx, [&cx.tensor("data")?, &cx.tensor("weight")?])?;
    let shape = match primal {
        Some(sizes) => TensorShape::Known(layouts.out.from_primal(&layouts.primal, &sizes).into()),
        None => TensorShape::Rank(layouts.out.ndim()),
    };
    Ok(TensorType { shape, dtype, vdevice }.into())
}

fn infer(cx: &CallContext, spatial: &str) -> Inferred {
    let layouts = Layouts::of(cx, spatial, "OI")?;
    let window = Window::of(cx, spatial.len())?;
    let groups = groups(cx)?;
    let Some((data, weight)) = layouts.primal_shapes(cx)? else { return result(cx, &layouts, None) };
    let expected = dims::mul(&weight[1], &groups.into());
    if dims::equal(&data[1], &expected) == Some(false) {
        let (has, takes) = (dim_text(&data[1]), dim_text(&weight[1]));
        return Err(cx.error_at(
            "weight",
            format_args!("`data` has {has} channels, but `weight` takes {takes} in each of {groups} groups"),
        ));
    }
    expect_divisible(cx, "weight", "output", &weight[0], groups)?;
    let mut out = vec![data[0].clone(), weight[0].clone()];
    out.extend((0..spatial.len()).map(|i| window.positions(i, &data[i + 2], &weight[i + 2], false)));
    result(cx, &layouts, Some(out))
}

fn legalize(cx: &CallContext, spatial: &str) -> Result<Legalized, InferError> {
    let rank = spatial.len();
    let layouts = Layouts::of(cx, spatial, "OI")?;
    let (window, groups) = (Window::of(cx, rank)?, groups(cx)?);
    let mut b = Builder::new(cx, cx.op.name.trim_start_matches("nn."))?;
    let (data, weight) = (b.input("data")?, b.input("weight")?);
    let out = b.output("conv")?;
    let kernel = layouts.kernel.to_primal(&layouts.kernel_primal, weight.shape());
    let sizes = layouts.data.to_primal(&layouts.primal, data.shape());
    let channels = sizes[1].clone();
    window.require_fit(&mut b, &sizes[2..], &kernel[2..]);
    b.require_equal(
        &channels,
        &dims::mul(&kernel[1], &groups.into()),
        "`data` does not have the channels that `weight` expects",
    );
    let padded = pad_spatial(&mut b, &data, &layouts, &window);
    let wide = accumulator(out.dtype);
    let axes = reduce_axes(&kernel[1], &kernel[2..], spatial);
    let per_group = dims::floordiv(&kernel[0], &groups.into());
    b.reduce(&out, &axes, Combine::Sum, |at, k| {
        let place = layouts.out.primal_index(&layouts.primal, at);
        let channel = group_channel(&place[1], &per_group, &kernel[1], &k[0], groups);
        let mut from = vec![place[0].clone(), channel];
        from.extend((0..rank).map(|i| window.source(i, &place[i + 2], &k[i + 1])));
        let x = padded.at(&layouts.data.index(&layouts.primal, &from)).cast(wide);
        let mut tap = vec![place[1].clone()];
        tap.extend_from_slice(k);
        x * weight.at(&layouts.kernel.index(&layouts.kernel_primal, &tap)).cast(wide)
    });
    Ok(b.finish())
}

/// The axes to sum over: input channels of a group, then the kernel's extent.
pub fn reduce_axes(channels: &PrimExpr, kernel: &[PrimExpr], spatial: &str) -> Vec<(String, PrimExpr)> {
    let mut axes = vec![("rc".to_owned(), channels.clone())];
    axes.extend(spatial.chars().zip(kernel).map(|(c, k)| (format!("r{}", c.to_ascii_lowercase()), k.clone())));
    axes
}

/// The input channel that output channel `o` reads in step `step` of its group's `size` input channels.
pub fn group_channel(o: &PrimExpr, per_group: &PrimExpr, size: &PrimExpr, step: &PrimExpr, groups: i64) -> PrimExpr {
    if groups == 1 {
        return step.clone();
    }
    let first = dims::mul(&dims::floordiv(o, per_group), size);
    if dims::is(size, 1) { first } else { dims::add(&first, step) }
}

/// Zero-pads the spatial axes of the data, if there is padding.
fn pad_spatial(b: &mut Builder, data: &Input, layouts: &Layouts, window: &Window) -> Input {
    if !window.pads() {
        return data.clone();
    }
    let sizes = layouts.data.to_primal(&layouts.primal, data.shape());
    let mut padded = sizes.clone();
    for (i, size) in padded.iter_mut().skip(2).enumerate() {
        *size = dims::offset(size, window.before[i] + window.after[i]);
    }
    let shape = layouts.data.from_primal(&layouts.primal, &padded);
    b.stage("pad_temp", shape, data.dtype(), |at| {
        let mut place = layouts.data.primal_index(&layouts.primal, at);
        let inside = window.inside(&place[2..], &sizes[2..]);
        for (i, p) in place.iter_mut().skip(2).enumerate() {
            *p = dims::offset(p, -window.before[i]);
        }
        let value = data.at(&layouts.data.index(&layouts.primal, &place));
        inside.map_or(value.clone(), |inside| inside.if_then_else(value, PrimExpr::constant(0.0, data.dtype())))
    })
}
