//! `auto_pad` along dynamic axes: the padding depends on the size, so it is computed at run time.

use super::Windows;
use crate::node::{self, Node};
use hammock_ir::{PrimExpr, TensorShape, TensorType, relax::Operand};
use hammock_ops::dims;

/// Padding of one axis such that the number of windows is `ceil(size / stride)`.
pub struct DynamicPads {
    /// Padded spatial axis.
    pub axis: usize,
    /// Number of windows.
    count: PrimExpr,
    /// Number of elements of padding before the data.
    before: PrimExpr,
    behind: PrimExpr,
}

impl DynamicPads {
    /// Computes the padding of an axis; `extent` is the dilated extent of a window.
    pub fn new(axis: usize, size: &PrimExpr, extent: i64, stride: i64, lower: bool) -> DynamicPads {
        let count = dims::ceildiv(size, &stride.into());
        let last = dims::mul(&dims::offset(&count, -1), &stride.into());
        let total = dims::max(&dims::sub(&dims::offset(&last, extent), size), &0i64.into());
        let less = dims::floordiv(&total, &2i64.into());
        let more = dims::sub(&total, &less);
        let (before, behind) = if lower { (more, less) } else { (less, more) };
        DynamicPads { axis, count, before, behind }
    }

    /// Returns the number of windows along an axis, if it is the padded one.
    pub fn count_of(&self, axis: usize) -> Option<PrimExpr> {
        (self.axis == axis).then(|| self.count.clone())
    }
}

impl Node<'_, '_> {
    /// Gives a dimension a name, so expressions over it stay small.
    pub(super) fn named_size(&mut self, size: PrimExpr) -> node::Result<PrimExpr> {
        if size.as_int().is_some() {
            return Ok(size);
        }
        let vector = self.dims_vector(&[size])?;
        Ok(self.symbolic_dims(vector)?.swap_remove(0))
    }

    /// Slices an axis with bounds that are known to be in range, so the size of the result needs no clamping.
    pub fn slice_in_bounds(
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
    /// Pads the dynamic axes; the padding of static ones is in `pads`.
    pub fn pad_dynamic(&self, n: &mut Node, mut x: Operand, fill: f64) -> node::Result<Operand> {
        for pads in &self.dynamic {
            let widths = n.dims_vector(&[pads.before.clone(), pads.behind.clone()])?;
            let widths = n.symbolic_dims(widths)?;
            let (value, mut shape) = (n.scalar_like(fill, &x)?, n.dims(&x)?);
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

    /// Casts the result of windows over padded data to its known number of windows along dynamic axes.
    pub fn cast_counts(&self, n: &mut Node, y: Operand) -> node::Result<Operand> {
        if self.dynamic.is_empty() {
            return Ok(y);
        }
        let mut shape = n.dims(&y)?;
        self.dynamic.iter().for_each(|pads| shape[pads.axis + 2] = pads.count.clone());
        let ty = n.importer.build.tensor(&y)?;
        n.importer.build.match_cast(y, TensorType { shape: TensorShape::Known(shape.into()), ..ty }.into())
    }

    /// Returns the number of elements of padding before an axis.
    pub fn before(&self, axis: usize) -> PrimExpr {
        let dynamic = self.dynamic.iter().find(|pads| pads.axis == axis);
        dynamic.map_or(PrimExpr::int64(self.pads[axis]), |pads| pads.before.clone())
    }
}
