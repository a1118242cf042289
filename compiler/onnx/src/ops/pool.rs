//! Pooling, and the window geometry of poolings and convolutions.

use super::{
    Op, Result,
    dynamic_pads::DynamicPads,
    op,
    pool_indices::{lowest_value, max_pool_with_indices},
};
use crate::node::{self, Node, axes_attr};
use hammock_ir::{PrimExpr, relax::Operand};
use hammock_ops::dims;

pub const OPS: &[Op] = &[
    op("AveragePool", |n| pool(n, ["nn.avg_pool1d", "nn.avg_pool2d", "nn.avg_pool3d"])),
    op("GlobalAveragePool", |n| global(n, "mean")),
    op("GlobalMaxPool", |n| global(n, "max")),
    op("LpPool", lp_pool),
    op("GlobalLpPool", global_lp),
    op("MaxPool", |n| pool(n, ["nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d"])),
];

/// Windows of a convolution or pooling.
pub struct Windows {
    pub strides: Vec<i64>,
    pub dilations: Vec<i64>,
    /// Padding before each axis, then after each.
    pub pads: Vec<i64>,
    /// Padding of dynamic axes, instead of `pads`.
    pub dynamic: Vec<DynamicPads>,
}

impl Windows {
    /// Reads the windows from a node's attributes; dynamic padding is an error.
    pub fn with_static_padding(n: &Node, x: &Operand, kernel: &[i64]) -> node::Result<Windows> {
        let windows = Windows::from_attributes(n, x, kernel)?;
        if windows.dynamic.is_empty() {
            Ok(windows)
        } else {
            n.error("`auto_pad` with strides needs sizes that are known")
        }
    }

    /// Reads the windows from a node's attributes. Dynamic padding is added by `pad_dynamic`.
    pub fn from_attributes(n: &Node, x: &Operand, kernel: &[i64]) -> node::Result<Windows> {
        let rank = kernel.len();
        let sizes = n.dims(x)?;
        if sizes.len() != rank + 2 {
            return n.error(format!("windows of {rank} dimensions do not fit data of {} dimensions", sizes.len()));
        }
        let strides = n.spatial("strides", &vec![1; rank])?;
        let dilations = n.spatial("dilations", &vec![1; rank])?;
        if kernel.iter().any(|size| *size > 1 << 31) {
            return n.error("its windows are too large");
        }
        if strides.iter().chain(&dilations).chain(kernel).any(|v| *v < 1) {
            return n.error("sizes, strides and dilations of windows have to be positive");
        }
        let mut windows = Windows { strides, dilations, pads: vec![0; 2 * rank], dynamic: Vec::new() };
        match n.attrs.str_or("auto_pad", "NOTSET")? {
            "SAME_UPPER" => windows.pad_to_same(&sizes[2..], kernel, false),
            "SAME_LOWER" => windows.pad_to_same(&sizes[2..], kernel, true),
            "VALID" => {}
            "NOTSET" | "" => windows.pads = n.spatial("pads", &vec![0; 2 * rank])?,
            other => {
                return n.error(format!("its `auto_pad` is `{other}`, not NOTSET, SAME_UPPER, SAME_LOWER or VALID"));
            }
        }
        Ok(windows)
    }

    /// Returns the number of windows along an axis.
    pub fn count(&self, size: &PrimExpr, kernel: &[i64], at: usize) -> PrimExpr {
        let extent = (kernel[at] - 1) * self.dilations[at] + 1;
        let room = dims::add(size, &PrimExpr::int64(self.pads[at] + self.pads[at + kernel.len()] - extent));
        dims::add(&dims::floordiv(&room, &self.strides[at].into()), &1i64.into())
    }

    /// Returns the number of windows along each axis, including partial ones if `ceil_mode` is set. Adds padding after
    /// the data for these.
    pub fn window_counts(&mut self, n: &mut Node, sizes: &[PrimExpr], kernel: &[i64]) -> node::Result<Vec<PrimExpr>> {
        let rounds_up = n.attrs.flag("ceil_mode")?;
        let mut counts = Vec::new();
        for (axis, size) in sizes.iter().enumerate() {
            let stride = self.strides[axis];
            if let Some(count) = self.dynamic.iter().find_map(|pads| pads.count_of(axis)) {
                counts.push(n.named_size(count)?);
                continue;
            }
            if !rounds_up {
                counts.push(self.count(size, kernel, axis));
                continue;
            }
            self.pads[axis + kernel.len()] += stride - 1;
            // Windows that start in the padding after the data do not count.
            let starts = dims::ceildiv(&dims::add(size, &self.before(axis)), &stride.into());
            counts.push(n.named_size(dims::min(&self.count(size, kernel, axis), &starts))?);
        }
        Ok(counts)
    }

    /// Crops the results of windows that start in the padding after the data.
    fn crop_to_data(&self, n: &mut Node, x: &Operand, mut y: Operand) -> node::Result<Operand> {
        let sizes = n.dims(x)?;
        for (axis, stride) in self.strides.iter().enumerate() {
            let starts = dims::ceildiv(&dims::add(&sizes[axis + 2], &self.before(axis)), &(*stride).into());
            let count = n.dims(&y)?.swap_remove(axis + 2);
            if n.attrs.flag("ceil_mode")? && dims::at_least(&starts, &count) != Some(true) {
                let in_data = n.named_size(dims::min(&starts, &count))?;
                y = n.slice_in_bounds(y, axis + 2, 0i64.into(), in_data, 1)?;
            }
        }
        Ok(y)
    }

    /// Sets the padding such that the number of windows is `ceil(size / stride)`.
    fn pad_to_same(&mut self, sizes: &[PrimExpr], kernel: &[i64], lower: bool) {
        let rank = kernel.len();
        for axis in 0..rank {
            let (extent, stride) = ((kernel[axis] - 1) * self.dilations[axis] + 1, self.strides[axis]);
            let total = match sizes[axis].as_int() {
                Some(size) => ((size - 1).div_euclid(stride) * stride + extent - size).max(0),
                None if stride == 1 => extent - 1,
                None => {
                    self.dynamic.push(DynamicPads::new(axis, &sizes[axis], extent, stride, lower));
                    continue;
                }
            };
            let begin = if lower { total - total / 2 } else { total / 2 };
            (self.pads[axis], self.pads[axis + rank]) = (begin, total - begin);
        }
    }
}

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
