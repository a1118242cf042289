//! Signal processing: window functions, discrete Fourier transforms, mel filters.

mod algorithm;
mod bluestein;
mod definition;
mod dft;
mod fft;
mod plan;
mod real;
mod roots;
mod stft;

use super::{Op, Result, op};
use crate::node::{self, Node};
use hammock_ir::{DType, PrimExpr, relax::Operand};
use hammock_ops::dims;
use std::f64::consts::TAU;

pub const OPS: &[Op] = &[
    op("BlackmanWindow", |n| window(n, [0.42, 0.5, 0.08])).attributes("output_datatype periodic"),
    op("DFT", dft::dft).attributes("axis@-19 inverse onesided"),
    op("HammingWindow", |n| window(n, [25.0 / 46.0, 21.0 / 46.0, 0.0])).attributes("output_datatype periodic"),
    op("HannWindow", |n| window(n, [0.5, 0.5, 0.0])).attributes("output_datatype periodic"),
    op("MelWeightMatrix", mel_filters),
    op("STFT", stft::stft).attributes("onesided"),
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
