//! Window geometry of poolings and convolutions.

mod dynamic_pads;

use crate::node::{self, Node};
use dynamic_pads::DynamicPads;
use hammock_ir::{PrimExpr, relax::Operand};
use hammock_ops::dims;

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
    pub fn crop_to_data(&self, n: &mut Node, x: &Operand, mut y: Operand) -> node::Result<Operand> {
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
