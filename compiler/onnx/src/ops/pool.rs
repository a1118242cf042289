//! Pooling.

use super::{
    Op, Result, op,
    pool_indices::{lowest_value, max_pool_with_indices},
    windows::Windows,
};
use crate::node::{self, Node, axes_attr};
use hammock_ir::{PrimExpr, relax::Operand};

pub const OPS: &[Op] = &[
    op("AveragePool", |n| pool(n, ["nn.avg_pool1d", "nn.avg_pool2d", "nn.avg_pool3d"]))
        .attributes("auto_pad ceil_mode@10 count_include_pad dilations@19 kernel_shape pads strides"),
    op("GlobalAveragePool", |n| global(n, "mean")),
    op("GlobalMaxPool", |n| global(n, "max")),
    op("LpPool", lp_pool).attributes("auto_pad ceil_mode@18 dilations@18 kernel_shape p pads strides"),
    op("GlobalLpPool", global_lp).attributes("p"),
    op("MaxPool", |n| pool(n, ["nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d"]))
        .attributes("auto_pad ceil_mode@10 dilations@10 kernel_shape pads storage_order@8 strides"),
];

fn pool(n: &mut Node, ours: [&'static str; 3]) -> Result {
    let x = n.input(0)?;
    let Some(kernel) = n.attrs.ints("kernel_shape")? else { return n.error("its `kernel_shape` is missing") };
    let ours = match kernel.len().checked_sub(1).and_then(|at| ours.get(at)) {
        Some(ours) => *ours,
        None => return n.error(format!("poolings of {} spatial dimensions are not supported", kernel.len())),
    };
    let windows = Windows::from_attributes(n, &x, &kernel)?;
    if n.outputs > 1 && ours.starts_with("nn.max") {
        return max_pool_with_indices(n, x, &kernel, windows);
    }
    let (mean, whole) = (ours.starts_with("nn.avg"), n.attrs.flag("count_include_pad")?);
    let attrs = [
        ("pool_size", kernel.into()),
        ("strides", windows.strides.clone().into()),
        ("padding", windows.pads.clone().into()),
        ("dilation", windows.dilations.clone().into()),
        ("ceil_mode", n.attrs.flag("ceil_mode")?.into()),
        ("count_include_pad", whole.into()),
    ];
    if windows.dynamic.is_empty() {
        return Ok(n.call_with(ours, [x], &attrs)?.into());
    }
    let sizes = n.dims(&x)?;
    let fill = if mean { 0.0 } else { lowest_value(n, &x)? };
    let one = n.scalar_like(1.0, &x)?;
    let padded = windows.pad_dynamic(n, x, fill)?;
    let mut y = n.call_with(ours, [padded], &attrs)?;
    if mean && !whole {
        // The mean of ones is the fraction of a window that is not padding.
        let ones = [&vec![PrimExpr::int64(1); 2], &sizes[2..]].concat();
        let ones = n.call("full", [Operand::Shape(ones), one])?;
        let ones = windows.pad_dynamic(n, ones, 0.0)?;
        let share = n.call_with(ours, [ones], &attrs)?;
        let share = windows.cast_counts(n, share)?;
        y = windows.cast_counts(n, y)?;
        return Ok(n.call("divide", [y, share])?.into());
    }
    Ok(windows.cast_counts(n, y)?.into())
}

fn global(n: &mut Node, ours: &'static str) -> Result {
    let x = n.input(0)?;
    let axes: Vec<usize> = (2..n.rank(&x)?).collect();
    Ok(n.call_with(ours, [x], &[("axis", axes_attr(&axes)), ("keepdims", true.into())])?.into())
}

/// p-norm of each window, from the mean of `|x|^p` times the window size.
fn lp_pool(n: &mut Node) -> Result {
    let p = norm_order(n)?;
    let x = n.input(0)?;
    let Some(kernel) = n.attrs.ints("kernel_shape")? else { return n.error("its `kernel_shape` is missing") };
    let ours = match kernel.len() {
        1 => "nn.avg_pool1d",
        2 => "nn.avg_pool2d",
        3 => "nn.avg_pool3d",
        other => return n.error(format!("poolings of {other} spatial dimensions are not supported")),
    };
    let windows = Windows::from_attributes(n, &x, &kernel)?;
    let count = kernel.iter().map(|size| *size as f64).product::<f64>();
    let mut pads = windows.pads.clone();
    if n.attrs.flag("ceil_mode")? {
        // Zeros after the data, for partial windows.
        pads[kernel.len()..].iter_mut().zip(&windows.strides).for_each(|(pad, stride)| *pad += stride - 1);
    }
    let attrs = [
        ("pool_size", kernel.into()),
        ("strides", windows.strides.clone().into()),
        ("padding", pads.into()),
        ("dilation", windows.dilations.clone().into()),
        ("count_include_pad", true.into()),
    ];
    let y = n.in_accumulator_dtype(x, |n, x| {
        let powers = n.abs_power(&x, p)?;
        let powers = windows.pad_dynamic(n, powers, 0.0)?;
        let mean = n.call_with(ours, [powers], &attrs)?;
        let mean = windows.cast_counts(n, mean)?;
        let mean = windows.crop_to_data(n, &x, mean)?;
        let sum = n.with_scalar("multiply", &mean, count)?;
        n.with_scalar("power", &sum, 1.0 / p)
    })?;
    Ok(y.into())
}

/// Returns the order of a norm, which is a float in version 1.
fn norm_order(n: &Node) -> node::Result<f64> {
    if n.opset < 2 { n.attrs.float_or("p", 2.0) } else { Ok(n.attrs.int_or("p", 2)? as f64) }
}

fn global_lp(n: &mut Node) -> Result {
    let p = norm_order(n)?;
    let x = n.input(0)?;
    let axes: Vec<usize> = (2..n.rank(&x)?).collect();
    let y = n.in_accumulator_dtype(x, |n, x| {
        let powers = n.abs_power(&x, p)?;
        let sum = n.call_with("sum", [powers], &[("axis", axes_attr(&axes)), ("keepdims", true.into())])?;
        n.with_scalar("power", &sum, 1.0 / p)
    })?;
    Ok(y.into())
}

impl Node<'_, '_> {
    /// `|x| ^ p`
    pub(super) fn abs_power(&mut self, x: &Operand, p: f64) -> node::Result<Operand> {
        let size = self.call("abs", [x.clone()])?;
        if p == 1.0 { Ok(size) } else { self.with_scalar("power", &size, p) }
    }
}
