//! Pooling of regions of interest. A region is a row `[batch, x1, y1, x2, y2]`.
//!
//! Kernels read the data within its bounds for any regions, and take at most [`MAX_SAMPLES`] samples per bin along an axis.
//!
//! The channels of a sample share its position and weights. With many channels, the data are transposed so that these are
//! contiguous, and vectors are along channels; otherwise a block of channels is sampled one by one.

use crate::{
    CallContext, dims,
    families::nn::{activation::float_tensor, expect_layout, layout, rows::number, window},
    layout::Layout,
    legalize::{
        Builder, Combine, Input, Legalized, accumulator,
        loops::{each, each_in_vectors, in_order, when_else},
    },
    op::{AttrKind, Op},
    precision::Precision,
    rules::{Inferred, expect_ndim},
    text::dim_text,
};
use hammock_ir::{
    DType, PrimExpr, TensorShape, TensorType,
    prim::Var,
    relax::{Call, InferError},
    tir::{Stmt, StmtKind},
};

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    vec![roi_align(), roi_pool()]
}

/// Poolings of samples in `vision.roi_align`: their mean, their maximum, or the maximum of the four weighted elements
/// around each.
const MODES: &[&str] = &["avg", "max", "max_weighted"];

fn roi_align() -> Op {
    signature(
        "vision.roi_align",
        "Pools interpolated samples in each bin of each region, by mean (`mode=\"avg\"`) or maximum (`max`; \
         `max_weighted`, of the elements around them times their weights).",
    )
    .attr("sample_ratio", AttrKind::Int, -1i64)
    .attr("aligned", AttrKind::Bool, false)
    .attr("layout", AttrKind::Str, "NCHW")
    .attr("mode", AttrKind::Str, "avg")
    .infer(|cx| {
        cx.one_of("mode", MODES)?;
        infer(cx)
    })
    .legalize(legalize_align)
}

fn roi_pool() -> Op {
    signature("vision.roi_pool", "Max-pools each bin of each region.")
        .attr("layout", AttrKind::Str, "NCHW")
        .infer(infer)
        .legalize(legalize_pool)
}

fn signature(name: &'static str, doc: &'static str) -> Op {
    Op::new(name)
        .doc(doc)
        .example("x: float32[1, 2, 8, 8]; r: float32[2, 5]", "x, r, pooled_size=(2, 2), spatial_scale=1.0")
        .tensor("data")
        .tensor("rois")
        .required("pooled_size", AttrKind::Ints)
        .required("spatial_scale", AttrKind::Float)
        .precision(Precision::Follow)
        .complete(|call: &mut Call| {
            window::rewrite(&mut call.attrs, "pooled_size", |given| match given {
                [one] => Some(vec![*one; 2]),
                all => Some(all.to_vec()),
            });
        })
}

/// Bins along height and width.
fn pooled_size(cx: &CallContext) -> Result<[i64; 2], InferError> {
    match cx.ints("pooled_size")?.as_slice() {
        [one] if *one > 0 => Ok([*one, *one]),
        [h, w] if *h > 0 && *w > 0 => Ok([*h, *w]),
        other => Err(cx.error_at(
            "pooled_size",
            format_args!("`pooled_size` must be 1 or 2 numbers greater than 0, not {other:?}"),
        )),
    }
}

fn infer(cx: &CallContext) -> Inferred {
    let [height, width] = pooled_size(cx)?;
    cx.float("spatial_scale")?;
    let layout: Layout = layout(cx, "layout", "NCHW")?;
    let (data, rois) = (float_tensor(cx, "data")?, float_tensor(cx, "rois")?);
    expect_layout(cx, "data", &data, "layout", &layout)?;
    expect_ndim(cx, "rois", &rois, 2)?;
    if let Some(r) = rois.dims()
        && dims::equal(&r[1], &5i64.into()) == Some(false)
    {
        let columns = dim_text(&r[1]);
        return Err(
            cx.error_at("rois", format_args!("`rois` must have 5 columns: batch, x1, y1, x2, y2; it has {columns}"))
        );
    }
    let shape = match (data.dims(), rois.dims()) {
        (Some(d), Some(r)) => {
            let channels = layout.to_primal("NCHW", d).swap_remove(1);
            let sizes: [PrimExpr; 4] = [r[0].clone(), channels, height.into(), width.into()];
            TensorShape::Known(layout.from_primal("NCHW", &sizes).into())
        }
        _ => TensorShape::Rank(layout.ndim()),
    };
    Ok(TensorType { shape, ..data }.into())
}

/// Maximum number of samples of a bin along an axis.
const MAX_SAMPLES: f64 = 4096.0;

/// The data, its regions and the bins of a call.
struct Regions {
    data: Input,
    rois: Input,
    layout: Layout,
    /// Height and width of the data.
    sizes: [PrimExpr; 2],
    /// Bins along height and width.
    bins: [i64; 2],
    scale: f64,
    /// The dtype of coordinates.
    dtype: DType,
}

impl Regions {
    fn of(cx: &CallContext, b: &mut Builder) -> Result<Self, InferError> {
        let (data, rois) = (b.input("data")?, b.input("rois")?);
        b.require_equal(&rois.shape()[1], &5i64.into(), "`rois` must have 5 columns");
        let layout = layout(cx, "layout", "NCHW")?;
        let sizes = layout.to_primal("NCHW", data.shape());
        let dtype = accumulator(rois.dtype());
        let sizes = [sizes[2].clone(), sizes[3].clone()];
        Ok(Regions { data, rois, layout, sizes, bins: pooled_size(cx)?, scale: cx.float("spatial_scale")?, dtype })
    }

    fn constant(&self, value: f64) -> PrimExpr {
        PrimExpr::float(value, self.dtype)
    }

    fn column(&self, roi: &PrimExpr, column: i64) -> PrimExpr {
        self.rois.at(&[roi.clone(), column.into()]).cast(self.dtype)
    }

    /// The image of a region.
    fn batch(&self, roi: &PrimExpr) -> PrimExpr {
        let limit = |v: f64| PrimExpr::float(v, self.dtype);
        // Out of bounds for every batch, and still an int64: the access is checked.
        self.column(roi, 0).max(limit(-INVALID_IMAGE)).min(limit(INVALID_IMAGE)).cast(DType::INT64)
    }

    /// Start and end of a region along height (0) or width (1), in elements of the data.
    fn bounds(&self, roi: &PrimExpr, axis: usize) -> (PrimExpr, PrimExpr) {
        let at = |column: i64| self.column(roi, column - axis as i64) * self.constant(self.scale);
        (at(2), at(4))
    }

    fn is_channels_last(&self) -> bool {
        Layout::parse("NHWC").as_ref() == Some(&self.layout)
    }

    /// True if there are many channels, and transposing the data is cheap compared with sampling for results of these
    /// sizes, with `ratio` samples of a bin along an axis.
    fn pays_transposing(&self, results: &[PrimExpr], ratio: i64) -> bool {
        let count = |sizes: &[&PrimExpr]| sizes.iter().map(|size| size.as_int()).product::<Option<i64>>();
        let data = self.layout.to_primal("NCHW", self.data.shape());
        let has_many_channels = data[1].as_int().is_some_and(|channels| channels >= MIN_CHANNELS);
        let elements = count(&[&data[0], &data[2], &data[3]]);
        let bins = count(&[&results[0], &results[2], &results[3]]);
        let is_cheap = elements.zip(bins).is_some_and(|(elements, bins)| {
            let samples = bins.saturating_mul(ratio.max(1).saturating_mul(ratio.max(1)));
            elements <= samples.saturating_mul(MAX_ELEMENTS_PER_SAMPLE)
        });
        has_many_channels && is_cheap && !self.layout.has_blocks() && !self.is_channels_last()
    }

    /// Transposes the data so that channels are contiguous.
    fn transpose(&mut self, b: &mut Builder) {
        let sizes = self.layout.to_primal("NCHW", self.data.shape());
        let last = [0, 2, 3, 1].map(|axis: usize| sizes[axis].clone());
        let data = b.stage("channels_last", last.to_vec(), self.data.dtype(), |at| {
            self.data.at(&self.layout.index("NCHW", &[0, 3, 1, 2].map(|axis: usize| at[axis].clone())))
        });
        self.data = data;
        self.layout = Layout::parse("NHWC").unwrap_or_else(|| unreachable!("NHWC is a layout"));
    }

    /// The element at a row and column of a channel of an image.
    fn at(&self, roi: &PrimExpr, channel: &PrimExpr, y: PrimExpr, x: PrimExpr) -> PrimExpr {
        self.data.at(&self.layout.index("NCHW", &[self.batch(roi), channel.clone(), y, x]))
    }
}

/// An image index that is out of bounds for every batch.
const INVALID_IMAGE: f64 = 2147483648.0;

/// An integer in `0..size`, from any float.
fn clamp(x: PrimExpr, size: &PrimExpr) -> PrimExpr {
    let last = number(&dims::offset(size, -1), x.dtype());
    let zero = PrimExpr::float(0.0, x.dtype());
    x.max(zero).min(last).cast(DType::INT64)
}

/// Number of channels of a block, which share the positions and weights of samples. A region of a few thousand
/// elements of that many channels stays in the L1 cache.
const BLOCK_CHANNELS: i64 = 16;

/// Minimum number of channels for which the data are transposed.
const MIN_CHANNELS: i64 = 16;

/// Maximum number of elements of a channel, per sample, for which the data are transposed.
const MAX_ELEMENTS_PER_SAMPLE: i64 = 4;

/// Samples of a region along one axis in `vision.roi_align`.
struct Samples {
    /// Start of the bin.
    start: PrimExpr,
    /// Distance between samples.
    step: PrimExpr,
    /// Number of samples.
    count: PrimExpr,
}

impl Samples {
    fn of(regions: &Regions, roi: &PrimExpr, bin: &PrimExpr, axis: usize, ratio: i64, aligned: bool) -> Self {
        let (start, end) = regions.bounds(roi, axis);
        let length = end - &start;
        let length = if aligned { length } else { length.max(regions.constant(1.0)) };
        let size = length / regions.constant(regions.bins[axis] as f64);
        let count = match ratio {
            1.. => regions.constant(ratio as f64),
            _ => size.clone().unary("ceil").max(regions.constant(0.0)).min(regions.constant(MAX_SAMPLES)),
        };
        let start = start + bin.clone().cast(regions.dtype) * &size;
        Samples { start, step: size / count.clone().max(regions.constant(1.0)), count: count.cast(DType::INT64) }
    }

    /// Binds the values to variables.
    fn bind(self, bindings: &mut Vec<Stmt>) -> Self {
        Samples {
            start: bind("start", self.start, bindings),
            step: bind("step", self.step, bindings),
            count: bind("count", self.count, bindings),
        }
    }

    /// Position of the `k`-th sample.
    fn at(&self, k: &PrimExpr) -> PrimExpr {
        let half = PrimExpr::float(0.5, self.step.dtype());
        &self.start + (k.clone().cast(self.step.dtype()) + half) * &self.step
    }
}

/// Binds a value to a variable and returns the variable.
fn bind(name: &str, value: PrimExpr, bindings: &mut Vec<Stmt>) -> PrimExpr {
    let var = Var::new(name, value.dtype());
    bindings.push(Stmt::new(StmtKind::Bind(var.clone(), value)));
    var.expr()
}

fn legalize_align(cx: &CallContext) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, "roi_align")?;
    let mut regions = Regions::of(cx, &mut b)?;
    let (ratio, aligned) = (cx.int("sample_ratio")?, cx.bool("aligned")?);
    let mode = cx.one_of("mode", MODES)?;
    let mean = mode == "avg";
    let corners = if mode == "max_weighted" { Combine::Max } else { Combine::Sum };
    let out = b.output("roi_align")?;
    let wide = accumulator(out.dtype);
    let layout = regions.layout.clone();
    let mut axes = layout.to_primal("NCHW", &out.shape);
    if regions.pays_transposing(&axes, ratio) {
        regions.transpose(&mut b);
    }
    let regions = regions;
    let is_channels_last = regions.is_channels_last();
    let folded = b.temp("folded", regions.layout.from_primal("NCHW", &axes), wide);
    let how = if mean { Combine::Sum } else { Combine::Max };
    let samples = |roi: &PrimExpr, bins: &[PrimExpr]| {
        [0, 1].map(|axis| Samples::of(&regions, roi, &bins[axis], axis, ratio, aligned))
    };
    let channels = axes[1].clone();
    axes[1] = if is_channels_last { 1i64.into() } else { dims::ceildiv(&channels, &BLOCK_CHANNELS.into()) };
    b.block("roi_samples", &axes, |i| {
        let first = &i[1] * PrimExpr::int64(BLOCK_CHANNELS);
        let each_channel = |f: &dyn Fn(&PrimExpr, Vec<PrimExpr>) -> Stmt| {
            let store = |channel: &PrimExpr| {
                let at = [i[0].clone(), channel.clone(), i[2].clone(), i[3].clone()];
                f(channel, regions.layout.index("NCHW", &at))
            };
            if is_channels_last {
                return each_in_vectors("channel", &channels, store);
            }
            let count = dims::min(&BLOCK_CHANNELS.into(), &dims::sub(&channels, &first));
            each("channel", count, |c| store(&(&first + c)))
        };
        let mut bindings = Vec::new();
        let [rows, columns] = samples(&i[0], &i[2..]).map(|samples| samples.bind(&mut bindings));
        let fold = |value: &dyn Fn(&PrimExpr) -> PrimExpr| {
            each_channel(&|channel, at| {
                let so_far = PrimExpr::load(&folded, at.clone());
                Stmt::store(&folded, at, how.apply(so_far, value(channel)))
            })
        };
        let initialize = each_channel(&|_, at| Stmt::store(&folded, at, how.identity(wide)));
        let all = each("y", rows.count.clone(), |y| {
            let mut bindings = Vec::new();
            let row = Neighbours::of(&regions, 0, rows.at(y), wide, &mut bindings);
            let along = each("x", columns.count.clone(), |x| {
                let mut bindings = Vec::new();
                let column = Neighbours::of(&regions, 1, columns.at(x), wide, &mut bindings);
                let zero = fold(&|_| PrimExpr::float(0.0, wide));
                let value = fold(&|channel| interpolate(&regions, &i[0], channel, [&row, &column], corners));
                bindings.push(when_else(row.outside.clone().or(column.outside.clone()), zero, value));
                in_order(bindings)
            });
            bindings.push(along);
            in_order(bindings)
        });
        in_order(bindings.into_iter().chain([initialize, all]))
    });
    b.compute(&out, |i| {
        let index = layout.primal_index("NCHW", i);
        let [rows, columns] = samples(&index[0], &index[2..]);
        let value = PrimExpr::load(&folded, regions.layout.index("NCHW", &index));
        let count = rows.count * columns.count;
        let filled = if mean { value / count.clone().max(1i64).cast(wide) } else { value };
        count.gt(0i64).select(filled, PrimExpr::float(0.0, wide)).cast(out.dtype)
    });
    Ok(b.finish())
}

/// The two elements around a position along an axis, and their weights.
struct Neighbours {
    /// True if the position is more than one element outside the data.
    outside: PrimExpr,
    /// Indices and weights.
    elements: [(PrimExpr, PrimExpr); 2],
}

impl Neighbours {
    /// Neighbours of a position along height (0) or width (1), in bound variables.
    fn of(regions: &Regions, axis: usize, position: PrimExpr, dtype: DType, bindings: &mut Vec<Stmt>) -> Self {
        let size = &regions.sizes[axis];
        let position = bind("position", position, bindings);
        let outside = position.clone().lt(regions.constant(-1.0)).or(position.clone().gt(number(size, regions.dtype)));
        let last = number(&dims::offset(size, -1), regions.dtype);
        let inside = bind("inside", position.max(regions.constant(0.0)).min(last), bindings);
        let floor = inside.clone().unary("floor");
        let low = bind("low", floor.clone().cast(DType::INT64), bindings);
        let high = bind("high", dims::offset(&low, 1).min(dims::offset(size, -1)), bindings);
        let part = bind("part", (inside - floor).cast(dtype), bindings);
        let elements = [(low, PrimExpr::float(1.0, dtype) - &part), (high, part)];
        Neighbours { outside, elements }
    }
}

/// Bilinear interpolation of the four elements around a point, whose weighted values are combined.
fn interpolate(
    regions: &Regions,
    roi: &PrimExpr,
    channel: &PrimExpr,
    [row, column]: [&Neighbours; 2],
    corners: Combine,
) -> PrimExpr {
    let term = |(y, v): &(PrimExpr, PrimExpr), (x, w): &(PrimExpr, PrimExpr)| {
        regions.at(roi, channel, y.clone(), x.clone()).cast(v.dtype()) * (v * w)
    };
    let (rows, columns) = (&row.elements, &column.elements);
    [(0, 1), (1, 0), (1, 1)].into_iter().fold(term(&rows[0], &columns[0]), |value, (row, column)| {
        corners.apply(value, term(&rows[row], &columns[column]))
    })
}

/// The elements of a bin of `vision.roi_pool` along one axis: first index and count.
fn bin(regions: &Regions, roi: &PrimExpr, bin: &PrimExpr, axis: usize) -> (PrimExpr, PrimExpr) {
    let round = |x: PrimExpr| (x + regions.constant(0.5)).unary("floor");
    let (start, end) = regions.bounds(roi, axis);
    let (start, end) = (round(start), round(end));
    let length = (end - &start + regions.constant(1.0)).max(regions.constant(1.0));
    let size = length / regions.constant(regions.bins[axis] as f64);
    let bin = bin.clone().cast(regions.dtype);
    let low = (&bin * &size).unary("floor") + &start;
    let high = ((bin + regions.constant(1.0)) * size).unary("ceil") + start;
    let count = &regions.sizes[axis];
    let inside = |x: PrimExpr| clamp(x, &dims::offset(count, 1));
    let (low, high) = (inside(low), inside(high));
    (low.clone(), high - low)
}

fn legalize_pool(cx: &CallContext) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, "roi_pool")?;
    let regions = Regions::of(cx, &mut b)?;
    let out = b.output("roi_pool")?;
    let best = b.temp("largest", out.shape.clone(), out.dtype);
    let bins = |index: &[PrimExpr]| [0, 1].map(|k| bin(&regions, &index[0], &index[k + 2], k));
    b.block("roi_largest", &out.shape, |i| {
        let index = regions.layout.primal_index("NCHW", i);
        let [(top, rows), (left, columns)] = bins(&index);
        let so_far = PrimExpr::load(&best, i.to_vec());
        let add = |y: &PrimExpr, x: &PrimExpr| {
            let value = regions.at(&index[0], &index[1], &top + y, &left + x);
            Stmt::store(&best, i.to_vec(), so_far.max(value))
        };
        let all = each("y", rows, |y| each("x", columns, |x| add(y, x)));
        in_order([Stmt::store(&best, i.to_vec(), Combine::Max.identity(out.dtype)), all])
    });
    b.compute(&out, |i| {
        let [(_, rows), (_, columns)] = bins(&regions.layout.primal_index("NCHW", i));
        let filled = rows.gt(0i64).and(columns.gt(0i64));
        filled.select(PrimExpr::load(&best, i.to_vec()), PrimExpr::constant(0.0, out.dtype))
    });
    Ok(b.finish())
}
