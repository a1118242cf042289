//! Strided loads with a small stride: loads the whole range contiguously, and shuffles.
//!
//! Never reads before the first or after the last element, nor inactive lanes under a mask.

use super::{Emitter, Result, Ty, Value};
use hammock_ir::{PrimExpr, prim::PrimKind, tir::Buffer};
use hammock_loopnest::access::MAX_STRIDE;

/// Returns the stride of an access, if it is small.
pub(super) fn step(buffer: &Buffer, indices: &[PrimExpr]) -> Option<usize> {
    let [index] = indices else { return None };
    let (_, step, lanes) = ramp(index)?;
    let step = step.as_int().filter(|step| (2..=MAX_STRIDE).contains(step))?;
    let plain = buffer.strides.is_empty() && buffer.elem_offset.is_none() && buffer.dtype.lanes == 1;
    (plain && lanes > 1).then_some(step as usize)
}

/// Splits a ramp with a scalar base into base, stride and lanes.
pub(super) fn ramp(index: &PrimExpr) -> Option<(&PrimExpr, &PrimExpr, u16)> {
    match index.kind() {
        PrimKind::Ramp(base, stride) if base.dtype().lanes == 1 => Some((base, stride, index.dtype().lanes)),
        _ => None,
    }
}

/// The vectors that are loaded for a register of lanes.
struct Pieces {
    step: usize,
    lanes: usize,
}

impl Pieces {
    /// Offset of a vector from the first element. The last vector ends at the last element.
    fn start(&self, piece: usize) -> usize {
        if piece + 1 < self.step { piece * self.lanes } else { (self.step - 1) * (self.lanes - 1) }
    }

    /// Returns the vector that has the element of a lane, and the position in it.
    fn of(&self, lane: usize) -> (usize, usize) {
        let at = lane * self.step;
        let piece = (at / self.lanes).min(self.step - 1);
        (piece, at - self.start(piece))
    }

    /// Returns the lane whose element is at a position of a vector.
    fn lane(&self, piece: usize, at: usize) -> Option<usize> {
        (0..self.lanes).find(|lane| self.of(*lane) == (piece, at))
    }
}

impl Emitter<'_, '_> {
    /// Loads elements with a stride; zero in inactive lanes.
    pub(super) fn load_strided(
        &mut self,
        buffer: &Buffer,
        indices: &[PrimExpr],
        step: usize,
        ty: Ty,
        mask: Option<&Value>,
    ) -> Result<Value> {
        let first = indices.first().and_then(ramp).map(|(first, ..)| first.clone());
        let first = first.unwrap_or_else(|| PrimExpr::int64(0));
        let at = self.address_of(buffer, &[first])?;
        let (element, all) = (ty.with_lanes(1), usize::from(ty.lanes));
        let register = (self.kernel.platform.vector_bytes() as usize / ty.lane_bytes() as usize).max(2);
        let mut value: Option<Value> = None;
        for start in (0..all).step_by(register) {
            let lanes = register.min(all - start);
            let from = self.f.address(&at, element, &Value::i64((start * step) as i64));
            let mask = mask.map(|mask| self.f.shuffle(mask, &Value::poison(mask.ty), start..start + lanes));
            let part = self.load_register(&from, Pieces { step, lanes }, ty.with_lanes(lanes as u16), mask.as_ref());
            value = Some(match value {
                Some(before) => self.concat(&before, &part),
                None => part,
            });
        }
        Ok(value.unwrap_or_else(|| Value::zero(ty)))
    }

    /// Loads the lanes of one register.
    fn load_register(&mut self, from: &Value, pieces: Pieces, ty: Ty, mask: Option<&Value>) -> Value {
        let lanes = pieces.lanes;
        if lanes == 1 {
            let (first, ty) = (Ty::I1, ty.with_lanes(1));
            return match mask.map(|mask| if mask.ty == first { mask.clone() } else { self.f.extract(mask, 0) }) {
                Some(mask) => self.load_if(&mask, ty, from),
                None => self.f.load(ty, from, ty.lane_bytes()),
            };
        }
        let mut value: Option<Value> = None;
        for piece in 0..pieces.step {
            let at = self.f.address(from, ty.with_lanes(1), &Value::i64(pieces.start(piece) as i64));
            let loaded = match mask {
                Some(mask) => {
                    let off = Value::zero(mask.ty);
                    let own = (0..lanes).map(|at| pieces.lane(piece, at).unwrap_or(lanes));
                    let own = self.f.shuffle(mask, &off, own);
                    self.masked_load("load", ty, &at, &own)
                }
                None => self.f.load(ty, &at, ty.lane_bytes()),
            };
            let chosen = |lane: usize| match pieces.of(lane) {
                (own, at) if own == piece => lanes + at,
                _ => lane,
            };
            value = Some(match value {
                Some(before) => self.f.shuffle(&before, &loaded, (0..lanes).map(chosen)),
                None => self.f.shuffle(&loaded, &loaded, (0..lanes).map(|lane| chosen(lane) % lanes)),
            });
        }
        value.unwrap_or_else(|| Value::zero(ty))
    }
}

#[cfg(test)]
mod tests {
    use super::Pieces;

    #[test]
    fn vectors_cover_exactly_the_range() {
        for step in 2..=4 {
            for lanes in 2..=17 {
                let pieces = Pieces { step, lanes };
                for lane in 0..lanes {
                    let (piece, at) = pieces.of(lane);
                    assert!(piece < step && at < lanes);
                    assert_eq!(pieces.start(piece) + at, lane * step);
                    assert_eq!(pieces.lane(piece, at), Some(lane));
                }
                assert_eq!(pieces.start(step - 1) + lanes, (lanes - 1) * step + 1);
            }
        }
    }
}
