//! Padding, with static or dynamic widths.

use super::{Op, Result, op};
use crate::node::{self, Node};
use hammock_ir::{DType, PrimExpr, relax::Operand};
use hammock_ops::dims;

pub const OPS: &[Op] = &[op("Pad", pad).attributes("mode paddings@-1 pads@2-10 value@-10")];

/// `pads` has the widths before each axis, then after each. Since version 18, `axes` may select some.
fn pad(n: &mut Node) -> Result {
    let x = n.input(0)?;
    let rank = n.rank(&x)?;
    let mode = match n.attrs.str_or("mode", "constant")? {
        "edge" => "replicate",
        "wrap" => "circular",
        other => other,
    };
    let axes = match if n.opset < 18 { Ok(None) } else { n.ints(3, "axes") } {
        Ok(Some(axes)) => n.axes(&axes, rank)?,
        Ok(None) => (0..rank).collect(),
        Err(_) => {
            let pads = pads_of_all_axes(n, rank)?;
            return pad_by_gather(n, x, pads, &(0..rank).collect::<Vec<_>>(), mode);
        }
    };
    let value =
        if n.opset < 11 { Some(vec![n.attrs.float_or("value", 0.0)?]) } else { n.floats(2, "value").ok().flatten() };
    let plain = value.is_some() || n.opset < 11 || n.given(2).is_none();
    let name = if n.opset < 2 { "paddings" } else { "pads" };
    let (Ok(given), true) = (n.ints_since(11, 1, name), plain) else {
        let pads = n.input_as_int64(1)?;
        return pad_by_gather(n, x, pads, &axes, mode);
    };
    let Some(given) = given else { return n.error("its `pads` are missing") };
    if given.len() != 2 * axes.len() {
        return n.error(format!("its `pads` are {} numbers, not {}", given.len(), 2 * axes.len()));
    }
    if given.iter().any(|width| width.unsigned_abs() > 1 << 31) {
        return n.error("its `pads` are too large");
    }
    let value = value.and_then(|value| value.first().copied()).unwrap_or(0.0);
    let mut widths = vec![0i64; 2 * rank];
    let sizes = n.dims(&x)?;
    for (at, axis) in axes.iter().enumerate() {
        let width = given[at].max(given[at + axes.len()]);
        if mode == "reflect" && sizes[*axis].as_int().is_some_and(|size| width >= size.max(1)) {
            let size = node::shown_size(&sizes[*axis]);
            return n.error(format!("it reflects {width} elements of axis {axis}, whose size is only {size}"));
        }
        if mode == "reflect" && width > 0 && sizes[*axis].as_int().is_none() {
            n.expect_at_least(&sizes[*axis], width + 1)?;
        }
        (widths[2 * axis], widths[2 * axis + 1]) = (given[at], given[at + axes.len()]);
    }
    let attrs = [("pad_width", widths.into()), ("pad_mode", mode.into()), ("pad_value", value.into())];
    Ok(n.call_with("nn.pad", [x], &attrs)?.into())
}

/// Expands the pads of dynamic `axes` to all axes.
fn pads_of_all_axes(n: &mut Node, rank: usize) -> node::Result<Operand> {
    let before = n.normalize_axes(3, rank)?;
    let behind = n.with_scalar("add", &before, rank as f64)?;
    let along = [("axis", 0i64.into())];
    let indices = n.call_with("concat", [Operand::Tuple(vec![before, behind])], &along)?;
    let (none, given) = (n.int64_vector(vec![0; 2 * rank])?, n.input_as_int64(1)?);
    n.call_with("scatter_elements", [none, indices, given], &along)
}

/// Checks a reflected width at run time: it must be less than the axis. Negative widths crop.
fn check_reflected(n: &mut Node, width: Operand, size: &PrimExpr) -> node::Result<Operand> {
    let zero = node::scalar(0.0, DType::INT64)?;
    let added = n.call("maximum", [width.clone(), zero.clone()])?;
    // An empty axis cannot be reflected.
    let most = dims::max(&dims::offset(size, -1), &0i64.into());
    let checked = n.check_lengths(added, &most)?;
    let cropped = n.call("minimum", [width, zero])?;
    n.call("add", [checked, cropped])
}

/// Pads by a gather along each axis, with indices computed at run time.
fn pad_by_gather(n: &mut Node, mut x: Operand, pads: Operand, axes: &[usize], mode: &str) -> Result {
    let value = match n.optional(2)? {
        Some(value) => n.reshape(value, Vec::new())?,
        None => n.scalar_like(0.0, &x)?,
    };
    for (at, axis) in axes.iter().enumerate() {
        let dims = n.dims(&x)?;
        let size = n.dims_vector(&dims[*axis..=*axis])?;
        let width = |n: &mut Node, at: usize| {
            let at = n.int64_vector([at as i64])?;
            n.call_with("take", [pads.clone(), at], &[("axis", 0i64.into())])
        };
        let (mut before, mut behind) = (width(n, at)?, width(n, at + axes.len())?);
        if mode == "reflect" {
            before = check_reflected(n, before, &dims[*axis])?;
            behind = check_reflected(n, behind, &dims[*axis])?;
        }
        let length = n.call("add", [size.clone(), before.clone()])?;
        let length = n.call("add", [length, behind])?;
        let length = n.symbolic_dims(length)?;
        let indices = n.arange(length[0].clone())?;
        let indices = n.call("subtract", [indices, before])?;
        let zero = node::scalar(0.0, DType::INT64)?;
        let last = n.with_scalar("subtract", &size, 1.0)?;
        let inside = |n: &mut Node, indices: &Operand| {
            let low = n.call("maximum", [indices.clone(), zero.clone()])?;
            n.call("minimum", [low, last.clone()])
        };
        let from = match mode {
            "reflect" => {
                let period = n.with_scalar("multiply", &last, 2.0)?;
                let period = n.with_scalar("maximum", &period, 1.0)?;
                let index = n.call("floor_mod", [indices.clone(), period.clone()])?;
                let back = n.call("subtract", [period, index.clone()])?;
                n.call("minimum", [index, back])?
            }
            "circular" => {
                let size = n.with_scalar("maximum", &size, 1.0)?;
                n.call("floor_mod", [indices.clone(), size])?
            }
            _ => inside(n, &indices)?,
        };
        // For an empty axis, all modes but `constant` gather out of range, which is an error.
        let outside = if mode == "constant" { "clip" } else { "fast" };
        x = n.call_with("take", [x, from], &[("axis", (*axis as i64).into()), ("mode", outside.into())])?;
        if mode == "constant" {
            let in_range = inside(n, &indices)?;
            let in_range = n.call("equal", [in_range, indices])?;
            let mut shape = vec![1i64.into(); dims.len()];
            shape[*axis] = length[0].clone();
            let in_range = n.reshape(in_range, shape)?;
            x = n.call("where", [in_range, x, value.clone()])?;
        }
    }
    Ok(x.into())
}
