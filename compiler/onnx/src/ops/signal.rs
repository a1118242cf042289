//! Signals: windows and discrete Fourier transforms.

use super::{Op, Result, op};
use crate::node::{self, Node};
use hammock_ir::{DType, PrimExpr, relax::Operand};
use std::f64::consts::TAU;

pub const OPS: &[Op] = &[
    op("BlackmanWindow", |n| window(n, [0.42, 0.5, 0.08])),
    op("DFT", transform),
    op("HammingWindow", |n| window(n, [25.0 / 46.0, 21.0 / 46.0, 0.0])),
    op("HannWindow", |n| window(n, [0.5, 0.5, 0.0])),
];

/// `a - b cos(2 pi i / n) + c cos(4 pi i / n)`
fn window(n: &mut Node, [a, b, c]: [f64; 3]) -> Result {
    let dtype = n.numbered_dtype(n.attrs.int_or("output_datatype", 1)?)?;
    let periodic = n.attrs.int_or("periodic", 1)? != 0;
    let size = n.int64(0)?;
    let count = n.sizes_of(size.clone())?;
    let [count] = count.as_slice() else { return n.error("its size has to be one number") };
    let places = n.count_to(count.clone())?;
    let places = n.cast(places, DType::FLOAT32)?;
    let size = n.cast(size, DType::FLOAT32)?;
    let period = if periodic { size } else { n.with_number("subtract", &size, 1.0)? };
    let turns = n.call("divide", [places, period])?;
    let mut sum = n.number(a, &turns)?;
    for (factor, turns_each) in [(-b, TAU), (c, 2.0 * TAU)] {
        if factor != 0.0 {
            let angle = n.with_number("multiply", &turns, turns_each)?;
            let cosine = n.call("cos", [angle])?;
            let term = n.with_number("multiply", &cosine, factor)?;
            sum = n.call("add", [sum, term])?;
        }
    }
    Ok(n.cast(sum, dtype)?.into())
}

/// Products with the matrices of cosines and sines.
fn transform(n: &mut Node) -> Result {
    let (inverse, half) = (n.attrs.flag("inverse")?, n.attrs.flag("onesided")?);
    if inverse && half {
        return n.error("the inverse of a half of a transform is not supported");
    }
    let x = n.input(0)?;
    let rank = n.rank(&x)?;
    let axis = match n.opset {
        ..20 => n.attrs.int_or("axis", 1)?,
        _ => n.ints(2, "axis")?.and_then(|axis| axis.first().copied()).unwrap_or(-2),
    };
    let axis = n.axis(axis, rank)?;
    if rank < 2 || axis == rank - 1 {
        return n.error("its axis is that of the parts of numbers");
    }
    let mut order: Vec<i64> = (0..rank as i64).filter(|at| *at != axis as i64).collect();
    order.push(axis as i64);
    // Parts of numbers come first of what is left, the axis last.
    let parts = order.remove(rank - 2);
    order.insert(0, parts);
    let x = n.call_with("permute_dims", [x], &[("axes", order.clone().into())])?;
    let dims = n.dims(&x)?;
    let size = dims[rank - 1].as_int();
    let length = n.ints(1, "dft_length")?.and_then(|length| length.first().copied()).or(size);
    let (Some(size), Some(length)) = (size, length.filter(|length| (1..1 << 31).contains(length))) else {
        return n.error("its length has to be known when the model is compiled");
    };
    let x = fitted(n, x, size, length)?;
    let part = |n: &mut Node, at: i64| {
        let at = node::number(at as f64, DType::INT64)?;
        n.call_with("take", [x.clone(), at], &[("axis", 0i64.into())])
    };
    let real = part(n, 0)?;
    let imaginary = if dims[0].as_int() == Some(2) { Some(part(n, 1)?) } else { None };
    let kept = if half { length / 2 + 1 } else { length };
    let (cos, sin) = matrices(n, length, kept, n.dtype(&real)?)?;
    let product = |n: &mut Node, x: &Operand, by: &Operand| n.call("matmul", [x.clone(), by.clone()]);
    let (mut re, mut im) = (product(n, &real, &cos)?, product(n, &real, &sin)?);
    if !inverse {
        im = n.call("negative", [im])?;
    }
    if let Some(imaginary) = imaginary {
        let (across, along) = (product(n, &imaginary, &sin)?, product(n, &imaginary, &cos)?);
        re = n.call(if inverse { "subtract" } else { "add" }, [re, across])?;
        im = n.call("add", [im, along])?;
    }
    let y = n.call_with("stack", [Operand::Tuple(vec![re, im])], &[("axis", 0i64.into())])?;
    let y = if inverse { n.with_number("divide", &y, length as f64)? } else { y };
    let mut back = vec![0i64; rank];
    order.iter().enumerate().for_each(|(at, axis)| back[*axis as usize] = at as i64);
    Ok(n.call_with("permute_dims", [y], &[("axes", back.into())])?.into())
}

/// The last axis cut or filled with zeros to a length.
fn fitted(n: &mut Node, x: Operand, size: i64, length: i64) -> node::Result<Operand> {
    let last = n.rank(&x)? - 1;
    if length < size {
        let prims = |v: i64| Operand::Tuple(vec![Operand::int(v)]);
        return n.call("strided_slice", [x, prims(last as i64), prims(0), prims(length), prims(1)]);
    }
    if length == size {
        return Ok(x);
    }
    let mut widths = vec![0i64; 2 * last + 2];
    widths[2 * last + 1] = length - size;
    n.call_with("nn.pad", [x], &[("pad_width", widths.into())])
}

/// Cosines and sines of `2 pi i k / length`, which are computed from the remainder of `i k`.
fn matrices(n: &mut Node, length: i64, kept: i64, dtype: DType) -> node::Result<(Operand, Operand)> {
    let rows = n.count_to(PrimExpr::int64(length))?;
    let rows = n.reshape(rows, vec![length.into(), 1i64.into()])?;
    let columns = n.count_to(PrimExpr::int64(kept))?;
    let products = n.call("multiply", [rows, columns])?;
    let turns = n.with_number("floor_mod", &products, length as f64)?;
    let turns = n.cast(turns, DType::FLOAT64)?;
    let angles = n.with_number("multiply", &turns, TAU / length as f64)?;
    let (cos, sin) = (n.call("cos", [angles.clone()])?, n.call("sin", [angles])?);
    Ok((n.cast(cos, dtype)?, n.cast(sin, dtype)?))
}
