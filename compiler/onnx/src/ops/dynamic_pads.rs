//! `auto_pad` along axes of dynamic size: the padding depends on the size, so it is computed at run time.

use super::pool::Windows;
use crate::node::{self, Node};
use hammock_ir::{PrimExpr, TensorShape, TensorType, relax::Operand};
use hammock_ops::dims;

/// Padding of one axis with which there are as many windows as its size divided by the stride, rounded up.
pub struct DynamicPads {
    /// Spatial axis that is padded.
    pub axis: usize,
    /// Number of windows.
    count: PrimExpr,
    /// Number of elements in front of the axis.
    before: PrimExpr,
    behind: PrimExpr,
}

impl DynamicPads {
    /// The padding of an axis; `reach` is the extent of a window with its dilation.
    pub fn new(axis: usize, size: &PrimExpr, reach: i64, stride: i64, lower: bool) -> DynamicPads {
        let count = dims::ceildiv(size, &stride.into());
        let last = dims::mul(&dims::offset(&count, -1), &stride.into());
        let total = dims::max(&dims::sub(&dims::offset(&last, reach), size), &0i64.into());
        let less = dims::floordiv(&total, &2i64.into());
        let more = dims::sub(&total, &less);
        let (before, behind) = if lower { (more, less) } else { (less, more) };
        DynamicPads { axis, count, before, behind }
    }

    /// The number of windows along the axis, if this is the axis.
    pub fn count_of(&self, axis: usize) -> Option<PrimExpr> {
        (self.axis == axis).then(|| self.count.clone())
    }
}

impl Node<'_, '_> {
    /// A size under a name of its own, for what is derived from it: expressions over a name stay small.
    pub(super) fn named_size(&mut self, size: PrimExpr) -> node::Result<PrimExpr> {
        if size.as_int().is_some() {
            return Ok(size);
        }
        let vector = self.vector(&[size])?;
        Ok(self.sizes_of(vector)?.swap_remove(0))
    }

    /// A slice of an axis whose bounds lie inside of it, so that its size is not that of what is left of the axis.
    pub(super) fn inner_steps(
        &mut self,
        x: Operand,
        axis: usize,
        begin: PrimExpr,
        end: PrimExpr,
        step: i64,
    ) -> node::Result<Operand> {
        let prims = |e: PrimExpr| Operand::Tuple(vec![Operand::Prim(e)]);
        let args = [x, prims((axis as i64).into()), prims(begin), prims(end), prims(step.into())];
        self.call_with("strided_slice", args, &[("assume_inbound", true.into())])
    }
}

impl Windows {
    /// Data with the padding of dynamic axes; that of the others is in `pads`.
    pub fn padded(&self, n: &mut Node, mut x: Operand, fill: f64) -> node::Result<Operand> {
        for pads in &self.dynamic {
            let widths = n.vector(&[pads.before.clone(), pads.behind.clone()])?;
            let widths = n.sizes_of(widths)?;
            let (value, mut shape) = (n.number(fill, &x)?, n.dims(&x)?);
            let mut parts = Vec::new();
            for width in widths {
                shape[pads.axis + 2] = width;
                parts.push(n.call("full", [Operand::Shape(shape.clone()), value.clone()])?);
            }
            parts.insert(1, x);
            x = n.call_with("concat", [Operand::Tuple(parts)], &[("axis", (pads.axis as i64 + 2).into())])?;
        }
        Ok(x)
    }

    /// The results of windows over padded data, whose number along dynamic axes is stated in their shape.
    pub fn counted(&self, n: &mut Node, y: Operand) -> node::Result<Operand> {
        if self.dynamic.is_empty() {
            return Ok(y);
        }
        let mut shape = n.dims(&y)?;
        self.dynamic.iter().for_each(|pads| shape[pads.axis + 2] = pads.count.clone());
        let ty = n.importer.build.tensor(&y)?;
        n.importer.build.match_cast(y, TensorType { shape: TensorShape::Known(shape.into()), ..ty }.into())
    }

    /// Number of elements that pad an axis in front.
    pub fn before(&self, axis: usize) -> PrimExpr {
        let dynamic = self.dynamic.iter().find(|pads| pads.axis == axis);
        dynamic.map_or(PrimExpr::int64(self.pads[axis]), |pads| pads.before.clone())
    }
}
