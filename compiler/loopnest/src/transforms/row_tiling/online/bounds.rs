//! Bounds of the elements that count: a mask, such as a causal one, makes all others minus infinity, so that their
//! exponentials are zero.

use super::{Online, Role};
use crate::{
    Stage,
    access::{combiner, guarded},
    conjuncts,
    index::Simplifier,
    row_tiling::Rows,
};
use hammock_ir::{
    DType, PrimExpr,
    prim::{BinaryOp, PrimKind, Substitution, Var},
};

/// Bounds of the elements that a block of rows needs, if there are others than those of the rows.
#[derive(Default)]
pub struct ElementBounds {
    /// Lower bounds of the first one.
    pub first: Vec<PrimExpr>,
    /// Upper bounds of the number of elements up to the last one.
    pub end: Vec<PrimExpr>,
}

/// The last row of a block, and the first.
struct Extremes {
    last: Substitution,
    first: Substitution,
    row: Var,
}

impl Rows {
    /// Returns bounds of the elements that the mask of a softmax lets `row_count` rows from a position on have.
    pub fn element_bounds(&self, online: &Online, position: &[PrimExpr], row_count: i64) -> ElementBounds {
        let max = online.roles.iter().position(|role| *role == Role::Max).unwrap_or_default();
        let stage = &self.stages[max];
        let mut bounds = ElementBounds::default();
        let Some((_, term)) = combiner(stage) else { return bounds };
        let (number, score) = self.computed(max, term);
        let stage = &self.stages[number];
        let (Some(axis), Some((mask, _, hidden))) = (online.axes[number], guarded(score)) else { return bounds };
        if hidden.as_float() != Some(f64::NEG_INFINITY) {
            return bounds;
        }
        let element = &stage.axes[axis].var;
        let extremes = self.extremes(number, position, row_count);
        for condition in conjuncts(mask) {
            bounds.add(&condition, element, &extremes);
        }
        bounds
    }

    /// Returns the stage that computes a value, and what it computes: another one, if the value is an intermediate.
    fn computed<'a>(&'a self, number: usize, value: &'a PrimExpr) -> (usize, &'a PrimExpr) {
        let PrimKind::Load(buffer, ..) = value.kind() else { return (number, value) };
        let is_source = |stage: &Stage| stage.target() == buffer && (stage.epilogue.is_some() || !stage.reduces());
        let Some(source) = self.stages.iter().position(is_source) else { return (number, value) };
        let stage = &self.stages[source];
        (source, stage.epilogue.as_ref().map_or(&stage.value, |epilogue| &epilogue.value))
    }

    /// Returns the positions of the first and the last row of a block in a stage.
    fn extremes(&self, number: usize, position: &[PrimExpr], row_count: i64) -> Extremes {
        let vars = self.row_axes(number).map(|axis| self.stages[number].axes[axis].var.clone());
        let vars: Vec<Var> = vars.collect();
        let first: Substitution = vars.iter().cloned().zip(position.iter().cloned()).collect();
        let (row, tiled) = (vars[vars.len() - 1].clone(), &position[position.len() - 1]);
        let extent = self.extents().next_back().cloned().unwrap_or_else(|| PrimExpr::int64(1));
        let last = (tiled + PrimExpr::int64(row_count - 1)).min(extent - PrimExpr::int64(1));
        let mut of_last = first.clone();
        of_last.insert(row.clone(), last);
        Extremes { last: of_last, first, row }
    }
}

impl ElementBounds {
    /// Adds the bound of a condition that is linear in the element and in the row.
    fn add(&mut self, condition: &PrimExpr, element: &Var, extremes: &Extremes) {
        let PrimKind::Binary(op, a, b) = condition.kind() else { return };
        // As `low <= high`, or `low < high`.
        let (low, high, is_strict) = match op {
            BinaryOp::Le => (a, b, false),
            BinaryOp::Lt => (a, b, true),
            BinaryOp::Ge => (b, a, false),
            BinaryOp::Gt => (b, a, true),
            _ => return,
        };
        if [low, high].iter().any(|side| side.dtype() != DType::INT64) {
            return;
        }
        let simplifier = Simplifier::default();
        let room = high - low;
        let coefficient = |e: &PrimExpr, var: &Var| simplifier.poly(e).coefficient(var).and_then(|c| c.as_constant());
        let is_end = match coefficient(&room, element) {
            Some(-1) => true,
            Some(1) => false,
            _ => return,
        };
        let limit = if is_end { room + element.expr() } else { element.expr() - room };
        let limit = simplifier.index(&limit);
        let Some(slope) = coefficient(&limit, &extremes.row).filter(|_| !limit.uses(element)) else { return };
        let row = if (slope >= 0) == is_end { &extremes.last } else { &extremes.first };
        let (limit, one) = (limit.substitute(row), PrimExpr::int64(1));
        match (is_end, is_strict) {
            (true, false) => self.end.push(limit + one),
            (true, true) => self.end.push(limit),
            (false, false) => self.first.push(limit),
            (false, true) => self.first.push(limit + one),
        }
    }
}
