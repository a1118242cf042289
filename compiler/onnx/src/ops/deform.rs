//! Deformable convolution: samples each window element at its offset, then multiplies by the weight.

use super::{Op, Result, op, windows::Windows};
use crate::node::{self, Node, product};
use hammock_ir::{DType, PrimExpr, relax::Operand};
use hammock_ops::dims;

pub const OPS: &[Op] =
    &[op("DeformConv", deform_conv).attributes("dilations group kernel_shape offset_group pads strides")];

fn deform_conv(n: &mut Node) -> Result {
    let (x, weight, offset) = (n.input(0)?, n.input(1)?, n.input(2)?);
    let (sizes, shape, offset_dims) = (n.dims(&x)?, n.dims(&weight)?, n.dims(&offset)?);
    if sizes.len() != 4 || offset_dims.len() != 4 {
        return n.error("only images are supported");
    }
    let ints = |sizes: &[PrimExpr]| sizes.iter().map(PrimExpr::as_int).collect::<Option<Vec<i64>>>();
    let (Some(image), Some(shape)) = (ints(&sizes[1..]), ints(&shape)) else {
        return n.error("the sizes of its images and of its weight have to be known");
    };
    let ([channels, high, wide], [outputs, inner, rows, columns]) = (image.as_slice(), shape.as_slice()) else {
        return n.error("its weight has to have 4 dimensions");
    };
    let (groups, offset_groups) = (n.attrs.int_or("group", 1)?, n.attrs.int_or("offset_group", 1)?);
    let fits = groups > 0
        && offset_groups > 0
        && channels % offset_groups == 0
        && outputs % groups == 0
        && inner.checked_mul(groups) == Some(*channels);
    if !fits || *high < 2 || *wide < 2 {
        return n.error("its groups do not fit its channels, or its images have one row or column");
    }
    let kernel = [*rows, *columns];
    let windows = Windows::with_static_padding(n, &x, &kernel)?;
    let taps = rows * columns;
    let (batch, out) = (sizes[0].clone(), [offset_dims[2].clone(), offset_dims[3].clone()]);
    let parts = dims::mul(&batch, &offset_groups.into());
    let whole = [parts.clone(), taps.into(), 2i64.into(), out[0].clone(), out[1].clone()];
    let offset = n.reshape(offset, whole.to_vec())?;
    let mut coordinates = Vec::new();
    // `grid_sample` takes x first, normalized to [-1, 1].
    for (axis, size) in [(1usize, *wide), (0, *high)] {
        let at = node::scalar(axis as f64, DType::INT64)?;
        let offsets = n.call_with("take", [offset.clone(), at], &[("axis", 2i64.into())])?;
        let base = window_coordinates(n, &windows, kernel, axis, &out)?;
        let base = n.cast(base, n.dtype(&offsets)?)?;
        let coordinate = n.call("add", [offsets, base])?;
        let scaled = n.with_scalar("multiply", &coordinate, 2.0 / (size - 1) as f64)?;
        coordinates.push(n.with_scalar("subtract", &scaled, 1.0)?);
    }
    let grid = n.call_with("stack", [Operand::Tuple(coordinates)], &[("axis", 1i64.into())])?;
    let long = dims::mul(&PrimExpr::int64(taps), &out[0]);
    let grid = n.reshape(grid, vec![parts.clone(), 2i64.into(), long, out[1].clone()])?;
    let image = vec![parts, (channels / offset_groups).into(), (*high).into(), (*wide).into()];
    let x = n.reshape(x, image)?;
    let attrs = [("method", "bilinear".into()), ("padding_mode", "zeros".into()), ("align_corners", true.into())];
    let sampled = n.call_with("image.grid_sample", [x, grid], &attrs)?;
    let mut sampled = n.reshape(
        sampled,
        vec![
            batch.clone(),
            offset_groups.into(),
            (channels / offset_groups).into(),
            taps.into(),
            out[0].clone(),
            out[1].clone(),
        ],
    )?;
    if let Some(mask) = n.optional(4)? {
        let mask = n.reshape(
            mask,
            vec![batch.clone(), offset_groups.into(), 1i64.into(), taps.into(), out[0].clone(), out[1].clone()],
        )?;
        sampled = n.call("multiply", [sampled, mask])?;
    }
    let columns = vec![batch.clone(), groups.into(), (inner * taps).into(), product(&out)];
    let sampled = n.reshape(sampled, columns)?;
    let weight =
        n.reshape(weight, vec![1i64.into(), groups.into(), (outputs / groups).into(), (inner * taps).into()])?;
    let y = n.call("matmul", [weight, sampled])?;
    let y = n.reshape(y, vec![batch, (*outputs).into(), out[0].clone(), out[1].clone()])?;
    Ok(n.with_bias(y, 3, 2)?.into())
}

/// Returns the undeformed coordinates of window elements along an image axis, for each window element, output row and
/// output column.
fn window_coordinates(
    n: &mut Node,
    windows: &Windows,
    kernel: [i64; 2],
    axis: usize,
    out: &[PrimExpr; 2],
) -> node::Result<Operand> {
    let within = |tap: i64| if axis == 0 { tap / kernel[1] } else { tap % kernel[1] };
    let taps = kernel[0] * kernel[1];
    let inner = n.int64_vector((0..taps).map(|tap| within(tap) * windows.dilations[axis] - windows.pads[axis]))?;
    let inner = n.reshape(inner, vec![taps.into(), 1i64.into(), 1i64.into()])?;
    let counted = n.arange(out[axis].clone())?;
    let starts = n.with_scalar("multiply", &counted, windows.strides[axis] as f64)?;
    let shape = n.axis_shape(&out[axis], 1 + axis, 3);
    let starts = n.reshape(starts, shape)?;
    n.call("add", [inner, starts])
}
