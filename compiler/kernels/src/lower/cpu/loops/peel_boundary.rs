//! Boundary peeling for sliding windows: interior tiles skip the padding checks that boundary tiles need.
//!
//! Every load of a padded window is guarded. One test per tile finds the interior tiles, whose loads need no guard.

use super::{
    nest::{Domain, Nest},
    slack::Slack,
    tile, unswitch,
};
use hammock_ir::{
    PrimExpr,
    tir::{Stmt, StmtKind},
};
use hammock_loopnest::{
    Stage,
    access::{guarded, is_padded_load},
    conjuncts,
};

/// Returns the tile of a nest in two versions: for the interior, and for the boundary.
pub fn tile(nest: &Nest, at: &Domain) -> Stmt {
    let guarded_tile = || tile::tile(nest, at);
    if !has_padding(nest.stage) {
        return unswitch::tile(nest, at).unwrap_or_else(guarded_tile);
    }
    let mut boundary = Boundary { stage: nest.stage, at, interior: Vec::new() };
    let stage = Stage { value: boundary.drop_implied_guards(&nest.stage.value), ..nest.stage.clone() };
    let unguarded = tile::tile(&Nest { stage: &stage, ..*nest }, at);
    match boundary.interior.into_iter().reduce(PrimExpr::and) {
        Some(interior) => Stmt::new(StmtKind::If(interior, Box::new(unguarded), Some(Box::new(guarded_tile())))),
        None => unguarded,
    }
}

/// Returns the body of one of `count` steps along an axis, with the first and last step peeled. Padding begins and ends
/// in these, so their guards fold.
pub fn peel_edges(index: &PrimExpr, count: &PrimExpr, inside: &dyn Fn(PrimExpr) -> Stmt) -> Stmt {
    let last = count.as_int().map(|count| count - 1);
    if index.as_int().is_some() || last == Some(0) {
        return inside(PrimExpr::int64(index.as_int().unwrap_or(0)));
    }
    [Some(0), last].into_iter().flatten().fold(inside(index.clone()), |others, edge| {
        let edge = PrimExpr::int64(edge);
        let at_edge = index.clone().eq(edge.clone());
        Stmt::new(StmtKind::If(at_edge, Box::new(inside(edge)), Some(Box::new(others))))
    })
}

/// Returns true if a stage loads padded data.
fn has_padding(stage: &Stage) -> bool {
    stage.reduces() && stage.value.any(&mut |e| is_padded_load(e))
}

/// Returns true if the data that a stage loads are padded along an axis.
pub fn pads_axis(stage: &Stage, axis: usize) -> bool {
    let var = &stage.axes[axis].var;
    let is_guarded = |e: &PrimExpr| guarded(e).is_some_and(|(condition, ..)| is_padded_load(e) && condition.uses(var));
    stage.reduces() && stage.value.any(&mut |e| is_guarded(e))
}

struct Boundary<'a> {
    stage: &'a Stage,
    at: &'a Domain,
    /// Conditions under which the whole tile is interior.
    interior: Vec<PrimExpr>,
}

impl Boundary<'_> {
    /// Drops the guards that hold in interior tiles from a value.
    fn drop_implied_guards(&mut self, value: &PrimExpr) -> PrimExpr {
        let Some((condition, load, other)) = guarded(value).filter(|_| is_padded_load(value)) else {
            return value.map_children(&mut |child| self.drop_implied_guards(child));
        };
        let open = conjuncts(condition).into_iter().filter(|condition| !self.holds(condition));
        match open.reduce(PrimExpr::and) {
            Some(open) => open.if_then_else(load.clone(), other.clone()),
            None => load.clone(),
        }
    }

    /// Returns true if a condition holds for all of an interior tile.
    fn holds(&mut self, condition: &PrimExpr) -> bool {
        let Some(slack) = Slack::of(condition, self.stage, self.at) else { return false };
        let always = slack.always();
        match always.as_int() {
            Some(always) => always != 0,
            None => {
                self.interior.push(always);
                true
            }
        }
    }
}
