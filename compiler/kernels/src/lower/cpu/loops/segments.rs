//! Segments of a row: a select between loads, by the position along the vectorized axis, becomes a loop for each side.
//!
//! Padding and concatenation of dynamic sizes load each segment of a row from another buffer or another part of it.
//! Tiles would be mixed at each end of a segment, which is all of a short row. The loops of a segment do only its load:
//!
//! ```text
//! y[i] = i < 1 ? x[1 - i] : i < n + 1 ? x[i - 1] : x[2 * n - 1 - i]        i: n + 2
//! if 0 <= 1 and 1 <= n + 1 and n + 1 <= n + 2: loops for 0..1, 1..n + 1, n + 1..n + 2
//! ```
//!
//! Segments of other sizes, which are out of order, remain one row, whose tiles are [unswitched](super::unswitch).

use super::{
    nest::{Domain, Nest},
    slack::boundary,
    unswitch::is_select_of_loads,
};
use hammock_ir::{
    PrimExpr,
    tir::{Stmt, StmtKind},
};
use hammock_loopnest::{Stage, access::guarded, index::Simplifier, replaced};

/// Maximum number of segments of a row.
const MAX_SEGMENTS: usize = 8;

/// Returns the loops over the segments of the rows of a domain, whose innermost loop is the given one; `None` if they
/// have only one, or static sizes. `loops` returns the loops over a part of a row.
pub fn loops(nest: &Nest, number: usize, at: &Domain, loops: &dyn Fn(&Nest, &Domain) -> Stmt) -> Option<Stmt> {
    let axis = nest.plan.vector()?.axis;
    let is_row = number + 1 == nest.tile
        && nest.plan.loops[number].axis == axis
        && at.position[axis].as_int() == Some(0)
        && at.extents[axis].as_int().is_none();
    if !is_row || nest.stage.reduces() || !nest.plan.staged.is_empty() {
        return None;
    }
    let row = Segment { value: nest.stage.value.clone(), start: PrimExpr::int64(0), end: at.extents[axis].clone() };
    let segments = split(row, nest.stage, axis);
    if !(2..=MAX_SEGMENTS).contains(&segments.len()) {
        return None;
    }
    let are_ordered = segments.iter().map(Segment::is_ordered).reduce(PrimExpr::and)?;
    let loops_of = |segment: &Segment| {
        let stage = Stage { value: segment.value.clone(), ..nest.stage.clone() };
        loops(&Nest { stage: &stage, ..*nest }, &at.part(axis, segment.start.clone(), segment.count()))
    };
    let by_segment = Stmt::seq(segments.iter().map(loops_of));
    Some(Stmt::new(StmtKind::If(are_ordered, Box::new(by_segment), Some(Box::new(loops(nest, at))))))
}

/// Positions of a row with the same load.
struct Segment {
    value: PrimExpr,
    start: PrimExpr,
    end: PrimExpr,
}

impl Segment {
    fn is_ordered(&self) -> PrimExpr {
        self.start.clone().le(self.end.clone())
    }

    fn count(&self) -> PrimExpr {
        let simplifier = Simplifier::default();
        (&simplifier.poly(&self.end) - &simplifier.poly(&self.start)).to_expr()
    }
}

/// Splits a segment by the conditions on its positions.
fn split(segment: Segment, stage: &Stage, axis: usize) -> Vec<Segment> {
    let mut found = None;
    segment.value.any(&mut |e| {
        found = guarded(e)
            .filter(|_| is_select_of_loads(e))
            .and_then(|(condition, then, other)| Some((e.clone(), then, other, boundary(condition, stage, axis)?)))
            .map(|(select, then, other, boundary)| (select, then.clone(), other.clone(), boundary));
        found.is_some()
    });
    let Some((select, then, other, boundary)) = found else { return vec![segment] };
    let side = |value: &PrimExpr, start: &PrimExpr, end: &PrimExpr| {
        let value = replaced(&segment.value, &select, value);
        split(Segment { value, start: start.clone(), end: end.clone() }, stage, axis)
    };
    let (low, high) = if boundary.holds_below { (then, other) } else { (other, then) };
    let mut segments = side(&low, &segment.start, &boundary.position);
    segments.extend(side(&high, &boundary.position, &segment.end));
    segments
}
