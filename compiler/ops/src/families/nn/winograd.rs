//! Winograd convolution F(4x4, 3x3): a kernel that a pass substitutes for a convolution.
//!
//! A tile of 4x4 results of a 3x3 convolution is `Aᵀ (U ⊙ BᵀdB) A`, where `d` is the 6x6 input tile and `U` the
//! transformed weights: 36 multiplications instead of 144 (A. Lavin, S. Gray: "Fast Algorithms for Convolutional Neural
//! Networks", 2015). Summed over channels, each of the 36 elements is a matmul over all tiles. The border is
//! zero-padded, and tiles may extend beyond the result.

use super::{conv::layout, window::Window};
use crate::{
    CallContext, dims,
    legalize::{Builder, Input, Legalized},
    op::{AttrKind, Op},
};
use hammock_ir::{PrimExpr, relax::InferError};
use std::sync::LazyLock;

/// Output tile size along each axis.
pub const OUTPUT_TILE: i64 = 4;
/// Input tile size along each axis.
pub const INPUT_TILE: i64 = 6;

/// Evaluation points of the algorithm's polynomials, in addition to 0 and ∞: these and their negatives. The constants
/// derived from them by multiplication are exact. The integers 1 and 2 lose 4 times as many bits (B. Barabasz et al.:
/// "Error Analysis and Improving the Accuracy of Winograd Convolution for Deep Neural Networks", 2020).
const POINTS: [f64; 2] = [11. / 16., 3. / 2.];

/// Number of partial accumulators of the sums over channels, and the minimum number of channels of each. The output
/// transform amplifies the rounding error of these sums, which is two thirds of the total for 64 channels in one
/// accumulator.
const ACCUMULATORS: i64 = 4;
const MIN_CHANNELS: i64 = 16;

/// A convolution with an `NHWC` result, from its data and its transformed weights, `[6, 6, input channels, output
/// channels]`. Strides and dilation are 1. The call declares the result's type.
pub fn winograd() -> &'static Op {
    static OP: LazyLock<Op> = LazyLock::new(|| {
        Op::new("winograd")
            .tensor("data")
            .tensor("weights")
            .attr("strides", AttrKind::Ints, vec![1i64; 2])
            .attr("padding", AttrKind::Ints, vec![0i64; 2])
            .attr("dilation", AttrKind::Ints, vec![1i64; 2])
            .attr("data_layout", AttrKind::Str, "NCHW")
            .infer(|cx| cx.call.ty_args.first().cloned().ok_or_else(|| cx.error("needs the type of its result")))
            .legalize(convolution)
    });
    &OP
}

fn convolution(cx: &CallContext) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, "winograd")?;
    let (data, weights) = (b.input("data")?, b.input("weights")?);
    let out = b.output("convolved")?;
    let [batch, height, width, filters] = &out.shape[..] else { return Err(cx.error("the result must have 4 axes")) };
    let (rows, columns) = (tiles(height), tiles(width));
    let (taps, dtype) = (PrimExpr::from(INPUT_TILE), data.dtype());
    let channels = weights.shape()[2].clone();

    let across = dims::offset(&start(&columns), INPUT_TILE - OUTPUT_TILE);
    let shape = vec![batch.clone(), rows.clone(), taps.clone(), across, channels.clone()];
    let strips = strips(cx, &mut b, &data, &shape)?;
    let down = b.stage("down", shape, dtype, |at| {
        let tap = |k: i64| strips.at(&[at[0].clone(), at[1].clone(), k.into(), at[3].clone(), at[4].clone()]);
        select_constant(&at[2], of_data(std::array::from_fn(|k| tap(k as i64))))
    });
    let tiled = |last: &PrimExpr| [&taps, &taps, batch, &rows, &columns, last].map(PrimExpr::clone).to_vec();
    let transformed = b.stage("transformed", tiled(&channels), dtype, |at| {
        let place = |k: i64| dims::offset(&start(&at[4]), k);
        let tap = |k: i64| down.at(&[at[2].clone(), at[3].clone(), at[0].clone(), place(k), at[5].clone()]);
        select_constant(&at[1], of_data(std::array::from_fn(|k| tap(k as i64))))
    });
    let products = b.temp("products", tiled(filters), dtype);
    let part = channels.as_int().map_or(MIN_CHANNELS, |channels| MIN_CHANNELS.max(channels / ACCUMULATORS));
    b.sum_with_accumulators(&products, &[("k".to_owned(), channels)], part, |at, k| {
        let [u, v, image, row, column, filter] = at else { unreachable!("products have 6 axes") };
        let weight = weights.at(&[u.clone(), v.clone(), k[0].clone(), filter.clone()]);
        transformed.at(&[u, v, image, row, column, &k[0]].map(PrimExpr::clone)) * weight
    });
    let products = Input::Buffer(products);
    let joined = vec![batch.clone(), rows, OUTPUT_TILE.into(), columns, taps, filters.clone()];
    let joined = b.stage("joined", joined, dtype, |at| {
        let [image, row, _, column, v, filter] = at else { unreachable!("six axes") };
        let product = |u: i64| products.at(&[&u.into(), v, image, row, column, filter].map(PrimExpr::clone));
        select_constant(&at[2], of_products(std::array::from_fn(|u| product(u as i64))))
    });
    b.compute(&out, |at| {
        let tile = |axis: usize| dims::floordiv(&at[axis], &OUTPUT_TILE.into());
        let within = |axis: usize| dims::floormod(&at[axis], &OUTPUT_TILE.into());
        let product = |v: i64| joined.at(&[at[0].clone(), tile(1), within(1), tile(2), v.into(), at[3].clone()]);
        select_constant(&within(2), of_products(std::array::from_fn(|v| product(v as i64))))
    });
    Ok(b.finish())
}

/// The zero-padded input rows of each row of tiles: `[batch, rows of tiles, 6, width, channels]`.
fn strips(cx: &CallContext, b: &mut Builder, data: &Input, shape: &[PrimExpr]) -> Result<Input, InferError> {
    let (layout, window) = (layout(cx, "data_layout", "NCHW")?, Window::of(cx, 2)?);
    let sizes = layout.to_primal("NCHW", data.shape());
    Ok(b.stage("strips", shape.to_vec(), data.dtype(), |at| {
        let row = dims::offset(&dims::add(&start(&at[1]), &at[2]), -window.before[0]);
        let column = dims::offset(&at[3], -window.before[1]);
        let inside = |place: &PrimExpr, size: &PrimExpr| place.clone().ge(0i64).and(place.clone().lt(size.clone()));
        let inside = inside(&row, &sizes[2]).and(inside(&column, &sizes[3]));
        let value = data.at(&layout.index("NCHW", &[at[0].clone(), at[4].clone(), row, column]));
        inside.if_then_else(value, PrimExpr::constant(0.0, data.dtype()))
    }))
}

/// Selects an element of a list by index.
fn select_constant<const N: usize>(index: &PrimExpr, values: [PrimExpr; N]) -> PrimExpr {
    let mut last_first = values.into_iter().enumerate().rev();
    let (_, last) = last_first.next().unwrap_or_else(|| unreachable!("lists are not empty"));
    last_first.fold(last, |rest, (at, value)| index.clone().eq(at as i64).if_then_else(value, rest))
}

/// The matrix G, which transforms weights along an axis.
pub fn of_weights() -> [[f64; 3]; 6] {
    let [p, q] = POINTS;
    let [pp, qq] = [p * p, q * q];
    let row = |at: f64, scale: f64| [1. / scale, at / scale, at * at / scale];
    let [near, far] = [2. * pp * (pp - qq), 2. * qq * (qq - pp)];
    [row(0., pp * qq), row(p, near), row(-p, near), row(q, far), row(-q, far), [0., 0., 1.]]
}

/// Input transform Bᵀd.
fn of_data([a, b, c, d, e, f]: [PrimExpr; 6]) -> [PrimExpr; 6] {
    let [p, q] = POINTS;
    let [pp, qq] = [p * p, q * q];
    let (even, odd) = (plus(-qq, &c, &e), plus(-qq, &b, &d));
    let (far_even, far_odd) = (plus(-pp, &c, &e), plus(-pp, &b, &d));
    [
        plus(pp * qq, &a, &plus(-pp - qq, &c, &e)),
        plus(p, &odd, &even),
        plus(-p, &odd, &even),
        plus(q, &far_odd, &far_even),
        plus(-q, &far_odd, &far_even),
        plus(pp * qq, &b, &plus(-pp - qq, &d, &f)),
    ]
}

/// Output transform Aᵀm.
fn of_products([a, b, c, d, e, f]: [PrimExpr; 6]) -> [PrimExpr; 4] {
    let [p, q] = POINTS;
    let (near, near_difference) = (&b + &c, &b - &c);
    let (far, far_difference) = (&d + &e, d - e);
    [
        a + &near + &far,
        plus(p, &near_difference, &times(q, &far_difference)),
        plus(p * p, &near, &times(q * q, &far)),
        plus(p * p * p, &near_difference, &plus(q * q * q, &far_difference, &f)),
    ]
}

fn times(factor: f64, x: &PrimExpr) -> PrimExpr {
    PrimExpr::constant(factor, x.dtype()) * x.clone()
}

/// `factor * x + y`, as a fused multiply-add if the target has one.
fn plus(factor: f64, x: &PrimExpr, y: &PrimExpr) -> PrimExpr {
    PrimExpr::intrin("fma", vec![PrimExpr::constant(factor, x.dtype()), x.clone(), y.clone()], x.dtype())
}

/// Number of tiles that cover `results`.
fn tiles(results: &PrimExpr) -> PrimExpr {
    dims::simplify(&dims::ceildiv(results, &OUTPUT_TILE.into()))
}

/// Start of a tile along an axis.
fn start(tile: &PrimExpr) -> PrimExpr {
    dims::mul(tile, &OUTPUT_TILE.into())
}
