//! Unswitching: a select between loads becomes a branch, where all lanes of a tile take the same side.
//!
//! Padding, concatenation and the like load from another buffer, or another part of it, in each segment of an axis. A tile
//! inside a segment then does only that load, in vectors and without a mask: a masked load far outside of its buffer may
//! touch memory that does not exist, which costs hundreds of cycles even if no lane is active.

use super::{
    nest::{Domain, Nest},
    slack::Slack,
    tile,
};
use hammock_ir::{
    PrimExpr,
    tir::{Stmt, StmtKind},
};
use hammock_loopnest::{
    Stage,
    access::{guarded, is_padded_load},
    conjuncts, replaced,
};

/// Maximum number of versions of a tile.
const MAX_VERSIONS: usize = 16;

/// Returns the versions of a tile for the sides of its selects; `None` without such selects, or with too many.
pub fn tile(nest: &Nest, at: &Domain) -> Option<Stmt> {
    if nest.stage.reduces() || find(nest.stage, at, &nest.stage.value).is_none() {
        return None;
    }
    versions(nest, at, &nest.stage.value, &mut { MAX_VERSIONS })
}

/// Returns the versions of a tile that stores a value; `None` if there would be more than the number that is left.
fn versions(nest: &Nest, at: &Domain, value: &PrimExpr, left: &mut usize) -> Option<Stmt> {
    let Some(Selection { select, always, never }) = find(nest.stage, at, value) else {
        return version(nest, at, value, left);
    };
    let (_, then, other) = guarded(&select)?;
    let side = |side: &PrimExpr, left: &mut usize| versions(nest, at, &replaced(value, &select, side), left);
    branch(
        &always,
        left,
        |left| side(then, left),
        |left| match &never {
            None => side(other, left),
            Some(never) => branch(never, left, |left| side(other, left), |left| version(nest, at, value, left)),
        },
    )
}

/// Returns the tile that stores a value.
fn version(nest: &Nest, at: &Domain, value: &PrimExpr, left: &mut usize) -> Option<Stmt> {
    *left = left.checked_sub(1)?;
    let stage = Stage { value: value.clone(), ..nest.stage.clone() };
    Some(tile::tile(&Nest { stage: &stage, ..*nest }, at))
}

/// Returns a branch, or the side that is taken if that is known.
fn branch(
    condition: &PrimExpr,
    left: &mut usize,
    then: impl Fn(&mut usize) -> Option<Stmt>,
    other: impl Fn(&mut usize) -> Option<Stmt>,
) -> Option<Stmt> {
    match condition.as_int() {
        Some(0) => other(left),
        Some(_) => then(left),
        None => {
            let (then, other) = (then(left)?, other(left)?);
            Some(Stmt::new(StmtKind::If(condition.clone(), Box::new(then), Some(Box::new(other)))))
        }
    }
}

/// Select between loads, whose condition can be decided for a whole tile.
struct Selection {
    select: PrimExpr,
    /// The condition that its condition holds for all elements.
    always: PrimExpr,
    /// The condition that it holds for none, if that is not the opposite.
    never: Option<PrimExpr>,
}

/// Returns the first such select of a value.
fn find(stage: &Stage, at: &Domain, value: &PrimExpr) -> Option<Selection> {
    let mut found = None;
    value.any(&mut |e| {
        found = selection(stage, at, e);
        found.is_some()
    });
    found
}

/// Returns true if a value is a select between loads, other than a load in padding.
pub fn is_select_of_loads(value: &PrimExpr) -> bool {
    guarded(value).is_some_and(|(_, then, other)| !is_padded_load(value) && then.has_loads() && other.has_loads())
}

fn selection(stage: &Stage, at: &Domain, select: &PrimExpr) -> Option<Selection> {
    let (condition, ..) = guarded(select).filter(|_| is_select_of_loads(select))?;
    let slacks =
        conjuncts(condition).iter().map(|condition| Slack::of(condition, stage, at)).collect::<Option<Vec<_>>>()?;
    let all = |condition: fn(&Slack) -> PrimExpr, both: fn(PrimExpr, PrimExpr) -> PrimExpr| {
        slacks.iter().map(condition).reduce(both)
    };
    let always = all(Slack::always, PrimExpr::and)?;
    let is_uniform = slacks.iter().all(Slack::is_uniform);
    let never = if is_uniform { None } else { all(Slack::never, PrimExpr::or) };
    Some(Selection { select: select.clone(), always, never })
}
