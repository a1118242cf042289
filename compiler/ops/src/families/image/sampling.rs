//! Kernels that sample data at the positions in a grid.
//!
//! Indices and weights of the elements around a position are computed once for all channels. With many channels, the
//! data are transposed so that these are contiguous, and vectors are along channels; otherwise vectors are along
//! positions, with gathers.

use super::taps::Tap;
use crate::{
    dims,
    families::nn::rows::number,
    layout::Layout,
    legalize::{
        Builder, Input,
        loops::{LANES, each, each_in_vectors, in_lanes, in_order, when, when_else},
    },
};
use hammock_ir::{
    DType, PrimExpr,
    prim::Var,
    tir::{Buffer, Stmt, StmtKind},
};

/// Minimum number of channels for vectors along channels.
const MIN_CHANNELS: i64 = 16;

/// Maximum number of elements of a channel, per sample, for which the data are transposed.
const MAX_ELEMENTS_PER_SAMPLE: i64 = 4;

/// Sampling along one axis.
pub struct Axis<'a> {
    /// Size of the data.
    pub size: PrimExpr,
    /// True if the outer coordinates are the centres of the outer elements.
    pub align_corners: bool,
    /// Padding mode.
    pub padding: &'a str,
    /// Dtype of positions.
    pub dtype: DType,
}

impl Axis<'_> {
    fn constant(&self, value: f64) -> PrimExpr {
        PrimExpr::float(value, self.dtype)
    }

    /// The size plus `by`, as a float.
    fn size(&self, by: i64) -> PrimExpr {
        number(&dims::offset(&self.size, by), self.dtype)
    }

    /// The position in the data of a coordinate between -1 and 1.
    fn position(&self, coordinate: PrimExpr) -> PrimExpr {
        let moved = coordinate + self.constant(1.0);
        match self.align_corners {
            true => moved * self.size(-1) / self.constant(2.0),
            false => moved * self.size(0) / self.constant(2.0) - self.constant(0.5),
        }
    }

    /// Maps any position into the data, according to the padding mode.
    fn inside(&self, x: PrimExpr) -> PrimExpr {
        match self.padding {
            "border" => self.clip(x),
            "reflection" => self.clip(self.reflect(x)),
            _ => x,
        }
    }

    fn clip(&self, x: PrimExpr) -> PrimExpr {
        x.max(self.constant(0.0)).min(self.size(-1))
    }

    /// Reflects a position at both ends, repeatedly.
    fn reflect(&self, x: PrimExpr) -> PrimExpr {
        let (first, length) = match self.align_corners {
            true => (self.constant(0.0), self.size(-1).max(self.constant(1.0))),
            false => (self.constant(-0.5), self.size(0)),
        };
        let distance = (x - &first).unary("fabs");
        let folds = (&distance / &length).unary("floor");
        let rest = distance - &folds * &length;
        let half = (&folds / self.constant(2.0)).unary("floor");
        let forth = (half * self.constant(2.0)).eq(folds);
        forth.select(rest.clone(), length - rest) + first
    }

    /// The elements sampled for a coordinate, with their weights.
    fn taps(&self, coordinate: PrimExpr, method: &str) -> Vec<Tap> {
        let x = self.position(coordinate);
        match method {
            "nearest" => vec![Tap::whole(self.inside(x).unary("nearbyint").cast(DType::INT64))],
            "bilinear" => {
                let x = self.inside(x);
                let floor = x.clone().unary("floor");
                let part = x - &floor;
                // Added as a float: an integer might overflow.
                let high = &floor + self.constant(1.0);
                let tap = |at: PrimExpr, weight| Tap { index: at.cast(DType::INT64), weight: Some(weight) };
                vec![tap(floor, self.constant(1.0) - &part), tap(high, part)]
            }
            _ => self.cubic(x),
        }
    }

    /// Four elements, by the cubic convolution of slope -0.75 (Keys, 1981). Padding applies to each of them.
    fn cubic(&self, x: PrimExpr) -> Vec<Tap> {
        const A: f64 = -0.75;
        let floor = x.clone().unary("floor");
        let part = x - &floor;
        let c = |v| self.constant(v);
        let near = |t: PrimExpr| (c(A + 2.0) * &t - c(A + 3.0)) * &t * t + c(1.0);
        let far = |t: PrimExpr| ((c(A) * &t - c(5.0 * A)) * &t + c(8.0 * A)) * t - c(4.0 * A);
        let weights = [far(&part + c(1.0)), near(part.clone()), near(c(1.0) - &part), far(c(2.0) - part)];
        let tap = |(k, weight): (usize, PrimExpr)| {
            let at = self.inside(&floor + c(k as f64 - 1.0));
            Tap { index: at.cast(DType::INT64), weight: Some(weight) }
        };
        weights.into_iter().enumerate().map(tap).collect()
    }
}

/// A call of `image.grid_sample`.
pub struct Sampler<'a> {
    /// The spatial axes.
    pub axes: Vec<Axis<'a>>,
    /// Interpolation.
    pub method: &'a str,
    /// Sampled data.
    pub data: Input,
    /// Coordinates.
    pub grid: Input,
    /// Layout of data and result.
    pub layout: Layout,
    /// Its primal axes.
    pub primal: String,
    /// Sizes of the data, by primal axes.
    pub sizes: Vec<PrimExpr>,
}

/// An element around a position, by its index along each spatial axis, and its weight; `None` for weight one.
struct Corner {
    index: Vec<PrimExpr>,
    weight: Option<PrimExpr>,
}

impl Corner {
    fn weighted(&self, value: PrimExpr, dtype: DType) -> PrimExpr {
        match &self.weight {
            Some(weight) => value.cast(dtype) * weight.clone().cast(dtype),
            None => value.cast(dtype),
        }
    }
}

impl Sampler<'_> {
    /// Stores the samples.
    pub fn sample(&self, b: &mut Builder, out: &Buffer) {
        let channels_last = Layout::parse(&format!("N{}C", &self.primal[2..])).as_ref() == Some(&self.layout);
        if channels_last || self.pays_transposing() {
            self.sample_channels(b, out, channels_last);
        } else {
            self.sample_positions(b, out);
        }
    }

    /// True if there are many channels, and transposing the data is cheap compared with sampling.
    fn pays_transposing(&self) -> bool {
        let count = |sizes: &[PrimExpr]| sizes.iter().map(PrimExpr::as_int).product::<Option<i64>>();
        let many = self.sizes[1].as_int().is_some_and(|channels| channels >= MIN_CHANNELS);
        let (elements, samples) = (count(&self.sizes[2..]), count(&self.grid.shape()[2..]));
        let small = elements
            .zip(samples)
            .is_some_and(|(elements, samples)| elements <= samples.saturating_mul(MAX_ELEMENTS_PER_SAMPLE));
        many && small && !self.layout.has_blocks()
    }

    /// The elements along each axis around the position of a sample, at an index without channel.
    fn taps(&self, at: &[PrimExpr]) -> Vec<Vec<Tap>> {
        let coordinate = |k: usize| {
            let component = (self.axes.len() - 1 - k) as i64;
            let at = [&at[..1], &[component.into()], &at[1..]].concat();
            self.grid.at(&at).cast(self.axes[k].dtype)
        };
        self.axes.iter().enumerate().map(|(k, axis)| axis.taps(coordinate(k), self.method)).collect()
    }

    /// The condition that an element is in the data.
    fn is_inside(&self, index: &[PrimExpr]) -> PrimExpr {
        let sizes = &self.sizes[2..];
        let inside = index.iter().zip(sizes).map(|(i, size)| i.clone().ge(0i64).and(i.clone().lt(size.clone())));
        inside.reduce(PrimExpr::and).unwrap_or_else(|| PrimExpr::bool(true))
    }

    /// The dtype of weighted sums; single elements keep theirs.
    fn sum_dtype(&self) -> DType {
        match self.method {
            "nearest" => self.data.dtype(),
            _ if self.data.dtype() == DType::FLOAT64 => DType::FLOAT64,
            _ => DType::FLOAT32,
        }
    }

    /// Vectors along channels.
    fn sample_channels(&self, b: &mut Builder, out: &Buffer, channels_last: bool) {
        let dtype = self.sum_dtype();
        let last = |sizes: &[PrimExpr]| [&sizes[..1], &sizes[2..], &sizes[1..2]].concat();
        let from_last = |at: &[PrimExpr]| {
            let (channel, rest) = at.split_last().expect("an index has a channel");
            [&rest[..1], std::slice::from_ref(channel), &rest[1..]].concat()
        };
        let data = match channels_last {
            true => None,
            false => Some(b.stage("channels_last", last(&self.sizes), self.data.dtype(), |at| {
                self.data.at(&self.layout.index(&self.primal, &from_last(at)))
            })),
        };
        let samples = last(&self.layout.to_primal(&self.primal, &out.shape));
        let direct = channels_last && dtype == out.dtype;
        let rows = if direct { out.clone() } else { b.temp("samples", samples.clone(), dtype) };
        let (channel_count, positions) = samples.split_last().expect("samples have channels");
        b.block("grid_sample", positions, |at| {
            let element = |index: &[PrimExpr], channel: &PrimExpr| match &data {
                Some(data) => data.at(&[&at[..1], index, std::slice::from_ref(channel)].concat()),
                None => self
                    .data
                    .at(&self.layout.index(&self.primal, &[&at[..1], std::slice::from_ref(channel), index].concat())),
            };
            let to = |channel: &PrimExpr| [at, std::slice::from_ref(channel)].concat();
            let weighted =
                |corner: &Corner, channel: &PrimExpr| corner.weighted(element(&corner.index, channel), dtype);
            let mut bindings = Vec::new();
            let corners = self.corners(&self.taps(at), &mut bindings);
            let whole = each_in_vectors("channel", channel_count, |channel| {
                let sum = corners.iter().map(|corner| weighted(corner, channel)).reduce(|sum, next| sum + next);
                Stmt::store(&rows, to(channel), sum.unwrap_or_else(|| PrimExpr::constant(0.0, dtype)))
            });
            let clear = each_in_vectors("channel", channel_count, |channel| {
                Stmt::store(&rows, to(channel), PrimExpr::constant(0.0, dtype))
            });
            let add = corners.iter().map(|corner| {
                let add = each_in_vectors("channel", channel_count, |channel| {
                    let sum = PrimExpr::load(&rows, to(channel)) + weighted(corner, channel);
                    Stmt::store(&rows, to(channel), sum)
                });
                when(self.is_inside(&corner.index), add)
            });
            let partial = in_order([clear].into_iter().chain(add));
            let all = corners.iter().map(|corner| self.is_inside(&corner.index)).reduce(PrimExpr::and);
            let all = all.unwrap_or_else(|| PrimExpr::bool(true));
            in_order(bindings.into_iter().chain([when_else(all, whole, partial)]))
        });
        if !direct {
            b.compute(out, |at| {
                let at = last(&self.layout.primal_index(&self.primal, at));
                PrimExpr::load(&rows, at).cast(out.dtype)
            });
        }
    }

    /// The elements around a position; their indices and weights are bound to variables.
    fn corners(&self, taps: &[Vec<Tap>], bindings: &mut Vec<Stmt>) -> Vec<Corner> {
        let mut bind = |name: &str, value: PrimExpr| {
            let var = Var::new(name, value.dtype());
            bindings.push(Stmt::new(StmtKind::Bind(var.clone(), value)));
            var.expr()
        };
        let start = vec![Corner { index: Vec::new(), weight: None }];
        taps.iter().fold(start, |corners, taps| {
            let taps: Vec<Tap> = taps
                .iter()
                .map(|tap| Tap {
                    index: bind("at", tap.index.clone()),
                    weight: tap.weight.clone().map(|weight| bind("weight", weight)),
                })
                .collect();
            let product = |a: &Option<PrimExpr>, b: &Option<PrimExpr>| match (a, b) {
                (Some(a), Some(b)) => Some(a.clone() * b.clone()),
                (a, b) => a.clone().or(b.clone()),
            };
            let with = |corner: &Corner, tap: &Tap| Corner {
                index: [&corner.index[..], std::slice::from_ref(&tap.index)].concat(),
                weight: product(&corner.weight, &tap.weight),
            };
            corners.iter().flat_map(|corner| taps.iter().map(|tap| with(corner, tap)).collect::<Vec<_>>()).collect()
        })
    }

    /// Vectors along the last axis of the positions.
    fn sample_positions(&self, b: &mut Builder, out: &Buffer) {
        let dtype = self.sum_dtype();
        let samples = self.layout.to_primal(&self.primal, &out.shape);
        let mut groups = [&samples[..1], &samples[2..]].concat();
        let width = groups.pop().expect("samples have positions");
        groups.push(dims::ceildiv(&width, &LANES.into()));
        let is_whole = width.as_int().is_some_and(|width| width % LANES == 0);
        b.block("grid_sample", &groups, |at| {
            let (group, outer) = at.split_last().expect("there is a group");
            in_lanes(|lane| {
                let position = group * PrimExpr::int64(LANES) + lane;
                let at = [outer, std::slice::from_ref(&position)].concat();
                let mut bindings = Vec::new();
                let corners = self.corners(&self.taps(&at), &mut bindings);
                let sample = each("channel", samples[1].clone(), |channel| {
                    let index = |index: &[PrimExpr]| {
                        self.layout.index(&self.primal, &[&at[..1], std::slice::from_ref(channel), index].concat())
                    };
                    let zero = || PrimExpr::constant(0.0, self.data.dtype());
                    let values = corners.iter().map(|corner| {
                        let value = self.data.at(&index(&corner.index));
                        corner.weighted(self.is_inside(&corner.index).if_then_else(value, zero()), dtype)
                    });
                    let sum = values.reduce(|sum, next| sum + next).unwrap_or_else(|| zero().cast(dtype));
                    Stmt::store(out, index(&at[1..]), sum.cast(out.dtype))
                });
                let all = in_order(bindings.into_iter().chain([sample]));
                if is_whole { all } else { when(position.lt(width.clone()), all) }
            })
        });
    }
}
