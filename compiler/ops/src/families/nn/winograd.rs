//! The two transforms of Winograd's convolution F(4x4, 3x3): kernels that a pass puts around products.
//!
//! A tile of 4x4 results of a 3x3 convolution is `Aᵀ (U ⊙ BᵀdB) A`, where `d` are the 6x6 elements of data that it needs,
//! and `U` the 6x6 elements that the weights were transformed to: 36 multiplications in the place of 144 (A. Lavin,
//! S. Gray: "Fast Algorithms for Convolutional Neural Networks", 2015). Summed over channels, each of the 36 elements is
//! a product of matrices, over all tiles. These kernels compute `BᵀdB` and `Aᵀ(…)A`; what is outside of the data is zero,
//! and tiles may reach beyond the result.

use super::{conv::layout, window::Window};
use crate::{
    context::CallContext,
    dims,
    legalize::{Builder, Combine, Input, Legalized},
    op::{AttrKind, Op},
    rules::Inferred,
};
use hammock_ir::{PrimExpr, TensorShape, TensorType, relax::InferError};
use std::sync::LazyLock;

/// Results of a tile along each axis.
pub const RESULTS: i64 = 4;
/// Elements of data that a tile needs along each axis.
pub const TAPS: i64 = 6;

/// Tiles of the data of a convolution, transformed: `[6, 6, tiles, channels]`. `matrix` is Bᵀ; strides and dilation are 1.
pub fn winograd_input() -> &'static Op {
    static OP: LazyLock<Op> = LazyLock::new(|| {
        Op::new("winograd_input")
            .tensor("data")
            .tensor("matrix")
            .attr("strides", AttrKind::Ints, vec![1i64; 2])
            .attr("padding", AttrKind::Ints, vec![0i64; 2])
            .attr("dilation", AttrKind::Ints, vec![1i64; 2])
            .attr("data_layout", AttrKind::Str, "NCHW")
            .infer(infer_input)
            .legalize(input)
    });
    &OP
}

/// The results of a convolution, as `NHWC`, from products with the transformed weights, `[6, 6, tiles, channels]`. `matrix`
/// is Aᵀ. The call says the result's type.
pub fn winograd_output() -> &'static Op {
    static OP: LazyLock<Op> = LazyLock::new(|| {
        Op::new("winograd_output")
            .tensor("products")
            .tensor("matrix")
            .infer(|cx| cx.call.ty_args.first().cloned().ok_or_else(|| cx.error("needs the type of its result")))
            .legalize(output)
    });
    &OP
}

/// The data of a call of `winograd_input`.
struct Data {
    /// Batch, channels, height and width.
    sizes: Vec<PrimExpr>,
    /// The rows and columns of tiles of an image.
    tiles: [PrimExpr; 2],
    window: Window,
}

impl Data {
    /// `sizes` are in the data's layout.
    fn of(cx: &CallContext, sizes: &[PrimExpr]) -> Result<Data, InferError> {
        let sizes = layout(cx, "data_layout", "NCHW")?.to_primal("NCHW", sizes);
        let window = Window::of(cx, 2)?;
        let tiles = [0, 1].map(|axis| tiles(&window.positions(axis, &sizes[axis + 2], &3.into(), false)));
        Ok(Data { sizes, tiles, window })
    }
}

/// How many tiles hold so many results.
fn tiles(results: &PrimExpr) -> PrimExpr {
    dims::simplify(&dims::ceildiv(results, &RESULTS.into()))
}

fn infer_input(cx: &CallContext) -> Inferred {
    let data = cx.tensor("data")?;
    let Some(sizes) = data.dims() else { return Ok(data.into()) };
    let Data { sizes, tiles: [rows, columns], .. } = Data::of(cx, sizes)?;
    let tiles = dims::product([&sizes[0], &rows, &columns]);
    let shape = TensorShape::Known([TAPS.into(), TAPS.into(), tiles, sizes[1].clone()].into());
    Ok(TensorType { shape, ..data }.into())
}

fn input(cx: &CallContext) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, "winograd_input")?;
    let (data, matrix) = (b.input("data")?, b.input("matrix")?);
    let out = b.output("transformed")?;
    let Data { sizes, tiles: [rows, columns], window } = Data::of(cx, data.shape())?;
    let dtype = data.dtype();
    // Both transforms read whole tiles, the one along columns each row of tiles on its own.
    let covered = |tiles: &PrimExpr| dims::offset(&dims::mul(tiles, &RESULTS.into()), TAPS - RESULTS);
    let (height, width) = (covered(&rows), covered(&columns));
    let data_layout = layout(cx, "data_layout", "NCHW")?;
    let padded = vec![sizes[0].clone(), height, width.clone(), sizes[1].clone()];
    let padded = b.stage("padded", padded, dtype, |at| {
        let place = |axis: usize| dims::offset(&at[axis + 1], -window.before[axis]);
        let inside = |axis: usize| place(axis).ge(0i64).and(place(axis).lt(sizes[axis + 2].clone()));
        let from = [at[0].clone(), at[3].clone(), place(0), place(1)];
        let value = data.at(&data_layout.index("NCHW", &from));
        inside(0).and(inside(1)).if_then_else(value, PrimExpr::constant(0.0, dtype))
    });
    let strips = dims::mul(&sizes[0], &rows);
    let down = b.temp("columns", vec![strips, TAPS.into(), width, sizes[1].clone()], dtype);
    b.reduce(&down, &taps(), Combine::Sum, |at, k| {
        let row = start(&dims::floormod(&at[0], &rows)) + k[0].clone();
        let image = dims::floordiv(&at[0], &rows);
        matrix.at(&[at[1].clone(), k[0].clone()]) * padded.at(&[image, row, at[2].clone(), at[3].clone()])
    });
    let down = Input::Buffer(down);
    b.reduce(&out, &taps(), Combine::Sum, |at, k| {
        let column = start(&dims::floormod(&at[2], &columns)) + k[0].clone();
        let strip = dims::floordiv(&at[2], &columns);
        matrix.at(&[at[1].clone(), k[0].clone()]) * down.at(&[strip, at[0].clone(), column, at[3].clone()])
    });
    Ok(b.finish())
}

fn output(cx: &CallContext) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, "winograd_output")?;
    let (products, matrix) = (b.input("products")?, b.input("matrix")?);
    let out = b.output("convolved")?;
    let [_, _, count, channels] = products.shape() else { return Err(cx.error("`products` must have 4 axes")) };
    let down = vec![count.clone(), TAPS.into(), RESULTS.into(), channels.clone()];
    let down = b.temp("columns", down, products.dtype());
    b.reduce(&down, &taps(), Combine::Sum, |at, k| {
        let from = [k[0].clone(), at[1].clone(), at[0].clone(), at[3].clone()];
        matrix.at(&[at[2].clone(), k[0].clone()]) * products.at(&from)
    });
    let (rows, columns) = (tiles(&out.shape[1]), tiles(&out.shape[2]));
    let down = Input::Buffer(down);
    b.reduce(&out, &taps(), Combine::Sum, |at, k| {
        let tile = |axis: usize| dims::floordiv(&at[axis], &RESULTS.into());
        let within = |axis: usize| dims::floormod(&at[axis], &RESULTS.into());
        let strip = dims::add(&dims::mul(&at[0], &rows), &tile(1));
        let tile = dims::add(&dims::mul(&strip, &columns), &tile(2));
        matrix.at(&[within(2), k[0].clone()]) * down.at(&[tile, k[0].clone(), within(1), at[3].clone()])
    });
    Ok(b.finish())
}

/// The axis that a transform sums over.
fn taps() -> [(String, PrimExpr); 1] {
    [("k".to_owned(), TAPS.into())]
}

/// Where a tile begins, along an axis.
fn start(tile: &PrimExpr) -> PrimExpr {
    dims::mul(tile, &RESULTS.into())
}
