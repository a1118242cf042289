//! Signal processing: window functions, discrete Fourier transforms, mel filters.

use super::{Op, Result, op};
use crate::node::{self, Node, product};
use hammock_ir::{DType, PrimExpr, TensorShape, TensorType, relax::Operand};
use hammock_ops::dims;
use std::f64::consts::TAU;

pub const OPS: &[Op] = &[
    op("BlackmanWindow", |n| window(n, [0.42, 0.5, 0.08])).attributes("output_datatype periodic"),
    op("DFT", dft).attributes("axis@-19 inverse onesided"),
    op("HammingWindow", |n| window(n, [25.0 / 46.0, 21.0 / 46.0, 0.0])).attributes("output_datatype periodic"),
    op("HannWindow", |n| window(n, [0.5, 0.5, 0.0])).attributes("output_datatype periodic"),
    op("MelWeightMatrix", mel_filters),
    op("STFT", stft).attributes("onesided"),
];

/// `a - b cos(2 pi i / n) + c cos(4 pi i / n)`
fn window(n: &mut Node, [a, b, c]: [f64; 3]) -> Result {
    let dtype = n.dtype_from_code(n.attrs.int_or("output_datatype", 1)?)?;
    let periodic = n.attrs.int_or("periodic", 1)? != 0;
    let size = n.input_as_int64(0)?;
    let count = n.symbolic_dims(size.clone())?;
    let [count] = count.as_slice() else { return n.error("its size has to be one number") };
    let positions = n.arange(count.clone())?;
    let positions = n.cast(positions, DType::FLOAT32)?;
    let size = n.cast(size, DType::FLOAT32)?;
    let period = if periodic { size } else { n.with_scalar("subtract", &size, 1.0)? };
    let turns = n.call("divide", [positions, period])?;
    let mut sum = n.scalar_like(a, &turns)?;
    for (factor, turns_each) in [(-b, TAU), (c, 2.0 * TAU)] {
        if factor != 0.0 {
            let angle = n.with_scalar("multiply", &turns, turns_each)?;
            let cosine = n.call("cos", [angle])?;
            let term = n.with_scalar("multiply", &cosine, factor)?;
            sum = n.call("add", [sum, term])?;
        }
    }
    Ok(n.cast(sum, dtype)?.into())
}

/// Triangular filters over the bins of a spectrum, with edges equidistant on the mel scale.
fn mel_filters(n: &mut Node) -> Result {
    let dtype = n.dtype_from_code(n.attrs.int_or("output_datatype", 1)?)?;
    let (filters, length) = (n.scalar_dim(0)?, n.scalar_dim(1)?);
    let edge = |n: &mut Node, at: usize| {
        let hertz = n.input(at)?;
        let hertz = n.reshape(hertz, Vec::new())?;
        let hertz = n.cast(hertz, DType::FLOAT64)?;
        let ratio = n.with_scalar("divide", &hertz, 700.0)?;
        let ratio = n.with_scalar("add", &ratio, 1.0)?;
        let log = n.call("log", [ratio])?;
        n.with_scalar("multiply", &log, 2595.0 / std::f64::consts::LN_10)
    };
    let (low, high) = (edge(n, 3)?, edge(n, 4)?);
    let span = n.call("subtract", [high, low.clone()])?;
    let edges = dims::offset(&filters, 2);
    let step = n.divide_by_dim(span, &edges)?;
    let counted = n.arange(edges)?;
    let counted = n.cast(counted, DType::FLOAT64)?;
    let mels = n.call("multiply", [counted, step])?;
    let mels = n.call("add", [mels, low])?;
    let decades = n.with_scalar("divide", &mels, 2595.0)?;
    let ten = node::scalar(10.0, DType::FLOAT64)?;
    let ratio = n.call("power", [ten, decades])?;
    let ratio = n.with_scalar("subtract", &ratio, 1.0)?;
    let hertz = n.with_scalar("multiply", &ratio, 700.0)?;
    let samples = n.dims_vector(&[dims::offset(&length, 1)])?;
    let samples = n.cast(samples, DType::FLOAT64)?;
    let scaled = n.call("multiply", [hertz, samples])?;
    let rate = n.input(2)?;
    let rate = n.reshape(rate, Vec::new())?;
    let rate = n.cast(rate, DType::FLOAT64)?;
    let bins = n.call("floor_divide", [scaled, rate])?;
    let [left, centre, right] =
        [0i64, 1, 2].map(|from| n.strided_slice(bins.clone(), 0, from.into(), dims::offset(&filters, from), 1));
    let (left, centre, right) = (left?, centre?, right?);
    let count = dims::offset(&dims::floordiv(&length, &2i64.into()), 1);
    let bin = n.arange(count.clone())?;
    let bin = n.reshape(bin, vec![count, 1i64.into()])?;
    let bin = n.cast(bin, DType::FLOAT64)?;
    let (rise, fall) = (n.slope(&bin, &left, &centre)?, n.slope(&bin, &right, &centre)?);
    let one = node::scalar(1.0, DType::FLOAT64)?;
    let peak = n.call("equal", [bin.clone(), centre.clone()])?;
    let inside = |n: &mut Node, op: &'static str, edge: &Operand, value: Operand| {
        let within = n.call(op, [bin.clone(), edge.clone()])?;
        let zero = node::scalar(0.0, DType::FLOAT64)?;
        n.call("where", [within, value, zero])
    };
    let (rise, fall) = (inside(n, "greater_equal", &left, rise)?, inside(n, "less", &right, fall)?);
    let before = n.call("less", [bin, centre])?;
    let weights = n.call("where", [before, rise, fall])?;
    let weights = n.call("where", [peak, one, weights])?;
    Ok(n.cast(weights, dtype)?.into())
}

/// Discrete Fourier transform, as matmuls with the DFT matrices.
fn dft(n: &mut Node) -> Result {
    let x = n.input(0)?;
    let rank = n.rank(&x)?;
    if n.opset < 20 {
        let axis = n.axis(n.attrs.int_or("axis", 1)?, rank)?;
        return Ok(dft_along(n, axis)?.into());
    }
    match n.ints(2, "axis") {
        Ok(axis) => {
            let axis = n.axis(axis.and_then(|axis| axis.first().copied()).unwrap_or(-2), rank)?;
            Ok(dft_along(n, axis)?.into())
        }
        Err(_) if !n.attrs.flag("onesided")? && n.given(1).is_none() && rank > 1 => {
            super::dynamic_shape::select_axis(n, 2, rank, rank - 1, dft_along)
        }
        Err(error) => Err(error),
    }
}

fn dft_along(n: &mut Node, axis: usize) -> node::Result<Operand> {
    let (inverse, half) = (n.attrs.flag("inverse")?, n.attrs.flag("onesided")?);
    let x = n.input(0)?;
    let rank = n.rank(&x)?;
    if rank < 2 || axis == rank - 1 {
        return n.error("its axis is that of the real and imaginary parts");
    }
    let mut order: Vec<i64> = (0..rank as i64).filter(|at| *at != axis as i64).collect();
    order.push(axis as i64);
    // Real and imaginary parts become the first axis, the transformed axis the last.
    let parts = order.remove(rank - 2);
    order.insert(0, parts);
    let x = n.call_with("permute_dims", [x], &[("axes", order.clone().into())])?;
    let dims = n.dims(&x)?;
    let size = &dims[rank - 1];
    let length = match n.given(1) {
        Some(_) => n.scalar_dim(1)?,
        None if inverse && half => dims::mul(&dims::offset(size, -1), &2i64.into()),
        None => size.clone(),
    };
    if length.as_int().is_some_and(|length| !(1..1 << 31).contains(&length)) {
        return n.error(format!("its length is {length}, and has to be at least 1 and less than 2^31"));
    }
    let half_length = dims::offset(&dims::floordiv(&length, &2i64.into()), 1);
    let x = crop_or_pad(n, x, size, if inverse && half { &half_length } else { &length })?;
    let real = component(n, &x, 0, 0)?;
    let imaginary = if dims[0].as_int() == Some(2) { Some(component(n, &x, 0, 1)?) } else { None };
    let y = if inverse && half {
        let Some(imaginary) = imaginary else { return n.error("a one-sided spectrum needs real and imaginary parts") };
        let sum = inverse_real_dft(n, real, imaginary, &length)?;
        n.call_with("expand_dims", [sum], &[("axis", vec![0i64].into())])?
    } else {
        let matrices = dft_matrices(n, &length, if half { &half_length } else { &length }, &length, n.dtype(&real)?)?;
        let (re, im) = apply_dft(n, real, imaginary, matrices, inverse)?;
        n.call_with("stack", [Operand::Tuple(vec![re, im])], &[("axis", 0i64.into())])?
    };
    let y = if inverse { n.divide_by_dim(y, &length)? } else { y };
    let mut back = vec![0i64; rank];
    order.iter().enumerate().for_each(|(at, axis)| back[*axis as usize] = at as i64);
    n.call_with("permute_dims", [y], &[("axes", back.into())])
}

/// Selects the real or imaginary part.
fn component(n: &mut Node, x: &Operand, axis: usize, at: i64) -> node::Result<Operand> {
    let at = node::scalar(at as f64, DType::INT64)?;
    n.call_with("take", [x.clone(), at], &[("axis", (axis as i64).into())])
}

/// Multiplies complex signals along the last axis by the DFT matrices.
fn apply_dft(
    n: &mut Node,
    real: Operand,
    imaginary: Option<Operand>,
    (cos, sin): (Operand, Operand),
    inverse: bool,
) -> node::Result<(Operand, Operand)> {
    let matmul = |n: &mut Node, x: &Operand, by: &Operand| n.call("matmul", [x.clone(), by.clone()]);
    let (mut re, mut im) = (matmul(n, &real, &cos)?, matmul(n, &real, &sin)?);
    if !inverse {
        im = n.call("negative", [im])?;
    }
    if let Some(imaginary) = imaginary {
        let (across, along) = (matmul(n, &imaginary, &sin)?, matmul(n, &imaginary, &cos)?);
        re = n.call(if inverse { "subtract" } else { "add" }, [re, across])?;
        im = n.call("add", [im, along])?;
    }
    Ok((re, im))
}

/// Inverse transform of a one-sided spectrum to a real signal, not yet divided by its length.
fn inverse_real_dft(n: &mut Node, real: Operand, imaginary: Operand, length: &PrimExpr) -> node::Result<Operand> {
    let dtype = n.dtype(&real)?;
    let half_length = dims::offset(&dims::floordiv(length, &2i64.into()), 1);
    let (cos, sin) = dft_matrices(n, &half_length, length, length, dtype)?;
    // Bins other than DC and Nyquist also stand for their conjugates.
    let bins = n.arange(half_length)?;
    let twice = n.with_scalar("multiply", &bins, 2.0)?;
    let whole = n.dims_vector(std::slice::from_ref(length))?;
    let rest = n.call("floor_mod", [twice, whole])?;
    let mirrored = n.with_scalar("not_equal", &rest, 0.0)?;
    let (one, two) = (node::scalar(1.0, dtype)?, node::scalar(2.0, dtype)?);
    let weights = n.call("where", [mirrored, two, one])?;
    let (real, imaginary) = (n.call("multiply", [real, weights.clone()])?, n.call("multiply", [imaginary, weights])?);
    let (re, im) = (n.call("matmul", [real, cos])?, n.call("matmul", [imaginary, sin])?);
    n.call("subtract", [re, im])
}

/// Short-time Fourier transform: transforms of overlapping frames.
fn stft(n: &mut Node) -> Result {
    let signal = n.input(0)?;
    let sizes = n.dims(&signal)?;
    let [_, total, parts] = sizes.as_slice() else { return n.error("its signal has to have 3 dimensions") };
    let window = n.optional(2)?;
    let length = match (n.given(3).is_some(), &window) {
        (true, _) => n.scalar_dim(3)?,
        (false, Some(window)) => product(&n.dims(window)?),
        (false, None) => return n.error("it has neither a window nor a length of frames"),
    };
    let step = n.input_as_int64(1)?;
    let step = n.reshape(step, vec![1i64.into()])?;
    let room = n.dims_vector(&[dims::sub(total, &length)])?;
    let count = n.call("floor_divide", [room, step.clone()])?;
    let count = n.with_scalar("add", &count, 1.0)?;
    let count = n.symbolic_dims(count)?.swap_remove(0);
    let starts = n.arange(count.clone())?;
    let starts = n.call("multiply", [starts, step])?;
    let starts = n.reshape(starts, vec![count, 1i64.into()])?;
    let inner = n.arange(length.clone())?;
    let indices = n.call("add", [starts, inner])?;
    let frames = n.call_with("take", [signal.clone(), indices], &[("axis", 1i64.into())])?;
    let dtype = n.dtype(&signal)?;
    let mut of_part = |at: i64| {
        let part = component(n, &frames, 3, at)?;
        match &window {
            Some(window) => n.call("multiply", [part, window.clone()]),
            None => Ok(part),
        }
    };
    let real = of_part(0)?;
    let imaginary = if dims::is(parts, 2) { Some(of_part(1)?) } else { None };
    let half = n.attrs.int_or("onesided", 1)? != 0;
    let half_length = dims::add(&dims::floordiv(&length, &2i64.into()), &1i64.into());
    let matrices = dft_matrices(n, &length, if half { &half_length } else { &length }, &length, dtype)?;
    let (re, im) = apply_dft(n, real, imaginary, matrices, false)?;
    Ok(n.call_with("stack", [Operand::Tuple(vec![re, im])], &[("axis", 3i64.into())])?.into())
}

/// Crops or zero-pads the last axis to a length.
fn crop_or_pad(n: &mut Node, x: Operand, size: &PrimExpr, length: &PrimExpr) -> node::Result<Operand> {
    let mut shape = n.dims(&x)?;
    let last = shape.len() - 1;
    if dims::equal(size, length) == Some(true) {
        return Ok(x);
    }
    let shorter = dims::at_least(size, length) == Some(true);
    let x = if shorter { x } else { n.append_zeros(x, last, length)? };
    let x = n.strided_slice(x, last, 0i64.into(), length.clone(), 1)?;
    let ty = n.importer.build.tensor(&x)?;
    shape[last] = length.clone();
    if ty.shape.dims().is_some_and(|own| dims::all_equal(own, &shape)) {
        return Ok(x);
    }
    n.importer.build.match_cast(x, TensorType { shape: TensorShape::Known(shape.into()), ..ty }.into())
}

/// Returns the DFT matrices: cosine and sine of `2 pi i k / length` for row `i` and column `k`.
fn dft_matrices(
    n: &mut Node,
    rows: &PrimExpr,
    columns: &PrimExpr,
    length: &PrimExpr,
    dtype: DType,
) -> node::Result<(Operand, Operand)> {
    let length = n.dims_vector(std::slice::from_ref(length))?;
    let counted = n.arange(rows.clone())?;
    let counted = n.reshape(counted, vec![rows.clone(), 1i64.into()])?;
    let across = n.arange(columns.clone())?;
    let products = n.call("multiply", [counted, across])?;
    // Reduced modulo the length, so large products lose no precision.
    let turns = n.call("floor_mod", [products, length.clone()])?;
    let (turns, length) = (n.cast(turns, DType::FLOAT64)?, n.cast(length, DType::FLOAT64)?);
    let turns = n.call("divide", [turns, length])?;
    let angles = n.with_scalar("multiply", &turns, TAU)?;
    let (cos, sin) = (n.call("cos", [angles.clone()])?, n.call("sin", [angles])?);
    Ok((n.cast(cos, dtype)?, n.cast(sin, dtype)?))
}

impl Node<'_, '_> {
    /// Appends `length` zeros to an axis.
    fn append_zeros(&mut self, x: Operand, axis: usize, length: &PrimExpr) -> node::Result<Operand> {
        let mut shape = self.dims(&x)?;
        shape[axis] = length.clone();
        let zero = self.scalar_like(0.0, &x)?;
        let zeros = self.call("full", [Operand::Shape(shape), zero])?;
        self.call_with("concat", [Operand::Tuple(vec![x, zeros])], &[("axis", (axis as i64).into())])
    }

    /// `(x - from) / (to - from)`
    fn slope(&mut self, x: &Operand, from: &Operand, to: &Operand) -> node::Result<Operand> {
        let (way, whole) =
            (self.call("subtract", [x.clone(), from.clone()])?, self.call("subtract", [to.clone(), from.clone()])?);
        self.call("divide", [way, whole])
    }

    /// `x / size`
    fn divide_by_dim(&mut self, x: Operand, size: &PrimExpr) -> node::Result<Operand> {
        if let Some(size) = size.as_int() {
            return self.with_scalar("divide", &x, size as f64);
        }
        let size = self.dims_vector(std::slice::from_ref(size))?;
        let size = self.cast(size, self.dtype(&x)?)?;
        self.call("divide", [x, size])
    }

    /// Returns the dimension in a scalar input.
    fn scalar_dim(&mut self, at: usize) -> node::Result<PrimExpr> {
        if let Ok(Some(known)) = self.ints(at, "size")
            && let [size] = known.as_slice()
        {
            return Ok(PrimExpr::int64((*size).clamp(0, 1 << 31)));
        }
        let size = self.input_as_int64(at)?;
        match self.symbolic_dims(size)?.as_slice() {
            [size] => Ok(size.clone()),
            _ => self.error("its size has to be one number"),
        }
    }
}
