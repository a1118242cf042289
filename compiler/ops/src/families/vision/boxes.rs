//! Boxes: rows of numbers with a score, a class and two opposite corners.

use crate::legalize::{Builder, accumulator};
use hammock_ir::{DType, PrimExpr, tir::Buffer};

/// The rows of a buffer `(batch, boxes, elements)`.
pub struct Boxes<'a> {
    /// The buffer.
    pub buffer: &'a Buffer,
    /// Index of the score.
    pub score: i64,
    /// Index of the first of the four corner coordinates.
    pub corners: i64,
}

impl Boxes<'_> {
    /// The dtype to compute in.
    pub fn dtype(&self) -> DType {
        accumulator(self.buffer.dtype)
    }

    /// An element of box `j`.
    pub fn element(&self, batch: &PrimExpr, j: &PrimExpr, k: i64) -> PrimExpr {
        PrimExpr::load(self.buffer, vec![batch.clone(), j.clone(), k.into()]).cast(self.dtype())
    }

    /// The score of box `j`.
    pub fn score(&self, batch: &PrimExpr, j: &PrimExpr) -> PrimExpr {
        self.element(batch, j, self.score)
    }

    /// The sides of box `j`: left, top, right, bottom, for any pair of opposite corners.
    fn sides(&self, batch: &PrimExpr, j: &PrimExpr) -> [PrimExpr; 4] {
        let corner = |k: i64| self.element(batch, j, self.corners + k);
        [corner(0).min(corner(2)), corner(1).min(corner(3)), corner(0).max(corner(2)), corner(1).max(corner(3))]
    }

    /// Intersection over union of two boxes.
    pub fn overlap(&self, batch: &PrimExpr, j: &PrimExpr, k: &PrimExpr) -> PrimExpr {
        let zero = PrimExpr::float(0.0, self.dtype());
        let ([l, t, r, b], [left, top, right, bottom]) = (self.sides(batch, j), self.sides(batch, k));
        let area = |l: &PrimExpr, t: &PrimExpr, r: &PrimExpr, b: &PrimExpr| (r - l) * (b - t);
        let both = area(&l, &t, &r, &b) + area(&left, &top, &right, &bottom);
        let width = (r.min(right) - l.max(left)).max(zero.clone());
        let height = (b.min(bottom) - t.max(top)).max(zero.clone());
        let shared = width * height;
        let union = both - &shared;
        union.clone().le(zero.clone()).select(zero, shared / union)
    }
}

/// Adds a run-time check that boxes have an element `last`.
pub fn require_elements(b: &mut Builder, length: &PrimExpr, last: i64) {
    b.require(length.clone().gt(last), &format!("a box needs more than {last} elements"));
}
