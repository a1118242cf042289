//! Poolings, and where their windows and those of convolutions lie.

use super::{Op, Result, op, pool_places::max_with_places};
use crate::node::{self, Node, axes_attr};
use hammock_ir::{
    PrimExpr,
    relax::{InferError, Operand},
};
use hammock_ops::dims;

pub const OPS: &[Op] = &[
    op("AveragePool", |n| pool(n, ["nn.avg_pool1d", "nn.avg_pool2d", "nn.avg_pool3d"])),
    op("GlobalAveragePool", |n| global(n, "mean")),
    op("GlobalMaxPool", |n| global(n, "max")),
    op("LpPool", lp_pool),
    op("GlobalLpPool", global_lp),
    op("MaxPool", |n| pool(n, ["nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d"])),
];

/// The windows of a convolution or pooling.
pub struct Windows {
    pub strides: Vec<i64>,
    pub dilations: Vec<i64>,
    /// Those before the data, then those behind.
    pub pads: Vec<i64>,
}

impl Windows {
    /// What the attributes of a node say of windows of that size.
    pub fn of(n: &Node, x: &Operand, kernel: &[i64]) -> node::Result<Windows> {
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
        let pads = match n.attrs.str_or("auto_pad", "NOTSET")? {
            "SAME_UPPER" => same(&sizes[2..], kernel, &strides, &dilations, false)?,
            "SAME_LOWER" => same(&sizes[2..], kernel, &strides, &dilations, true)?,
            "VALID" => vec![0; 2 * rank],
            _ => n.spatial("pads", &vec![0; 2 * rank])?,
        };
        Ok(Windows { strides, dilations, pads })
    }

    /// How many there are along an axis of that size.
    pub fn count(&self, size: &PrimExpr, kernel: &[i64], at: usize) -> PrimExpr {
        let reach = (kernel[at] - 1) * self.dilations[at] + 1;
        let room = dims::add(size, &PrimExpr::int64(self.pads[at] + self.pads[at + kernel.len()] - reach));
        dims::add(&dims::floordiv(&room, &self.strides[at].into()), &1i64.into())
    }
}

/// The padding with which there are as many windows as data divided by strides, rounded up.
fn same(sizes: &[PrimExpr], kernel: &[i64], strides: &[i64], dilations: &[i64], lower: bool) -> node::Result<Vec<i64>> {
    let rank = kernel.len();
    let mut pads = vec![0; 2 * rank];
    for axis in 0..rank {
        let reach = (kernel[axis] - 1) * dilations[axis] + 1;
        let total = match (sizes[axis].as_int(), strides[axis]) {
            (Some(size), stride) => ((size - 1).div_euclid(stride) * stride + reach - size).max(0),
            (None, 1) => reach - 1,
            (None, _) => return Err(InferError::new("`auto_pad` with strides needs sizes that are known")),
        };
        let begin = if lower { total - total / 2 } else { total / 2 };
        (pads[axis], pads[axis + rank]) = (begin, total - begin);
    }
    Ok(pads)
}

fn pool(n: &mut Node, ours: [&'static str; 3]) -> Result {
    let x = n.input(0)?;
    let Some(kernel) = n.attrs.ints("kernel_shape")? else { return n.error("its `kernel_shape` is missing") };
    let ours = match kernel.len().checked_sub(1).and_then(|at| ours.get(at)) {
        Some(ours) => *ours,
        None => return n.error(format!("poolings of {} spatial dimensions are not supported", kernel.len())),
    };
    let windows = Windows::of(n, &x, &kernel)?;
    if n.outputs > 1 {
        return max_with_places(n, x, &kernel, &windows);
    }
    let attrs = [
        ("pool_size", kernel.into()),
        ("strides", windows.strides.into()),
        ("padding", windows.pads.into()),
        ("dilation", windows.dilations.into()),
        ("ceil_mode", n.attrs.flag("ceil_mode")?.into()),
        ("count_include_pad", n.attrs.flag("count_include_pad")?.into()),
    ];
    Ok(n.call_with(ours, [x], &attrs)?.into())
}

fn global(n: &mut Node, ours: &'static str) -> Result {
    let x = n.input(0)?;
    let axes: Vec<usize> = (2..n.rank(&x)?).collect();
    Ok(n.call_with(ours, [x], &[("axis", axes_attr(&axes)), ("keepdims", true.into())])?.into())
}

/// The p-norm of each window: that of |x|^p is a mean, times the window's size.
fn lp_pool(n: &mut Node) -> Result {
    let p = n.attrs.int_or("p", 2)? as f64;
    let x = n.input(0)?;
    let Some(kernel) = n.attrs.ints("kernel_shape")? else { return n.error("its `kernel_shape` is missing") };
    let ours = match kernel.len() {
        1 => "nn.avg_pool1d",
        2 => "nn.avg_pool2d",
        3 => "nn.avg_pool3d",
        other => return n.error(format!("poolings of {other} spatial dimensions are not supported")),
    };
    if n.attrs.flag("ceil_mode")? {
        return n.error("`ceil_mode` is not supported");
    }
    let windows = Windows::of(n, &x, &kernel)?;
    let count = kernel.iter().map(|size| *size as f64).product::<f64>();
    let attrs = [
        ("pool_size", kernel.into()),
        ("strides", windows.strides.into()),
        ("padding", windows.pads.into()),
        ("dilation", windows.dilations.into()),
        ("count_include_pad", true.into()),
    ];
    let y = n.accumulated(x, |n, x| {
        let powers = n.power_of_size(&x, p)?;
        let mean = n.call_with(ours, [powers], &attrs)?;
        let sum = n.with_number("multiply", &mean, count)?;
        n.with_number("power", &sum, 1.0 / p)
    })?;
    Ok(y.into())
}

fn global_lp(n: &mut Node) -> Result {
    let p = n.attrs.int_or("p", 2)? as f64;
    let x = n.input(0)?;
    let axes: Vec<usize> = (2..n.rank(&x)?).collect();
    let y = n.accumulated(x, |n, x| {
        let powers = n.power_of_size(&x, p)?;
        let sum = n.call_with("sum", [powers], &[("axis", axes_attr(&axes)), ("keepdims", true.into())])?;
        n.with_number("power", &sum, 1.0 / p)
    })?;
    Ok(y.into())
}

impl Node<'_, '_> {
    /// `|x| ^ p`
    pub(super) fn power_of_size(&mut self, x: &Operand, p: f64) -> node::Result<Operand> {
        let size = self.call("abs", [x.clone()])?;
        if p == 1.0 { Ok(size) } else { self.with_number("power", &size, p) }
    }
}
