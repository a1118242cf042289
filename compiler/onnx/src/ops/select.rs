//! Selection: compress, hardmax, center crop, gated activations.

use super::{Op, Result, activation::axis_attr, op};
use crate::node::{Node, product};
use hammock_ir::{DType, PrimExpr, relax::Operand};

pub const OPS: &[Op] = &[
    op("CenterCropPad", center_crop_pad).attributes("axes"),
    op("Compress", compress).attributes("axis"),
    op("Hardmax", hardmax).attributes("axis"),
    op("SwiGLU", swiglu).attributes("alpha"),
];

/// Gathers the indices of an axis at which a condition holds.
fn compress(n: &mut Node) -> Result {
    let mut x = n.input(0)?;
    let condition = n.input(1)?;
    let axis = match n.attrs.int("axis")? {
        Some(axis) => n.axis(axis, n.rank(&x)?)?,
        None => {
            let count = product(&n.dims(&x)?);
            x = n.reshape(x, vec![count])?;
            0
        }
    };
    let indices = n.call("nonzero", [condition])?;
    let count = n.dims(&indices)?.swap_remove(1);
    let indices = n.reshape(indices, vec![count])?;
    Ok(n.call_with("take", [x, indices], &[("axis", axis_attr(axis))])?.into())
}

/// One for the first maximum, zero elsewhere. Before version 13, the axes from the given one on are collapsed.
fn hardmax(n: &mut Node) -> Result {
    let x = n.input(0)?;
    let own = n.dims(&x)?;
    let axis = n.attrs.int_or("axis", if n.opset < 13 { 1 } else { -1 })?;
    let axis = n.axis(axis, own.len())?;
    let (x, axis) = match n.opset {
        ..13 => (n.reshape(x, vec![product(&own[..axis]), product(&own[axis..])])?, 1),
        _ => (x, axis),
    };
    let dims = n.dims(&x)?;
    let largest = n.call_with("argmax", [x.clone()], &[("axis", axis_attr(axis)), ("keepdims", true.into())])?;
    let positions = n.arange(dims[axis].clone())?;
    let mut shape = vec![PrimExpr::int64(1); dims.len()];
    shape[axis] = dims[axis].clone();
    let positions = n.reshape(positions, shape)?;
    let largest = n.cast(largest, DType::INT64)?;
    let is_it = n.call("equal", [largest, positions])?;
    let y = n.cast(is_it, n.dtype(&x)?)?;
    Ok(n.reshape(y, own)?.into())
}

/// Crops each axis around its center, or pads it with zeros.
fn center_crop_pad(n: &mut Node) -> Result {
    let mut x = n.input(0)?;
    let shape = n.input_as_int64(1)?;
    let rank = n.rank(&x)?;
    let axes = match n.attrs.ints("axes")? {
        Some(axes) => n.axes(&axes, rank)?,
        None => (0..rank).collect(),
    };
    let zero = n.scalar_like(0.0, &x)?;
    let wanted = n.symbolic_dims(shape)?;
    if wanted.len() != axes.len() {
        return n.error("its shape has another number of sizes than there are axes");
    }
    for (axis, wanted) in axes.into_iter().zip(wanted) {
        let dims = n.dims(&x)?;
        let (size, asked) = (n.dims_vector(&dims[axis..=axis])?, n.dims_vector(std::slice::from_ref(&wanted))?);
        let less = n.call("subtract", [size.clone(), asked])?;
        // Integer division truncates.
        let offset = n.with_scalar("divide", &less, 2.0)?;
        let indices = n.arange(wanted.clone())?;
        let indices = n.call("add", [indices, offset])?;
        let low = n.with_scalar("maximum", &indices, 0.0)?;
        let last = n.with_scalar("subtract", &size, 1.0)?;
        let inside = n.call("minimum", [low, last])?;
        let clip = [("axis", axis_attr(axis)), ("mode", "clip".into())];
        x = n.call_with("take", [x, inside.clone()], &clip)?;
        let in_range = n.call("equal", [inside, indices])?;
        let mut shape = vec![PrimExpr::int64(1); rank];
        shape[axis] = wanted;
        let in_range = n.reshape(in_range, shape)?;
        x = n.call("where", [in_range, x, zero.clone()])?;
    }
    Ok(x.into())
}

/// `a * sigmoid(alpha * a) * b`
fn swiglu(n: &mut Node) -> Result {
    let alpha = n.attrs.float_or("alpha", 1.0)?;
    let (a, b) = (n.input(0)?, n.input(1)?);
    let scaled = if alpha == 1.0 { a.clone() } else { n.with_scalar("multiply", &a, alpha)? };
    let gate: Operand = n.call("sigmoid", [scaled])?;
    let swish = n.call("multiply", [a, gate])?;
    Ok(n.call("multiply", [swish, b])?.into())
}
