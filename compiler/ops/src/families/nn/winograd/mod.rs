//! Winograd convolution: a kernel that a pass substitutes for a convolution.
//!
//! A tile of 4x4 results of a 3x3 convolution is `Aᵀ (U ⊙ BᵀdB) A`, where `d` is the 6x6 input tile and `U` the
//! transformed weights: 36 multiplications instead of 144 (A. Lavin, S. Gray: "Fast Algorithms for Convolutional Neural
//! Networks", 2015). Summed over channels, each of the 36 elements is a matmul over all tiles. The same 36 give tiles
//! of 2x2 results of a 5x5 convolution. Along an axis with a window of one element, nothing is transformed. The border
//! is zero-padded, and tiles may extend beyond the result.

mod tiles;
mod transforms;

pub use tiles::Tiles;
pub use transforms::of_weights;

use super::{
    conv::{group_channel, groups, layout},
    window::Window,
};
use crate::{
    CallContext, dims,
    legalize::{Builder, Input, Legalized},
    op::{AttrKind, Op},
};
use hammock_ir::{PrimExpr, relax::InferError};
use std::sync::LazyLock;
use transforms::{of_data, of_products};

/// Number of partial accumulators of the sums over channels, and the minimum number of channels of each. The output
/// transform amplifies the rounding error of these sums, which is two thirds of the total for 64 channels in one
/// accumulator.
const ACCUMULATORS: i64 = 4;
const MIN_CHANNELS: i64 = 16;

/// A convolution with an `NHWC` result, from its data and its transformed weights, `[input tile height, input tile
/// width, input channels of a group, output channels]`. Strides are 1. The call declares the result's type, whose
/// height and width are known.
pub fn winograd() -> &'static Op {
    static OP: LazyLock<Op> = LazyLock::new(|| {
        Op::new("winograd")
            .tensor("data")
            .tensor("weights")
            .attr("strides", AttrKind::Ints, vec![1i64; 2])
            .attr("padding", AttrKind::Ints, vec![0i64; 2])
            .attr("dilation", AttrKind::Ints, vec![1i64; 2])
            .attr("window", AttrKind::Ints, vec![3i64; 2])
            .attr("groups", AttrKind::Int, 1i64)
            .attr("data_layout", AttrKind::Str, "NCHW")
            .infer(|cx| cx.call.ty_args.first().cloned().ok_or_else(|| cx.error("needs the type of its result")))
            .legalize(convolution)
    });
    &OP
}

/// A convolution's tiles along height and width.
struct Tiling {
    rows: Tiles,
    columns: Tiles,
    window: Window,
}

impl Tiling {
    fn of(cx: &CallContext) -> Result<Tiling, InferError> {
        let (window, sizes) = (Window::of(cx, 2)?, cx.ints("window")?);
        let axis = |axis: usize| Tiles::of(*sizes.get(axis)?, window.dilation[axis]);
        let unsupported = || cx.error("supports windows of 1 to 5 elements along each axis");
        let (rows, columns) = (axis(0).ok_or_else(unsupported)?, axis(1).ok_or_else(unsupported)?);
        Ok(Tiling { rows, columns, window })
    }
}

fn convolution(cx: &CallContext) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, "winograd")?;
    let (data, weights) = (b.input("data")?, b.input("weights")?);
    let out = b.output("convolved")?;
    let [batch, height, width, filters] = &out.shape[..] else { return Err(cx.error("the result must have 4 axes")) };
    let known = |size: &PrimExpr| size.as_int().ok_or_else(|| cx.error("needs the result's height and width"));
    let tiling = Tiling::of(cx)?;
    let Tiling { rows, columns, .. } = tiling;
    let (down_count, across_count) = (rows.count(known(height)?), columns.count(known(width)?));
    let (row_count, column_count): (PrimExpr, PrimExpr) = (down_count.into(), across_count.into());
    let (row_taps, column_taps): (PrimExpr, PrimExpr) = (rows.input().into(), columns.input().into());
    let dtype = data.dtype();
    let channels = layout(cx, "data_layout", "NCHW")?.to_primal("NCHW", data.shape())[1].clone();

    let across = columns.span(across_count).into();
    let shape = vec![batch.clone(), row_count.clone(), row_taps.clone(), across, channels.clone()];
    let strips = strips(cx, &mut b, &data, &shape, &tiling)?;
    let down = b.stage("down", shape, dtype, |at| {
        let tap = |k: i64| strips.at(&[at[0].clone(), at[1].clone(), k.into(), at[3].clone(), at[4].clone()]);
        select_constant(&at[2], of_data((0..rows.input()).map(tap).collect()))
    });
    let tiled = |last: &PrimExpr| {
        [&row_taps, &column_taps, batch, &row_count, &column_count, last].map(PrimExpr::clone).to_vec()
    };
    let transformed = b.stage("transformed", tiled(&channels), dtype, |at| {
        let position = |k: i64| columns.source(&at[4], &k.into());
        let tap = |k: i64| down.at(&[at[2].clone(), at[3].clone(), at[0].clone(), position(k), at[5].clone()]);
        select_constant(&at[1], of_data((0..columns.input()).map(tap).collect()))
    });
    let products = b.temp("products", tiled(filters), dtype);
    let (groups, own) = (groups(cx)?, weights.shape()[2].clone());
    let per_group = dims::floordiv(filters, &groups.into());
    let part = own.as_int().map_or(MIN_CHANNELS, |channels| MIN_CHANNELS.max(channels / ACCUMULATORS));
    b.sum_with_accumulators(&products, &[("k".to_owned(), own.clone())], part, |at, k| {
        let [u, v, image, row, column, filter] = at else { unreachable!("products have 6 axes") };
        let weight = weights.at(&[u.clone(), v.clone(), k[0].clone(), filter.clone()]);
        let channel = group_channel(filter, &per_group, &own, &k[0], groups);
        transformed.at(&[u, v, image, row, column, &channel].map(PrimExpr::clone)) * weight
    });
    let products = Input::Buffer(products);
    let joined = vec![batch.clone(), row_count, rows.output().into(), column_count, column_taps, filters.clone()];
    let joined = b.stage("joined", joined, dtype, |at| {
        let [image, row, _, column, v, filter] = at else { unreachable!("six axes") };
        let product = |u: i64| products.at(&[&u.into(), v, image, row, column, filter].map(PrimExpr::clone));
        select_constant(&at[2], of_products((0..rows.input()).map(product).collect(), rows))
    });
    b.compute(&out, |at| {
        let (row, within, column) = (rows.tile(&at[1]), rows.within(&at[1]), columns.tile(&at[2]));
        let product =
            |v: i64| joined.at(&[at[0].clone(), row.clone(), within.clone(), column.clone(), v.into(), at[3].clone()]);
        select_constant(&columns.within(&at[2]), of_products((0..columns.input()).map(product).collect(), columns))
    });
    Ok(b.finish())
}

/// The zero-padded input rows of each row of tiles: `[batch, rows of tiles, tile height, width, channels]`.
fn strips(
    cx: &CallContext,
    b: &mut Builder,
    data: &Input,
    shape: &[PrimExpr],
    tiling: &Tiling,
) -> Result<Input, InferError> {
    let layout = layout(cx, "data_layout", "NCHW")?;
    let sizes = layout.to_primal("NCHW", data.shape());
    let before = &tiling.window.before;
    Ok(b.stage("strips", shape.to_vec(), data.dtype(), |at| {
        let row = dims::offset(&tiling.rows.source(&at[1], &at[2]), -before[0]);
        let column = dims::offset(&at[3], -before[1]);
        let inside =
            |position: &PrimExpr, size: &PrimExpr| position.clone().ge(0i64).and(position.clone().lt(size.clone()));
        let inside = inside(&row, &sizes[2]).and(inside(&column, &sizes[3]));
        let value = data.at(&layout.index("NCHW", &[at[0].clone(), at[4].clone(), row, column]));
        inside.if_then_else(value, PrimExpr::constant(0.0, data.dtype()))
    }))
}

/// Selects an element of a list by index.
fn select_constant(index: &PrimExpr, values: Vec<PrimExpr>) -> PrimExpr {
    let mut last_first = values.into_iter().enumerate().rev();
    let (_, last) = last_first.next().unwrap_or_else(|| unreachable!("lists are not empty"));
    last_first.fold(last, |rest, (at, value)| index.clone().eq(at as i64).if_then_else(value, rest))
}
