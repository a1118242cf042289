//! Resizing of images and volumes.
//!
//! Every spatial axis is resampled separately: a position in the result is mapped to a position in the data, in float32
//! as in other implementations, then one, two or four elements around it are weighted and summed. If the results use
//! most of the data, it is resampled along the last axis first, so that shared rows are computed once.

use super::taps::{Tap, weighted_sum};
use crate::{
    CallContext, dims,
    families::nn::{expect_layout, layout, rows::number},
    layout::Layout,
    legalize::{Builder, Legalized, accumulator},
    op::{AttrKind, NONE, Op, OperandKind},
    precision::Precision,
    relayout,
    rules::Inferred,
};
use hammock_ir::{
    AttrValue, DType, PrimExpr, TensorShape, TensorType, count,
    relax::{Call, InferError, Operand},
    types::ShapeType,
};

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    vec![
        resize("image.resize2d", "HW", "round", "Resizes images."),
        resize("image.resize3d", "DHW", "", "Resizes volumes."),
    ]
}

/// Interpolation methods.
const METHODS: &[&str] = &["nearest_neighbor", "linear", "cubic"];

/// Mappings of result positions to data positions.
const COORDINATES: &[&str] =
    &["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "tf_half_pixel_for_nn", "tf_crop_and_resize"];

/// Roundings of positions to elements.
const ROUNDINGS: &[&str] = &["", "round", "floor", "ceil", "round_prefer_floor", "round_prefer_ceil"];

fn resize(name: &'static str, spatial: &'static str, rounding: &'static str, doc: &'static str) -> Op {
    let (params, args) = match spatial.len() {
        2 => ("x: float32[1, 2, 4, 4]", "x, size=(8, 6)"),
        _ => ("x: float32[1, 2, 4, 4, 4]", "x, size=(8, 6, 4)"),
    };
    Op::new(name)
        .doc(doc)
        .example(params, args)
        .tensor("data")
        .operand("size", OperandKind::Shape)
        .attr("roi", AttrKind::Any, NONE)
        .attr("layout", AttrKind::Str, format!("NC{spatial}").as_str())
        .attr("method", AttrKind::Str, "linear")
        .attr("coordinate_transformation_mode", AttrKind::Str, "half_pixel")
        .attr("rounding_method", AttrKind::Str, rounding)
        .attr("cubic_alpha", AttrKind::Float, -0.75)
        .attr("cubic_exclude", AttrKind::Int, 0i64)
        .attr("extrapolation_value", AttrKind::Float, 0.0)
        .attr("out_dtype", AttrKind::DType, NONE)
        .complete(move |call| complete(call, spatial.len()))
        .layouts(relayout::resizing(spatial))
        .layout_axes([format!("NC{spatial}")])
        .precision(Precision::Follow)
        .infer(move |cx| infer(cx, spatial))
        .legalize(move |cx| legalize(cx, spatial))
}

/// One size applies to every axis; an omitted region is empty, and its bounds are float32.
fn complete(call: &mut Call, rank: usize) {
    if let Some(Operand::Shape(size)) = call.args.get_mut(1)
        && let [one] = size.as_slice()
    {
        *size = vec![one.clone(); rank];
    }
    let bound = |v: f64| AttrValue::from(PrimExpr::float(v, DType::FLOAT32));
    let given: Option<Vec<f64>> = match call.attrs.get("roi") {
        Some(AttrValue::None) | None => Some(vec![0.0; 2 * rank]),
        Some(roi) => match roi.as_list() {
            Some(list) => list.iter().map(AttrValue::as_float).collect(),
            None => roi.as_float().map(|v| vec![v; 2 * rank]),
        },
    };
    if let Some(given) = given {
        call.attrs.set("roi", AttrValue::List(given.into_iter().map(bound).collect()));
    }
}

fn expect_attributes(cx: &CallContext, rank: usize) -> Result<(), InferError> {
    cx.one_of("method", METHODS)?;
    cx.one_of("coordinate_transformation_mode", COORDINATES)?;
    cx.one_of("rounding_method", ROUNDINGS)?;
    match cx.floats("roi")?.len() {
        n if n == 2 * rank => Ok(()),
        n => {
            Err(cx.error_at("roi", format_args!("`roi` must hold {} bounds, the lower ones first, not {n}", 2 * rank)))
        }
    }
}

fn infer(cx: &CallContext, spatial: &str) -> Inferred {
    let rank = spatial.len();
    expect_attributes(cx, rank)?;
    let primal = format!("NC{spatial}");
    let layout: Layout = layout(cx, "layout", &primal)?;
    let data = cx.tensor("data")?;
    expect_layout(cx, "data", &data, "layout", &layout)?;
    let size = cx.shape("size")?;
    if let Some(n) = size.ndim().filter(|n| *n != rank) {
        return Err(cx.error_at("size", format_args!("`size` must have {}, but it has {n}", count(rank, "dimension"))));
    }
    let dtype = cx.dtype("out_dtype")?.or(data.dtype);
    let shape = match (data.dims(), size) {
        (Some(dims), ShapeType::Known(size)) => {
            let mut sizes = layout.to_primal(&primal, dims);
            sizes.splice(2.., size.iter().cloned());
            TensorShape::Known(layout.from_primal(&primal, &sizes).into())
        }
        _ => TensorShape::Rank(layout.ndim()),
    };
    Ok(TensorType { shape, dtype, ..data }.into())
}

/// Resampling along one axis.
struct Axis<'a> {
    /// Number of elements in the data.
    size: PrimExpr,
    /// Number of elements in the result.
    target: PrimExpr,
    /// The bounds of the region relative to the axis, in float32, in which everything derived from them is computed.
    region: (f32, f32),
    coordinates: &'a str,
    rounding: &'a str,
}

impl Axis<'_> {
    /// A size as a number.
    fn float(&self, size: &PrimExpr) -> PrimExpr {
        number(size, DType::FLOAT32)
    }

    /// Data elements per result element. Known sizes are divided at compile time, in float32.
    fn scale(&self) -> PrimExpr {
        match (self.size.as_int(), self.target.as_int()) {
            (Some(s), Some(n)) => constant((s as f32 / n as f32).into()),
            _ => self.float(&self.size) / self.float(&self.target),
        }
    }

    /// The data position of result index `i`.
    fn source(&self, i: &PrimExpr) -> PrimExpr {
        let x = i.clone().cast(DType::FLOAT32);
        let last = self.float(&dims::offset(&self.size, -1));
        let steps = self.float(&dims::max(&dims::offset(&self.target, -1), &1i64.into()));
        let half = |x: PrimExpr| (x + constant(0.5)) * self.scale();
        match self.coordinates {
            "half_pixel" => half(x) - constant(0.5),
            "align_corners" => last / steps * x,
            "asymmetric" => self.scale() * x,
            "pytorch_half_pixel" => self.unless_one(half(x) - constant(0.5), constant(0.0)),
            "tf_half_pixel_for_nn" => half(x),
            _ => {
                let (start, end) = self.region;
                let part = |value: f32| constant(value.into());
                let across = part(start) * &last + x * part(end - start) * &last / steps;
                self.unless_one(across, part(0.5 * (start + end)) * last)
            }
        }
    }

    /// Selects a value by whether the result has more than one element.
    fn unless_one(&self, many: PrimExpr, one: PrimExpr) -> PrimExpr {
        match self.target.as_int() {
            Some(n) => {
                if n > 1 {
                    many
                } else {
                    one
                }
            }
            None => self.target.clone().gt(1i64).select(many, one),
        }
    }

    /// Returns true if `taps` elements per result element cover most of the data.
    fn uses_most(&self, taps: i64) -> bool {
        dims::at_least(&dims::mul(&self.target, &taps.into()), &self.size) == Some(true)
    }

    /// Clamps an index to the data.
    fn clamp(&self, index: PrimExpr) -> PrimExpr {
        index.min(dims::offset(&self.size, -1)).max(0i64)
    }

    /// Clamps an index to the data plus the reach of its taps, so that their indices do not overflow.
    fn clamp_to_taps(&self, index: PrimExpr) -> PrimExpr {
        index.min(dims::offset(&self.size, 2)).max(-4i64)
    }

    /// The nearest element.
    fn nearest(&self, i: &PrimExpr) -> Tap {
        let rounding = match (self.rounding, self.coordinates) {
            ("", "align_corners") => "round",
            ("", _) => "floor",
            (given, _) => given,
        };
        let whole = match (self.size.as_int(), self.target.as_int()) {
            (Some(s), Some(n)) if s > 0 && n % s == 0 => Some(n / s),
            _ => None,
        };
        if let (Some(repeat), "asymmetric", "floor") = (whole, self.coordinates, rounding) {
            return Tap::whole(dims::floordiv(i, &repeat.into()));
        }
        let x = self.source(i);
        // The epsilon compensates for positions that rounding puts just below an element.
        let index = match rounding {
            "round" => x.unary("nearbyint"),
            "round_prefer_floor" => (x - constant(0.5)).unary("ceil"),
            "round_prefer_ceil" => (x + constant(0.5)).unary("floor"),
            "ceil" => (x - constant(1e-5)).unary("ceil"),
            _ => (x + constant(1e-5)).unary("floor"),
        };
        Tap::whole(self.clamp(index.cast(DType::INT64)))
    }

    /// The two neighbouring elements, weighted by distance.
    fn linear(&self, i: &PrimExpr) -> Vec<Tap> {
        let x = self.source(i);
        let floor = x.clone().unary("floor");
        let (low, part) = (self.clamp_to_taps(floor.clone().cast(DType::INT64)), x - floor);
        let tap = |k: i64, weight| Tap { index: self.clamp(dims::offset(&low, k)), weight: Some(weight) };
        vec![tap(0, constant(1.0) - &part), tap(1, part)]
    }

    /// Four elements, by the cubic spline of slope `a`; `exclude` leaves out those outside the data.
    fn cubic(&self, i: &PrimExpr, a: f64, exclude: bool) -> Vec<Tap> {
        let x = self.source(i);
        let floor = x.clone().unary("floor");
        let (low, t) = (self.clamp_to_taps(floor.clone().cast(DType::INT64)), x - floor);
        let mut weights = cubic_weights(&t, a);
        if exclude {
            for (k, weight) in weights.iter_mut().enumerate() {
                let at = dims::offset(&low, k as i64 - 1);
                let inside = at.clone().ge(0i64).and(at.lt(&self.size));
                *weight = inside.select(weight.clone(), constant(0.0));
            }
            let sum = weights.iter().cloned().reduce(|a, b| a + b);
            weights = weights.map(|w| sum.iter().fold(w, |w, sum| w / sum));
        }
        let tap = |(k, weight)| Tap { index: self.clamp(dims::offset(&low, k as i64 - 1)), weight: Some(weight) };
        weights.into_iter().enumerate().map(tap).collect()
    }
}

fn constant(value: f64) -> PrimExpr {
    PrimExpr::float(value, DType::FLOAT32)
}

/// Weights of the four elements around a position at fraction `t` between the second and the third (Keys, 1981).
/// Operations are in TVM's order, so results are bit-identical.
fn cubic_weights(t: &PrimExpr, a: f64) -> [PrimExpr; 4] {
    let (t2, t3) = (t * t, t * t * t);
    let c = constant;
    [
        c(a) * (&t3 - c(2.0) * &t2 + t),
        c(a + 2.0) * &t3 - c(a + 3.0) * &t2 + c(1.0),
        c(-(a + 2.0)) * &t3 + c(3.0 + 2.0 * a) * &t2 - c(a) * t,
        c(-a) * t3 + c(a) * t2,
    ]
}

fn legalize(cx: &CallContext, spatial: &str) -> Result<Legalized, InferError> {
    let rank = spatial.len();
    let primal = format!("NC{spatial}");
    let layout = layout(cx, "layout", &primal)?;
    let (method, coordinates) =
        (cx.one_of("method", METHODS)?, cx.one_of("coordinate_transformation_mode", COORDINATES)?);
    let (alpha, exclude) = (cx.float("cubic_alpha")?, cx.int("cubic_exclude")? != 0);
    let (rounding, roi) = (cx.one_of("rounding_method", ROUNDINGS)?, cx.floats("roi")?);
    let beyond = (coordinates == "tf_crop_and_resize").then(|| cx.float("extrapolation_value")).transpose()?;
    let mut b = Builder::new(cx, cx.op.name.trim_start_matches("image."))?;
    let data = b.input("data")?;
    let out = b.output("resize")?;
    let (sizes, targets) = (layout.to_primal(&primal, data.shape()), layout.to_primal(&primal, &out.shape));
    let axes: Vec<Axis> = (0..rank)
        .map(|k| Axis {
            size: sizes[k + 2].clone(),
            target: targets[k + 2].clone(),
            region: region(&roi, rank, k),
            coordinates,
            rounding,
        })
        .collect();
    let wide = if data.dtype() == DType::FLOAT64 { DType::FLOAT64 } else { accumulator(DType::FLOAT32) };
    let taps = |axis: &Axis, i: &PrimExpr| match method {
        "nearest_neighbor" => vec![axis.nearest(i)],
        "linear" => axis.linear(i),
        _ => axis.cubic(i, alpha, exclude),
    };
    let (mut source, mut shape, mut left) = (data, sizes, rank);
    let several = match method {
        "nearest_neighbor" => 1,
        "linear" => 2,
        _ => 4,
    };
    while left > 1 && several > 1 && axes[..left - 1].iter().all(|axis| axis.uses_most(several)) {
        left -= 1;
        shape[left + 2] = axes[left].target.clone();
        source = b.stage("across", layout.from_primal(&primal, &shape), wide, |at| {
            let position = layout.primal_index(&primal, at);
            let read = |index: &[PrimExpr]| {
                source.at(&layout.index(&primal, &[&position[..left + 2], index, &position[left + 3..]].concat()))
            };
            weighted_sum(&[taps(&axes[left], &position[left + 2])], wide, read)
        });
    }
    b.compute(&out, |at| {
        let position = layout.primal_index(&primal, at);
        let taps: Vec<Vec<Tap>> = axes[..left].iter().zip(&position[2..]).map(|(axis, i)| taps(axis, i)).collect();
        let read = |index: &[PrimExpr]| {
            source.at(&layout.index(&primal, &[&position[..2], index, &position[left + 2..]].concat()))
        };
        let value = weighted_sum(&taps, wide, read);
        let Some(beyond) = beyond else { return value.cast(out.dtype) };
        let fill = PrimExpr::constant(beyond, value.dtype());
        let outside = axes.iter().zip(&position[2..]).map(|(axis, i)| {
            let x = axis.source(i);
            x.clone().lt(constant(0.0)).or(x.gt(axis.float(&dims::offset(&axis.size, -1))))
        });
        outside.fold(value, |value, outside| outside.select(fill.clone(), value)).cast(out.dtype)
    });
    Ok(b.finish())
}

/// The bounds of the region along an axis. Images have `[y0, x0, y1, x1]`, volumes `[x0, y0, z0, x1, y1, z1]`.
fn region(roi: &[f64], rank: usize, axis: usize) -> (f32, f32) {
    let at = if rank == 2 { axis } else { rank - 1 - axis };
    (roi[at] as f32, roi[at + rank] as f32)
}
