//! Transposed convolutions: the gradients of convolutions with respect to their data.
//!
//! Each element of the data scatters its multiple of the kernel to the result, with stride `s`. As a gather, this is a
//! plain convolution with the reversed kernel over the data with zero insertion (input dilation):
//!
//! ```text
//! spread[n, c, j…] = data[n, c, (j - b…) / s]     if that is an integer index of the data, otherwise 0
//! out[n, o, y…]    = Σ spread[n, c, y + k·d…] · weight[c, o mod O, K - 1 - k…]      over c of o's group, k… < K
//! ```
//!
//! with `b = (K - 1)·d - p` for padding `p` at the begin. Kernels skip the multiplications by inserted zeros.

use super::{
    conv::{Layouts, expect_divisible, groups, reduce_axes, result, signature},
    window::Window,
};
use crate::{
    CallContext, dims,
    legalize::{Builder, Combine, Input, Legalized, accumulator},
    op::Op,
    relayout,
    rules::Inferred,
    text::dim_text,
};
use hammock_ir::{PrimExpr, relax::InferError};

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    vec![
        conv_transpose("nn.conv1d_transpose", "W", "Transposed 1-D convolution."),
        conv_transpose("nn.conv2d_transpose", "HW", "Transposed 2-D convolution."),
        conv_transpose("nn.conv3d_transpose", "DHW", "Transposed 3-D convolution."),
    ]
}

fn conv_transpose(name: &'static str, spatial: &'static str, doc: &'static str) -> Op {
    signature(name, doc, spatial, "IO", true)
        .layouts(relayout::convolution(spatial, "IO"))
        .infer(move |cx| infer(cx, spatial))
        .legalize(move |cx| legalize(cx, spatial))
}

/// Elements added at the end of each spatial axis of the result.
fn output_padding(cx: &CallContext, window: &Window) -> Result<Vec<i64>, InferError> {
    let rank = window.strides.len();
    let given = match cx.ints("output_padding")?.as_slice() {
        [0] => vec![0; rank],
        [one] => vec![*one; rank],
        all => all.to_vec(),
    };
    let fits = given.len() == rank && given.iter().zip(&window.strides).all(|(p, s)| (0..*s).contains(p));
    let strides = &window.strides;
    fits.then_some(given.clone()).ok_or_else(|| {
        cx.error_at(
            "output_padding",
            format_args!("`output_padding` must be less than the strides {strides:?} on each axis, not {given:?}"),
        )
    })
}

fn infer(cx: &CallContext, spatial: &str) -> Inferred {
    let layouts = Layouts::of(cx, spatial, "IO")?;
    let window = Window::of(cx, spatial.len())?;
    let extra = output_padding(cx, &window)?;
    let groups = groups(cx)?;
    let Some((data, weight)) = layouts.primal_shapes(cx)? else { return result(cx, &layouts, None) };
    if dims::equal(&data[1], &weight[0]) == Some(false) {
        let (has, takes) = (dim_text(&data[1]), dim_text(&weight[0]));
        return Err(cx.error_at("weight", format_args!("`data` has {has} channels, but `weight` takes {takes}")));
    }
    expect_divisible(cx, "data", "input", &data[1], groups)?;
    let mut out = vec![data[0].clone(), dims::mul(&weight[1], &groups.into())];
    out.extend((0..spatial.len()).map(|i| extent(&window, extra[i], i, &data[i + 2], &weight[i + 2])));
    result(cx, &layouts, Some(out))
}

/// The size of a spatial axis of the result: `(size - 1)·s + (K - 1)·d + 1 - padding + extra`.
fn extent(window: &Window, extra: i64, axis: usize, size: &PrimExpr, kernel: &PrimExpr) -> PrimExpr {
    let stride = window.strides[axis];
    let insert_zeros = dims::offset(&dims::mul(size, &stride.into()), 1 - stride);
    let reach = dims::mul(&dims::offset(kernel, -1), &window.dilation[axis].into());
    dims::simplify(&dims::offset(&dims::add(&insert_zeros, &reach), extra - window.before[axis] - window.after[axis]))
}

fn legalize(cx: &CallContext, spatial: &str) -> Result<Legalized, InferError> {
    let rank = spatial.len();
    let layouts = Layouts::of(cx, spatial, "IO")?;
    let (mut window, groups) = (Window::of(cx, rank)?, groups(cx)?);
    let mut b = Builder::new(cx, cx.op.name.trim_start_matches("nn."))?;
    let (data, weight) = (b.input("data")?, b.input("weight")?);
    let out = b.output("conv_transpose")?;
    let kernel = layouts.kernel.to_primal(&layouts.kernel_primal, weight.shape());
    let channels = layouts.data.to_primal(&layouts.primal, data.shape())[1].clone();
    b.require_equal(&channels, &kernel[0], "`data` does not have the channels that `weight` expects");
    let sizes = layouts.out.to_primal(&layouts.primal, &out.shape);
    let insert_zeros = insert_zeros(&mut b, &data, &layouts, &window, &kernel, &sizes);
    window.strides = vec![1; rank];
    let channels = dims::floordiv(&kernel[0], &groups.into());
    let wide = accumulator(out.dtype);
    b.reduce(&out, &reduce_axes(&channels, &kernel[2..], spatial), Combine::Sum, |at, k| {
        let place = layouts.out.primal_index(&layouts.primal, at);
        let (channel, o) = channels_of(&place[1], &kernel[1], &channels, &k[0], groups);
        let mut from = vec![place[0].clone(), channel.clone()];
        from.extend((0..rank).map(|i| window.source(i, &place[i + 2], &k[i + 1])));
        let x = insert_zeros.at(&layouts.data.index(&layouts.primal, &from)).cast(wide);
        let mut tap = vec![channel, o];
        tap.extend((0..rank).map(|i| dims::sub(&dims::offset(&kernel[i + 2], -1), &k[i + 1])));
        x * weight.at(&layouts.kernel.index(&layouts.kernel_primal, &tap)).cast(wide)
    });
    Ok(b.finish())
}

/// The input channel read in step `step`, and the kernel's output channel, for output channel `o` of the result.
fn channels_of(
    o: &PrimExpr,
    outputs: &PrimExpr,
    inputs: &PrimExpr,
    step: &PrimExpr,
    groups: i64,
) -> (PrimExpr, PrimExpr) {
    if groups == 1 {
        return (step.clone(), o.clone());
    }
    let group = dims::floordiv(o, outputs);
    (dims::add(&dims::mul(&group, inputs), step), dims::floormod(o, outputs))
}

/// The zero-inserted data, with the extent that the reversed kernel needs for a result of these sizes.
fn insert_zeros(
    b: &mut Builder,
    data: &Input,
    layouts: &Layouts,
    window: &Window,
    kernel: &[PrimExpr],
    out: &[PrimExpr],
) -> Input {
    let sizes = layouts.data.to_primal(&layouts.primal, data.shape());
    let reach: Vec<PrimExpr> = (0..window.strides.len())
        .map(|i| dims::mul(&dims::offset(&kernel[i + 2], -1), &window.dilation[i].into()))
        .collect();
    let mut shape = sizes.clone();
    for (i, size) in shape.iter_mut().skip(2).enumerate() {
        *size = dims::add(&out[i + 2], &reach[i]);
    }
    let shape = layouts.data.from_primal(&layouts.primal, &shape);
    b.stage("data_spread", shape, data.dtype(), |at| {
        let mut place = layouts.data.primal_index(&layouts.primal, at);
        let mut condition: Option<PrimExpr> = None;
        for (i, p) in place.iter_mut().skip(2).enumerate() {
            let begin = dims::offset(&reach[i], -window.before[i]);
            let (here, source) = source(&dims::sub(p, &begin), window.strides[i], &sizes[i + 2]);
            condition = Some(condition.map_or(here.clone(), |c| c.and(here)));
            *p = source;
        }
        let value = data.at(&layouts.data.index(&layouts.primal, &place));
        let zero = PrimExpr::constant(0.0, data.dtype());
        condition.map_or(value.clone(), |c| c.if_then_else(value, zero))
    })
}

/// The index of the element at `distance` from the first one, and the condition that there is one.
fn source(distance: &PrimExpr, stride: i64, size: &PrimExpr) -> (PrimExpr, PrimExpr) {
    let source = dims::floordiv(distance, &stride.into());
    let inside = distance.clone().ge(0i64).and(source.clone().lt(size));
    let whole = (stride > 1).then(|| dims::floormod(distance, &stride.into()).eq(0i64));
    (whole.map_or(inside.clone(), |w| inside.and(w)), source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_undo_those_of_convolutions() {
        let window = Window { strides: vec![2], dilation: vec![1], before: vec![1], after: vec![1] };
        for size in [4i64, 7, 8, 15] {
            let small = window.positions(0, &size.into(), &3.into(), false);
            let extra = (size - 1) % 2;
            assert_eq!(extent(&window, extra, 0, &small, &3.into()).as_int(), Some(size));
        }
    }
}
