//! Separable resampling, one axis at a time, for resizings that sizes alone do not determine: dynamic or fractional
//! scales, regions, antialiasing filters.
//!
//! Source coordinates are computed in float64, one vector per axis: rounding errors would select wrong pixels.

use crate::node::{self, Node, axes_attr};
use hammock_ir::{DType, PrimExpr, relax::Operand};
use hammock_ops::dims;

/// Attributes of a resizing.
pub struct Method<'a> {
    pub mode: &'a str,
    pub coordinates: &'a str,
    pub rounding: &'a str,
    pub cubic_coefficient: f64,
    /// True if pixels outside of the data have weight zero.
    pub exclude_outside: bool,
    /// True if filters widen when downsampling.
    pub antialias: bool,
    /// Value of coordinates outside of the data, for regions.
    pub extrapolation_value: f64,
}

/// Resizing of one axis.
pub struct ResizedAxis {
    /// The axis.
    pub axis: usize,
    /// Size of the result.
    pub size: PrimExpr,
    /// Scale, a float64 scalar.
    pub scale: Operand,
    /// Value of the scale, if it is known.
    pub known: Option<f64>,
    /// Begin and end of the resized region, as fractions of the axis.
    pub region: Option<(Operand, Operand)>,
}

/// Taps of an interpolation filter.
struct FilterTaps {
    /// Offsets from the floor of the source coordinate.
    offsets: std::ops::Range<i64>,
    /// Factor of distances: less than 1 widens the filter.
    distance_scale: f64,
    /// True if the weights must be normalized.
    needs_normalization: bool,
}

/// Resizes `x` along an axis.
pub fn resample_axis(n: &mut Node, x: Operand, of: &ResizedAxis, method: &Method) -> node::Result<Operand> {
    let dims = n.dims(&x)?;
    let own = n.dtype(&x)?;
    let width = n.dims_vector(&dims[of.axis..=of.axis])?;
    let width = n.cast(width, DType::FLOAT64)?;
    let width = n.reshape(width, Vec::new())?;
    let (coordinates, out) = source_coordinates(n, of, &width, method.coordinates)?;
    let mut y = if method.mode == "nearest" {
        let coordinates = round_coordinates(n, &coordinates, method.rounding)?;
        gather_clamped(n, &x, coordinates, &width, of.axis)?
    } else {
        let wide = if own.bits > 32 { own } else { DType::FLOAT32 };
        let wide_x = n.cast(x, wide)?;
        let y = match (method.antialias, of.known) {
            (true, None) => apply_dynamic_filter(n, wide_x, &coordinates, &width, of, method)?,
            _ => interpolate(n, wide_x, &coordinates, &width, of, method)?,
        };
        n.cast(y, own)?
    };
    if let Some(out) = out {
        let shape = n.axis_shape(&of.size, of.axis, dims.len());
        let out = n.reshape(out, shape)?;
        let value = n.scalar_like(method.extrapolation_value, &y)?;
        y = n.call("where", [out, value, y])?;
    }
    Ok(y)
}

/// Returns the source coordinate of each output index; for a region, also whether it is out of range.
fn source_coordinates(
    n: &mut Node,
    of: &ResizedAxis,
    width: &Operand,
    mode: &str,
) -> node::Result<(Operand, Option<Operand>)> {
    let counted = n.arange(of.size.clone())?;
    let y = n.cast(counted, DType::FLOAT64)?;
    let real = n.call("multiply", [of.scale.clone(), width.clone()])?;
    let halved = |n: &mut Node| {
        let middle = n.with_scalar("add", &y, 0.5)?;
        let middle = n.call("divide", [middle, of.scale.clone()])?;
        n.with_scalar("subtract", &middle, 0.5)
    };
    // Maps the first and last output index to the corners of the data or region.
    let corners = |n: &mut Node, span: Operand, alone: Operand| {
        let steps = n.with_scalar("subtract", &real, 1.0)?;
        let single = n.with_scalar("equal", &real, 1.0)?;
        let one = n.scalar_like(1.0, &steps)?;
        let steps = n.call("where", [single.clone(), one, steps])?;
        let coordinate = n.call("multiply", [y.clone(), span])?;
        let coordinate = n.call("divide", [coordinate, steps])?;
        n.call("where", [single, alone, coordinate])
    };
    let last = n.with_scalar("subtract", width, 1.0)?;
    Ok(match mode {
        "half_pixel" => (halved(n)?, None),
        "pytorch_half_pixel" => {
            let coordinate = halved(n)?;
            let several = n.with_scalar("greater", &real, 1.0)?;
            let zero = n.scalar_like(0.0, &coordinate)?;
            (n.call("where", [several, coordinate, zero])?, None)
        }
        "half_pixel_symmetric" => {
            let whole = n.dims_vector(std::slice::from_ref(&of.size))?;
            let whole = n.cast(whole, DType::FLOAT64)?;
            let part = n.call("divide", [whole, real])?;
            let missing = n.with_scalar("subtract", &part, 1.0)?;
            let half = n.with_scalar("multiply", width, -0.5)?;
            let offset = n.call("multiply", [half, missing])?;
            let coordinate = halved(n)?;
            (n.call("add", [coordinate, offset])?, None)
        }
        "asymmetric" => (n.call("divide", [y, of.scale.clone()])?, None),
        "align_corners" => {
            let zero = n.scalar_like(0.0, width)?;
            (corners(n, last, zero)?, None)
        }
        "tf_crop_and_resize" => {
            let Some((begin, end)) = &of.region else { return n.error("its `roi` is missing") };
            let span = n.call("subtract", [end.clone(), begin.clone()])?;
            let span = n.call("multiply", [span, last.clone()])?;
            let middle = n.with_scalar("multiply", &span, 0.5)?;
            let coordinate = corners(n, span, middle)?;
            let first = n.call("multiply", [begin.clone(), last.clone()])?;
            let coordinate = n.call("add", [coordinate, first])?;
            let before = n.with_scalar("less", &coordinate, 0.0)?;
            let behind = n.call("greater", [coordinate.clone(), last])?;
            let out = n.call("logical_or", [before, behind])?;
            (coordinate, Some(out))
        }
        other => return n.error(format!("the coordinate transformation `{other}` is not supported")),
    })
}

/// Rounds coordinates to indices.
fn round_coordinates(n: &mut Node, coordinates: &Operand, rounding: &str) -> node::Result<Operand> {
    let (shift, op) = match rounding {
        "round_prefer_floor" => (-0.5, "ceil"),
        "round_prefer_ceil" => (0.5, "floor"),
        "floor" => (0.0, "floor"),
        "ceil" => (0.0, "ceil"),
        other => return n.error(format!("its `nearest_mode` is `{other}`, which is not known")),
    };
    let shifted = n.with_scalar("add", coordinates, shift)?;
    n.call(op, [shifted])
}

/// Gathers elements at integer coordinates along an axis, clamped to the edges.
fn gather_clamped(
    n: &mut Node,
    x: &Operand,
    coordinates: Operand,
    width: &Operand,
    axis: usize,
) -> node::Result<Operand> {
    let last = n.with_scalar("subtract", width, 1.0)?;
    let low = n.with_scalar("maximum", &coordinates, 0.0)?;
    let inside = n.call("minimum", [low, last])?;
    let inside = n.cast(inside, DType::INT64)?;
    n.call_with("take", [x.clone(), inside], &[("axis", (axis as i64).into()), ("mode", "clip".into())])
}

fn taps(n: &Node, of: &ResizedAxis, method: &Method) -> node::Result<FilterTaps> {
    let reach = if method.mode == "cubic" { 2.0 } else { 1.0 };
    let distance_scale = match (method.antialias, of.known) {
        (false, _) => 1.0,
        (true, Some(scale)) if scale > 1.0 / 64.0 => scale.min(1.0),
        _ => return n.error("filters of more than 64 times the distance of pixels are not supported"),
    };
    let first = (-reach / distance_scale).floor() as i64 + 1;
    Ok(FilterTaps {
        offsets: first..2 - first,
        distance_scale,
        needs_normalization: method.exclude_outside || method.antialias,
    })
}

fn interpolate(
    n: &mut Node,
    x: Operand,
    coordinates: &Operand,
    width: &Operand,
    of: &ResizedAxis,
    method: &Method,
) -> node::Result<Operand> {
    let rank = n.rank(&x)?;
    let floor = n.call("floor", [coordinates.clone()])?;
    let ratio = n.call("subtract", [coordinates.clone(), floor.clone()])?;
    let taps = taps(n, of, method)?;
    let (mut sum, mut total) = (None, None);
    for offset in taps.offsets {
        let distance = n.with_scalar("subtract", &ratio, offset as f64)?;
        let distance = n.with_scalar("multiply", &distance, taps.distance_scale)?;
        let mut weight = kernel(n, &distance, method)?;
        let at = n.with_scalar("add", &floor, offset as f64)?;
        if method.exclude_outside {
            weight = zero_outside(n, weight, &at, width)?;
        }
        let part = gather_clamped(n, &x, at, width, of.axis)?;
        total = Some(n.accumulate_sum(total, weight.clone())?);
        let weight = n.cast(weight, n.dtype(&x)?)?;
        let shape = n.axis_shape(&of.size, of.axis, rank);
        let weight = n.reshape(weight, shape)?;
        let part = n.call("multiply", [part, weight])?;
        sum = Some(n.accumulate_sum(sum, part)?);
    }
    let (Some(sum), Some(total)) = (sum, total) else { return Ok(x) };
    if !taps.needs_normalization {
        return Ok(sum);
    }
    let total = n.cast(total, n.dtype(&x)?)?;
    let shape = n.axis_shape(&of.size, of.axis, rank);
    let total = n.reshape(total, shape)?;
    n.call("divide", [sum, total])
}

/// Filters of dynamic width: a dense weight for each pair of output index and pixel, including the pixels beyond the
/// edges that any filter can reach.
fn apply_dynamic_filter(
    n: &mut Node,
    x: Operand,
    coordinates: &Operand,
    width: &Operand,
    of: &ResizedAxis,
    method: &Method,
) -> node::Result<Operand> {
    let own = n.dims(&x)?;
    let distance_scale = n.with_scalar("minimum", &of.scale, 1.0)?;
    let pixels = dims::mul(&own[of.axis], &5i64.into());
    let counted = n.arange(pixels)?;
    let counted = n.cast(counted, DType::FLOAT64)?;
    let first = n.with_scalar("multiply", width, 2.0)?;
    let pixels = n.call("subtract", [counted, first])?;
    let column = n.reshape(coordinates.clone(), vec![of.size.clone(), 1i64.into()])?;
    let distance = n.call("subtract", [column, pixels.clone()])?;
    let distance = n.call("multiply", [distance, distance_scale])?;
    let mut weight = kernel(n, &distance, method)?;
    if method.exclude_outside {
        weight = zero_outside(n, weight, &pixels, width)?;
    }
    let total = n.call_with("sum", [weight.clone()], &[("axis", vec![1i64].into()), ("keepdims", true.into())])?;
    let weight = n.call("divide", [weight, total])?;
    let weight = n.cast(weight, n.dtype(&x)?)?;
    let weight = n.call("permute_dims", [weight])?;
    // The axis is moved to the end for the matmul, and back.
    let mut order: Vec<usize> = (0..own.len()).collect();
    order.swap(of.axis, own.len() - 1);
    let shown = gather_clamped(n, &x, pixels, width, of.axis)?;
    let shown = n.call_with("permute_dims", [shown], &[("axes", axes_attr(&order))])?;
    let y = n.call("matmul", [shown, weight])?;
    n.call_with("permute_dims", [y], &[("axes", axes_attr(&order))])
}

/// Zeroes the weights of pixels outside of the data.
fn zero_outside(n: &mut Node, weight: Operand, at: &Operand, width: &Operand) -> node::Result<Operand> {
    let zero = n.scalar_like(0.0, &weight)?;
    let before = n.with_scalar("less", at, 0.0)?;
    let behind = n.call("greater_equal", [at.clone(), width.clone()])?;
    let out = n.call("logical_or", [before, behind])?;
    n.call("where", [out, zero, weight])
}

/// Filter weight at a distance: a triangle, or the cubic of Keys (1981), "Cubic convolution interpolation".
fn kernel(n: &mut Node, distance: &Operand, method: &Method) -> node::Result<Operand> {
    let d = n.call("abs", [distance.clone()])?;
    if method.mode == "linear" {
        let negative = n.call("negative", [d])?;
        let height = n.with_scalar("add", &negative, 1.0)?;
        return n.with_scalar("maximum", &height, 0.0);
    }
    let a = method.cubic_coefficient;
    // Horner's scheme.
    let polynomial = |n: &mut Node, factors: [f64; 4]| {
        let mut sum = n.with_scalar("multiply", &d, factors[0])?;
        for factor in &factors[1..3] {
            sum = n.with_scalar("add", &sum, *factor)?;
            sum = n.call("multiply", [sum, d.clone()])?;
        }
        n.with_scalar("add", &sum, factors[3])
    };
    let near = polynomial(n, [a + 2.0, -(a + 3.0), 0.0, 1.0])?;
    let far = polynomial(n, [a, -5.0 * a, 8.0 * a, -4.0 * a])?;
    let zero = n.scalar_like(0.0, &d)?;
    let is_far = n.with_scalar("less", &d, 2.0)?;
    let far = n.call("where", [is_far, far, zero])?;
    let is_near = n.with_scalar("less_equal", &d, 1.0)?;
    n.call("where", [is_near, near, far])
}

impl Node<'_, '_> {
    /// Returns a shape of ones except for one axis.
    pub(super) fn axis_shape(&self, size: &PrimExpr, axis: usize, rank: usize) -> Vec<PrimExpr> {
        let mut shape = vec![PrimExpr::int64(1); rank];
        shape[axis] = size.clone();
        shape
    }
}
