//! Flattens loads and stores to offsets into flat buffers.

use super::layout::{Flattener, View};
use crate::error::Reason;
use hammock_ir::{
    DType, PrimExpr,
    prim::{PrimKind, check},
    tir::Buffer,
};
use hammock_loopnest::index::Poly;

impl Flattener {
    /// Returns the flat buffer and index of an access; vector elements give a ramp.
    pub fn access(&mut self, buffer: &Buffer, indices: &[PrimExpr]) -> Result<(Buffer, PrimExpr), Reason> {
        if indices.len() != buffer.ndim() {
            let (expected, actual) = (buffer.ndim(), indices.len());
            return Err(Reason::IndexCount { buffer: buffer.name.clone(), expected, actual });
        }
        let view = self.view(buffer)?;
        let flat = self.flat(buffer, &view.data);
        let lanes = buffer.dtype.lanes;
        if indices.iter().any(|i| i.dtype().is_vector()) {
            return Ok((flat, self.vector_index(&view, indices)?));
        }
        let position = indices
            .iter()
            .zip(&view.strides)
            .fold(view.offset.clone(), |sum, (i, stride)| &sum + &(&self.poly(i) * stride));
        let joined = self.simplifier.rejoin(position);
        let position = match joined.checks() < checks(indices) {
            true => Poly::atom(self.plain_sum(&view, indices, 1)),
            false => joined,
        };
        let index = match lanes {
            1 => position.to_expr(),
            lanes => PrimExpr::ramp(position.scale(i64::from(lanes)).to_expr(), PrimExpr::int64(1), lanes),
        };
        Ok((flat, index))
    }

    /// Returns the flat index of a vector access: a ramp in the last dimension stays one.
    fn vector_index(&mut self, view: &View, indices: &[PrimExpr]) -> Result<PrimExpr, Reason> {
        let lanes = indices.iter().map(|i| i.dtype().lanes).max().unwrap_or(1);
        let mut base = view.offset.clone();
        let mut step = Poly::zero();
        let mut general: Option<PrimExpr> = None;
        for (index, stride) in indices.iter().zip(&view.strides) {
            let index = self.expr(index)?;
            match index.kind() {
                PrimKind::Ramp(b, s) => {
                    base = &base + &(&self.poly(b) * stride);
                    step = &step + &(&self.poly(s) * stride);
                }
                PrimKind::Broadcast(b) => base = &base + &(&self.poly(b) * stride),
                _ if index.dtype().is_scalar() => base = &base + &(&self.poly(&index) * stride),
                _ => {
                    let scaled = index.cast(DType::INT64.with_lanes(lanes)) * stride.to_expr().broadcast(lanes);
                    general = Some(general.map_or(scaled.clone(), |sum| sum + scaled));
                }
            }
        }
        if base.checks() + step.checks() + general.as_ref().map_or(0, check::count) < checks(indices) {
            return Ok(self.plain_sum(view, indices, lanes));
        }
        let linear = match step.is_zero() && general.is_some() {
            true => base.to_expr().broadcast(lanes),
            false => PrimExpr::ramp(base.to_expr(), step.to_expr(), lanes),
        };
        Ok(general.map_or(linear.clone(), |rest| linear + rest))
    }

    /// Returns a flat index without simplification, which would drop the checks in it.
    fn plain_sum(&self, view: &View, indices: &[PrimExpr], lanes: u16) -> PrimExpr {
        let vector = |e: PrimExpr| if lanes > 1 && e.dtype().is_scalar() { e.broadcast(lanes) } else { e };
        let steps = indices.iter().zip(&view.strides);
        steps.fold(vector(view.offset.to_expr()), |sum, (index, stride)| {
            let index = index.substitute(&self.values);
            let wide = DType::INT64.with_lanes(index.dtype().lanes);
            sum + vector(index.cast(wide)) * vector(stride.to_expr())
        })
    }

    /// Flattens the loads in an expression, and substitutes known values.
    pub fn expr(&mut self, e: &PrimExpr) -> Result<PrimExpr, Reason> {
        match e.kind() {
            PrimKind::Load(buffer, indices, mask) => {
                let indices = self.exprs(indices)?;
                let (flat, index) = self.access(buffer, &indices)?;
                let mask = mask.as_ref().map(|m| self.expr(m)).transpose()?;
                Ok(PrimExpr::load_masked(&flat, vec![index], mask))
            }
            PrimKind::Reduce(_) => Err(Reason::Reduce),
            PrimKind::Var(v) => Ok(self.values.get(v).cloned().unwrap_or_else(|| e.clone())),
            _ => {
                let mut failed = None;
                let mapped = e.map_children(&mut |c| {
                    self.expr(c).unwrap_or_else(|reason| {
                        failed = Some(reason);
                        c.clone()
                    })
                });
                failed.map_or(Ok(mapped), Err)
            }
        }
    }

    pub fn exprs(&mut self, all: &[PrimExpr]) -> Result<Vec<PrimExpr>, Reason> {
        all.iter().map(|e| self.expr(e)).collect()
    }

    /// Simplifies an index expression.
    pub fn index(&mut self, e: &PrimExpr) -> Result<PrimExpr, Reason> {
        let flat = self.expr(e)?;
        Ok(self.simplifier.index(&flat))
    }
}

/// Counts the checks in the indices of an access.
fn checks(indices: &[PrimExpr]) -> usize {
    indices.iter().map(check::count).sum()
}
