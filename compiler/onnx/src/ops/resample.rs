//! Separable resampling, one axis at a time, for resizings that sizes alone do not determine: dynamic or fractional
//! scales, regions, antialiasing filters.
//!
//! Source coordinates are computed in float64, one vector per axis: rounding errors would select wrong pixels.

use super::resize::Method;
use crate::node::{self, Node, axes_attr};
use hammock_ir::{DType, PrimExpr, relax::Operand};
use hammock_ops::dims;

/// Resizing of one axis.
pub struct Axis {
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
struct Taps {
    /// Offsets from the floor of the source coordinate.
    offsets: std::ops::Range<i64>,
    /// Factor of distances: less than 1 widens the filter.
    squeeze: f64,
    /// True if the weights must be normalized.
    uneven: bool,
}

/// Resizes `x` along an axis.
pub fn along(n: &mut Node, x: Operand, of: &Axis, method: &Method) -> node::Result<Operand> {
    let dims = n.dims(&x)?;
    let own = n.dtype(&x)?;
    let width = n.vector(&dims[of.axis..=of.axis])?;
    let width = n.cast(width, DType::FLOAT64)?;
    let width = n.reshape(width, Vec::new())?;
    let (places, out) = places(n, of, &width, method.coordinates)?;
    let mut y = if method.mode == "nearest" {
        let places = rounded(n, &places, method.rounding)?;
        element(n, &x, places, &width, of.axis)?
    } else {
        let wide = if own.bits > 32 { own } else { DType::FLOAT32 };
        let wide_x = n.cast(x, wide)?;
        let y = match (method.antialias, of.known) {
            (true, None) => filtered(n, wide_x, &places, &width, of, method)?,
            _ => interpolated(n, wide_x, &places, &width, of, method)?,
        };
        n.cast(y, own)?
    };
    if let Some(out) = out {
        let shape = n.beside(&of.size, of.axis, dims.len());
        let out = n.reshape(out, shape)?;
        let value = n.number(method.outside, &y)?;
        y = n.call("where", [out, value, y])?;
    }
    Ok(y)
}

/// Returns the source coordinate of each output index; for a region, also whether it is out of range.
fn places(n: &mut Node, of: &Axis, width: &Operand, mode: &str) -> node::Result<(Operand, Option<Operand>)> {
    let counted = n.count_to(of.size.clone())?;
    let y = n.cast(counted, DType::FLOAT64)?;
    let real = n.call("multiply", [of.scale.clone(), width.clone()])?;
    let halved = |n: &mut Node| {
        let middle = n.with_number("add", &y, 0.5)?;
        let middle = n.call("divide", [middle, of.scale.clone()])?;
        n.with_number("subtract", &middle, 0.5)
    };
    // Maps the first and last output index to the corners of the data or region.
    let corners = |n: &mut Node, span: Operand, alone: Operand| {
        let steps = n.with_number("subtract", &real, 1.0)?;
        let single = n.with_number("equal", &real, 1.0)?;
        let one = n.number(1.0, &steps)?;
        let steps = n.call("where", [single.clone(), one, steps])?;
        let place = n.call("multiply", [y.clone(), span])?;
        let place = n.call("divide", [place, steps])?;
        n.call("where", [single, alone, place])
    };
    let last = n.with_number("subtract", width, 1.0)?;
    Ok(match mode {
        "half_pixel" => (halved(n)?, None),
        "pytorch_half_pixel" => {
            let place = halved(n)?;
            let several = n.with_number("greater", &real, 1.0)?;
            let zero = n.number(0.0, &place)?;
            (n.call("where", [several, place, zero])?, None)
        }
        "half_pixel_symmetric" => {
            let whole = n.vector(std::slice::from_ref(&of.size))?;
            let whole = n.cast(whole, DType::FLOAT64)?;
            let part = n.call("divide", [whole, real])?;
            let missing = n.with_number("subtract", &part, 1.0)?;
            let half = n.with_number("multiply", width, -0.5)?;
            let offset = n.call("multiply", [half, missing])?;
            let place = halved(n)?;
            (n.call("add", [place, offset])?, None)
        }
        "asymmetric" => (n.call("divide", [y, of.scale.clone()])?, None),
        "align_corners" => {
            let zero = n.number(0.0, width)?;
            (corners(n, last, zero)?, None)
        }
        "tf_crop_and_resize" => {
            let Some((begin, end)) = &of.region else { return n.error("its `roi` is missing") };
            let span = n.call("subtract", [end.clone(), begin.clone()])?;
            let span = n.call("multiply", [span, last.clone()])?;
            let middle = n.with_number("multiply", &span, 0.5)?;
            let place = corners(n, span, middle)?;
            let first = n.call("multiply", [begin.clone(), last.clone()])?;
            let place = n.call("add", [place, first])?;
            let before = n.with_number("less", &place, 0.0)?;
            let behind = n.call("greater", [place.clone(), last])?;
            let out = n.call("logical_or", [before, behind])?;
            (place, Some(out))
        }
        other => return n.error(format!("places of the kind `{other}` are not supported")),
    })
}

/// Rounds coordinates to indices.
fn rounded(n: &mut Node, places: &Operand, rounding: &str) -> node::Result<Operand> {
    let (shift, op) = match rounding {
        "round_prefer_floor" => (-0.5, "ceil"),
        "round_prefer_ceil" => (0.5, "floor"),
        "floor" => (0.0, "floor"),
        "ceil" => (0.0, "ceil"),
        other => return n.error(format!("its `nearest_mode` is `{other}`, which is not known")),
    };
    let shifted = n.with_number("add", places, shift)?;
    n.call(op, [shifted])
}

/// Gathers elements at integer coordinates along an axis, clamped to the edges.
fn element(n: &mut Node, x: &Operand, places: Operand, width: &Operand, axis: usize) -> node::Result<Operand> {
    let last = n.with_number("subtract", width, 1.0)?;
    let low = n.with_number("maximum", &places, 0.0)?;
    let inside = n.call("minimum", [low, last])?;
    let inside = n.cast(inside, DType::INT64)?;
    n.call_with("take", [x.clone(), inside], &[("axis", (axis as i64).into()), ("mode", "clip".into())])
}

fn taps(n: &Node, of: &Axis, method: &Method) -> node::Result<Taps> {
    let reach = if method.mode == "cubic" { 2.0 } else { 1.0 };
    let squeeze = match (method.antialias, of.known) {
        (false, _) => 1.0,
        (true, Some(scale)) if scale > 1.0 / 64.0 => scale.min(1.0),
        _ => return n.error("filters of more than 64 times the distance of pixels are not supported"),
    };
    let first = (-reach / squeeze).floor() as i64 + 1;
    Ok(Taps { offsets: first..2 - first, squeeze, uneven: method.exclude || method.antialias })
}

fn interpolated(
    n: &mut Node,
    x: Operand,
    places: &Operand,
    width: &Operand,
    of: &Axis,
    method: &Method,
) -> node::Result<Operand> {
    let rank = n.rank(&x)?;
    let floor = n.call("floor", [places.clone()])?;
    let ratio = n.call("subtract", [places.clone(), floor.clone()])?;
    let taps = taps(n, of, method)?;
    let (mut sum, mut total) = (None, None);
    for offset in taps.offsets {
        let distance = n.with_number("subtract", &ratio, offset as f64)?;
        let distance = n.with_number("multiply", &distance, taps.squeeze)?;
        let mut weight = kernel(n, &distance, method)?;
        let at = n.with_number("add", &floor, offset as f64)?;
        if method.exclude {
            weight = inside_only(n, weight, &at, width)?;
        }
        let part = element(n, &x, at, width, of.axis)?;
        total = Some(n.plus(total, weight.clone())?);
        let weight = n.cast(weight, n.dtype(&x)?)?;
        let shape = n.beside(&of.size, of.axis, rank);
        let weight = n.reshape(weight, shape)?;
        let part = n.call("multiply", [part, weight])?;
        sum = Some(n.plus(sum, part)?);
    }
    let (Some(sum), Some(total)) = (sum, total) else { return Ok(x) };
    if !taps.uneven {
        return Ok(sum);
    }
    let total = n.cast(total, n.dtype(&x)?)?;
    let shape = n.beside(&of.size, of.axis, rank);
    let total = n.reshape(total, shape)?;
    n.call("divide", [sum, total])
}

/// Filters of dynamic width: a dense weight for each pair of output index and pixel, including the pixels beyond the
/// edges that any filter can reach.
fn filtered(
    n: &mut Node,
    x: Operand,
    places: &Operand,
    width: &Operand,
    of: &Axis,
    method: &Method,
) -> node::Result<Operand> {
    let own = n.dims(&x)?;
    let squeeze = n.with_number("minimum", &of.scale, 1.0)?;
    let pixels = dims::mul(&own[of.axis], &5i64.into());
    let counted = n.count_to(pixels)?;
    let counted = n.cast(counted, DType::FLOAT64)?;
    let first = n.with_number("multiply", width, 2.0)?;
    let pixels = n.call("subtract", [counted, first])?;
    let column = n.reshape(places.clone(), vec![of.size.clone(), 1i64.into()])?;
    let distance = n.call("subtract", [column, pixels.clone()])?;
    let distance = n.call("multiply", [distance, squeeze])?;
    let mut weight = kernel(n, &distance, method)?;
    if method.exclude {
        weight = inside_only(n, weight, &pixels, width)?;
    }
    let total = n.call_with("sum", [weight.clone()], &[("axis", vec![1i64].into()), ("keepdims", true.into())])?;
    let weight = n.call("divide", [weight, total])?;
    let weight = n.cast(weight, n.dtype(&x)?)?;
    let weight = n.call("permute_dims", [weight])?;
    // The axis is moved to the end for the matmul, and back.
    let mut order: Vec<usize> = (0..own.len()).collect();
    order.swap(of.axis, own.len() - 1);
    let shown = element(n, &x, pixels, width, of.axis)?;
    let shown = n.call_with("permute_dims", [shown], &[("axes", axes_attr(&order))])?;
    let y = n.call("matmul", [shown, weight])?;
    n.call_with("permute_dims", [y], &[("axes", axes_attr(&order))])
}

/// Zeroes the weights of pixels outside of the data.
fn inside_only(n: &mut Node, weight: Operand, at: &Operand, width: &Operand) -> node::Result<Operand> {
    let zero = n.number(0.0, &weight)?;
    let before = n.with_number("less", at, 0.0)?;
    let behind = n.call("greater_equal", [at.clone(), width.clone()])?;
    let out = n.call("logical_or", [before, behind])?;
    n.call("where", [out, zero, weight])
}

/// Filter weight at a distance: a triangle, or the cubic of Keys (1981), "Cubic convolution interpolation".
fn kernel(n: &mut Node, distance: &Operand, method: &Method) -> node::Result<Operand> {
    let d = n.call("abs", [distance.clone()])?;
    if method.mode == "linear" {
        let negative = n.call("negative", [d])?;
        let height = n.with_number("add", &negative, 1.0)?;
        return n.with_number("maximum", &height, 0.0);
    }
    let a = method.cubic;
    // Horner's scheme.
    let polynomial = |n: &mut Node, factors: [f64; 4]| {
        let mut sum = n.with_number("multiply", &d, factors[0])?;
        for factor in &factors[1..3] {
            sum = n.with_number("add", &sum, *factor)?;
            sum = n.call("multiply", [sum, d.clone()])?;
        }
        n.with_number("add", &sum, factors[3])
    };
    let near = polynomial(n, [a + 2.0, -(a + 3.0), 0.0, 1.0])?;
    let far = polynomial(n, [a, -5.0 * a, 8.0 * a, -4.0 * a])?;
    let zero = n.number(0.0, &d)?;
    let is_far = n.with_number("less", &d, 2.0)?;
    let far = n.call("where", [is_far, far, zero])?;
    let is_near = n.with_number("less_equal", &d, 1.0)?;
    n.call("where", [is_near, near, far])
}

impl Node<'_, '_> {
    /// Returns a shape of ones except for one axis.
    pub(super) fn beside(&self, size: &PrimExpr, axis: usize, rank: usize) -> Vec<PrimExpr> {
        let mut shape = vec![PrimExpr::int64(1); rank];
        shape[axis] = size.clone();
        shape
    }
}
