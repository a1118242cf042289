//! Reductions along axes.

use super::{Op, Result, dynamic_shape, op};
use crate::node::{self, Node, axes_attr};
use hammock_ir::{AttrValue, DType, relax::Operand};

pub const OPS: &[Op] = &[
    op("ReduceL1", |n| {
        accumulate(n, |n, x, over| {
            let size = n.call("abs", [x])?;
            n.call_with("sum", [size], over)
        })
    })
    .attributes("axes@-17 keepdims noop_with_empty_axes@18"),
    op("ReduceL2", |n| {
        accumulate_floats(n, |n, x, over| {
            let sum = square_sum(n, x, over)?;
            n.call("sqrt", [sum])
        })
    })
    .attributes("axes@-17 keepdims noop_with_empty_axes@18"),
    op("ReduceLogSum", |n| {
        accumulate_floats(n, |n, x, over| {
            let sum = n.call_with("sum", [x], over)?;
            n.call("log", [sum])
        })
    })
    .attributes("axes@-17 keepdims noop_with_empty_axes@18"),
    op("ReduceLogSumExp", |n| accumulate_floats(n, log_sum_exp))
        .attributes("axes@-17 keepdims noop_with_empty_axes@18"),
    op("ReduceMax", |n| reduce(n, |n, x, over| n.call_with("max", [x], over)))
        .attributes("axes@-17 keepdims noop_with_empty_axes@18"),
    op("ReduceMean", |n| reduce(n, |n, x, over| n.call_with("mean", [x], over)))
        .attributes("axes@-17 keepdims noop_with_empty_axes@18"),
    op("ReduceMin", |n| reduce(n, |n, x, over| n.call_with("min", [x], over)))
        .attributes("axes@-17 keepdims noop_with_empty_axes@18"),
    op("ReduceProd", |n| reduce(n, |n, x, over| n.call_with("prod", [x], over)))
        .attributes("axes@-17 keepdims noop_with_empty_axes@18"),
    op("ReduceSum", |n| reduce(n, |n, x, over| n.call_with("sum", [x], over)))
        .attributes("axes@-12 keepdims noop_with_empty_axes@13"),
    op("ReduceSumSquare", |n| accumulate(n, square_sum)).attributes("axes@-17 keepdims noop_with_empty_axes@18"),
];

/// Attributes `axis` and `keepdims`.
type Over<'a> = &'a [(&'static str, AttrValue)];

/// Axes are an attribute before version 18 (13 for sums), and an input since then; no axes means all.
fn reduce(n: &mut Node, compute: impl Fn(&mut Node, Operand, Over) -> node::Result<Operand>) -> Result {
    let keep = n.attrs.int_or("keepdims", 1)? != 0;
    let empty = n.has_no_elements(1)?;
    let given = match (n.attrs.has("axes"), empty) {
        (true, _) => n.attrs.ints("axes")?,
        (false, true) => None,
        (false, false) => match n.ints(1, "axes") {
            Ok(given) => given,
            Err(_) => return dynamic_shape::reduce(n, keep, compute),
        },
    };
    let nothing = n.attrs.flag("noop_with_empty_axes")?;
    let x = n.input(0)?;
    let rank = n.rank(&x)?;
    let axes = match given.filter(|axes| !axes.is_empty()) {
        Some(axes) => n.axes(&axes, rank)?,
        None if nothing => Vec::new(),
        None => (0..rank).collect(),
    };
    Ok(compute(n, x, &[("axis", axes_attr(&axes)), ("keepdims", keep.into())])?.into())
}

/// A reduction of several calls, in the accumulator dtype.
fn accumulate(n: &mut Node, compute: fn(&mut Node, Operand, Over) -> node::Result<Operand>) -> Result {
    reduce(n, |n, x, over| n.in_accumulator_dtype(x, |n, x| compute(n, x, over)))
}

/// The same for a float function; for integers, the result is truncated.
fn accumulate_floats(n: &mut Node, compute: fn(&mut Node, Operand, Over) -> node::Result<Operand>) -> Result {
    reduce(n, |n, x, over| {
        let dtype = n.dtype(&x)?;
        if dtype.is_floating() {
            return n.in_accumulator_dtype(x, |n, x| compute(n, x, over));
        }
        let x = n.cast(x, DType::FLOAT64)?;
        let y = compute(n, x, over)?;
        n.cast(y, dtype)
    })
}

fn square_sum(n: &mut Node, x: Operand, over: Over) -> node::Result<Operand> {
    let square = n.call("multiply", [x.clone(), x])?;
    n.call_with("sum", [square], over)
}

/// Subtracts the maximum first, so nothing overflows. An infinite maximum is not subtracted, which would give NaN.
fn log_sum_exp(n: &mut Node, x: Operand, over: Over) -> node::Result<Operand> {
    let [(_, axes), (_, keep)] = over else { return n.error("its axes are missing") };
    let keep_axes = [("axis", axes.clone()), ("keepdims", true.into())];
    let largest = n.call_with("max", [x.clone()], &keep_axes)?;
    let (zero, infinite) = (n.scalar_like(0.0, &x)?, n.call("isinf", [largest.clone()])?);
    let shift = n.call("where", [infinite, zero, largest])?;
    let less = n.call("subtract", [x, shift.clone()])?;
    let exp = n.call("exp", [less])?;
    let sum = n.call_with("sum", [exp], &keep_axes)?;
    let log = n.call("log", [sum])?;
    let y = n.call("add", [log, shift])?;
    match keep {
        AttrValue::Bool(true) => Ok(y),
        _ => n.call_with("squeeze", [y], &[("axis", axes.clone())]),
    }
}

impl Node<'_, '_> {
    /// Returns true if an input is present and statically empty.
    fn has_no_elements(&mut self, at: usize) -> node::Result<bool> {
        let Some(x) = self.optional(at)? else { return Ok(false) };
        Ok(self.dims(&x)?.iter().any(|size| hammock_ops::dims::is(size, 0)))
    }
}
