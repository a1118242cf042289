//! Online softmax: row-tiled stages with a softmax in the middle, such as attention, run over the elements of a row (the
//! keys) in tiles. The maximum so far grows with every tile, and what has been summed up is rescaled when it does, so
//! that the scores of a row never exist as a whole.
//!
//! After Milakov and Gimelshein, "Online normalizer calculation for softmax" (2018), and Dao et al., "FlashAttention"
//! (2022).

mod bounds;
mod deferred_scale;
mod split;
mod tile;

use super::Rows;
use crate::{
    Stage,
    access::{combiner, size},
    index::same_expr,
};
pub use bounds::ElementBounds;
use hammock_ir::{
    PrimExpr,
    prim::{BinaryOp, PrimKind, Substitution, Var},
    tir::Buffer,
};
pub use split::{Combination, Partials};
pub use tile::{OnlineTile, TilePosition};

/// The part of a stage in an online softmax.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// It runs once per row, before the elements.
    Before,
    /// It computes a value for each element, such as the scores.
    Element,
    /// It computes the maximum of the elements.
    Max,
    /// It computes the exponentials of the elements minus the maximum.
    Exp,
    /// It sums up the exponentials, or products with them.
    Sum,
    /// It runs once per row, after the elements.
    After,
}

/// Rows and elements of the smallest tile.
const MIN_TILE: (i64, i64) = (16, 64);
/// Maximum bytes of a tile in the shared memory of a GPU's block. A quarter is left for copies of operands.
const MAX_TILE_BYTES: i64 = 36 << 10;

/// An online softmax in row-tiled stages.
pub struct Online {
    /// The part of each stage.
    roles: Vec<Role>,
    /// Axis of each stage along the elements of a row.
    axes: Vec<Option<usize>>,
    /// Dimension of each intermediate along the elements of a row.
    dims: Vec<Option<usize>>,
}

impl Rows {
    /// Returns the online softmax that the stages can run as.
    pub fn online(&self) -> Option<Online> {
        let is_max = |stage: &Stage| combiner(stage).is_some_and(|(op, _)| op == BinaryOp::Max);
        let max = self.stages.iter().position(is_max)?;
        let mut online = self.element_axes(max)?;
        for number in 0..self.stages.len() {
            online.roles.push(self.role(number, max, &online)?);
        }
        let has = |role: Role| online.roles.contains(&role);
        (has(Role::Exp) && has(Role::Sum) && self.is_read_in_order(&online)).then_some(online)
    }

    /// Returns true if blocks of a GPU run the online softmax: on tiles of rows that share elements, or on single rows.
    pub(super) fn suits_blocks(&self, online: &Online) -> bool {
        self.suits_tiles(online, MIN_TILE) || self.suits_tiles(online, (1, MIN_TILE.1))
    }

    /// Returns true if tiles of some rows suit them, and a tile fits into the shared memory of a GPU's block.
    pub fn suits_tiles(&self, online: &Online, (rows, elements): (i64, i64)) -> bool {
        self.fill_tiles(online, rows)
            && self.online_bytes(online, (rows, elements)).is_some_and(|bytes| bytes <= MAX_TILE_BYTES)
    }

    /// Returns true if there are enough rows for a tile, which share elements if they are several, and enough elements.
    pub fn fill_tiles(&self, online: &Online, rows: i64) -> bool {
        let is_long = |extent: &PrimExpr, count: i64| extent.as_int().is_none_or(|extent| extent >= count);
        self.extents().next_back().is_some_and(|extent| is_long(extent, rows))
            && (rows == 1 || self.share_elements(online, self.axes.len() - 1))
            && is_long(&self.online_extent(online), MIN_TILE.1)
    }

    /// Tiles the longest of the row axes along which rows share elements.
    pub(super) fn tile_shared_axis(&mut self) {
        let Some(online) = self.online() else { return };
        let extents: Vec<i64> = self.extents().map(size).collect();
        let shared = (0..extents.len()).filter(|axis| self.share_elements(&online, *axis));
        if let Some(longest) = shared.max_by_key(|axis| extents[*axis]) {
            let tiled = self.axes.remove(longest);
            self.axes.push(tiled);
        }
    }

    /// Returns the axis of a stage along the elements of a row, in its stage for a tile of some rows.
    pub fn online_axis(&self, online: &Online, number: usize, row_count: i64) -> Option<usize> {
        online.axes[number].map(|axis| self.local_axis(number, axis, row_count))
    }

    /// Returns true if the rows along a row axis read common data for each of their elements, such as keys.
    pub fn share_elements(&self, online: &Online, axis: usize) -> bool {
        let shares = |(number, stage): (usize, &Stage)| {
            let (row, element) = (self.axes[axis].axes[number], online.axes[number]);
            let is_common = |e: &PrimExpr| {
                matches!(e.kind(), PrimKind::Load(buffer, ..) if !self.is_intermediate(buffer))
                    && element.is_some_and(|element| e.uses(&stage.axes[element].var))
                    && !e.uses(&stage.axes[row].var)
            };
            stage.value.any(&mut |e| is_common(e))
        };
        self.stages.iter().enumerate().any(shares)
    }

    /// Returns the bytes of the buffers of a tile of rows and elements; `None` if a size is dynamic.
    pub fn online_bytes(&self, online: &Online, (row_count, element_count): (i64, i64)) -> Option<i64> {
        let position: Vec<PrimExpr> = self.vars().map(Var::expr).collect();
        let element = &PrimExpr::int64(0);
        let at = TilePosition { rows: &position, row_count, element, element_count, clamps: true };
        let tile = self.online_tile(online, &at);
        let bytes = |buffer: &Buffer| buffer.constant_bytes();
        tile.buffers.iter().map(bytes).try_fold(0i64, |all, bytes| all.checked_add(bytes?))
    }

    /// Follows the elements of a row from the stage of the maximum to the other stages, through intermediates.
    fn element_axes(&self, max: usize) -> Option<Online> {
        let mut reduced = (0..self.stages[max].axes.len()).filter(|axis| self.stages[max].axes[*axis].reduce);
        let mut online = Online {
            roles: Vec::new(),
            axes: vec![None; self.stages.len()],
            dims: vec![None; self.intermediates.len()],
        };
        online.axes[max] = reduced.next().filter(|_| reduced.next().is_none());
        online.axes[max]?;
        let mut is_changed = true;
        while is_changed {
            is_changed = false;
            for (number, stage) in self.stages.iter().enumerate() {
                for (buffer, indices) in self.accesses(stage) {
                    is_changed |= online.follow(number, stage, buffer, indices)?;
                }
            }
        }
        let extent = |number: usize| online.axes[number].map(|axis| &self.stages[number].axes[axis].extent);
        let is_same =
            |number: usize| extent(number).is_none_or(|own| extent(max).is_some_and(|all| same_expr(own, all)));
        ((0..self.stages.len()).all(is_same) && self.is_plain(&online)).then_some(online)
    }

    /// Returns the intermediates that a stage accesses, and their indices.
    fn accesses<'a>(&self, stage: &'a Stage) -> Vec<(usize, &'a [PrimExpr])> {
        let number = |buffer: &Buffer| self.intermediates.iter().position(|own| own == buffer);
        let stored = number(stage.target()).map(|buffer| (buffer, stage.target_indices()));
        let mut found: Vec<_> = stored.into_iter().collect();
        for value in stage.values() {
            value.walk(&mut |e| {
                if let PrimKind::Load(buffer, indices, _) = e.kind()
                    && let Some(buffer) = number(buffer)
                {
                    found.push((buffer, indices));
                }
            });
        }
        found
    }

    /// Returns true if no stage accesses other elements of an intermediate than its own, and none stores its elements to
    /// other memory.
    fn is_plain(&self, online: &Online) -> bool {
        self.stages.iter().zip(&online.axes).all(|(stage, axis)| {
            let var = axis.map(|axis| &stage.axes[axis].var);
            let is_own = |(buffer, indices): (usize, &[PrimExpr])| {
                indices.iter().enumerate().all(|(dim, index)| match online.dims[buffer] == Some(dim) {
                    true => index.as_var().is_some_and(|own| Some(own) == var),
                    false => var.is_none_or(|var| !index.uses(var)),
                })
            };
            let stores_elements = axis.is_some_and(|axis| !stage.axes[axis].reduce);
            let is_kept = |buffer: usize| self.intermediates[buffer] == *stage.target();
            let accesses = self.accesses(stage);
            (!stores_elements || accesses.iter().any(|(buffer, _)| is_kept(*buffer)))
                && accesses.into_iter().all(is_own)
                && !stage.regions
        })
    }

    /// Returns the part of a stage, without regard to what it reads; `None` if there is none for it.
    fn role(&self, number: usize, max: usize, online: &Online) -> Option<Role> {
        let stage = &self.stages[number];
        let Some(axis) = online.axes[number] else {
            return Some(if number < max { Role::Before } else { Role::After });
        };
        if !stage.axes[axis].reduce {
            return Some(if self.is_exponential(number, max, axis) { Role::Exp } else { Role::Element });
        }
        let reduces_more = stage.axes.iter().filter(|axis| axis.reduce).count() > 1;
        let init = stage.init.as_ref().filter(|_| !reduces_more).and_then(PrimExpr::as_float)?;
        let others = (0..stage.axes.len()).filter(|other| !stage.axes[*other].reduce);
        let is_row = |axis: usize| self.row_axes(number).any(|row| row == axis);
        match combiner(stage)? {
            (BinaryOp::Max, _) if number == max && init == f64::NEG_INFINITY && stage.epilogue.is_none() => {
                others.into_iter().all(is_row).then_some(Role::Max)
            }
            (BinaryOp::Add, _) if init == 0.0 => Some(Role::Sum),
            _ => None,
        }
    }

    /// Returns true if a stage computes `exp(x - max)` for the elements `x` of the maximum.
    fn is_exponential(&self, number: usize, max: usize, axis: usize) -> bool {
        let (stage, of) = (&self.stages[number], &self.stages[max]);
        let (Some(call), Some((_, element))) = (stage.value.as_intrin("exp"), combiner(of)) else { return false };
        let Some(PrimKind::Binary(BinaryOp::Sub, x, shift)) = call.args.first().map(PrimExpr::kind) else {
            return false;
        };
        let Some(reduced) = of.axes.iter().position(|axis| axis.reduce) else { return false };
        let pairs = self.row_axes(number).zip(self.row_axes(max)).chain([(axis, reduced)]);
        let vars: Substitution =
            pairs.map(|(own, other)| (stage.axes[own].var.clone(), of.axes[other].var.expr())).collect();
        !stage.reduces() && is_shift(shift, of.target()) && same_expr(&x.substitute(&vars), element)
    }

    /// Returns true if each stage reads only what its part has at its time.
    fn is_read_in_order(&self, online: &Online) -> bool {
        let role_of = |buffer: &Buffer| {
            let number = self.stages.iter().position(|stage| stage.target() == buffer)?;
            Some(online.roles[number])
        };
        let reads = |e: &PrimExpr, roles: &[Role]| {
            e.any(&mut |e| match e.kind() {
                PrimKind::Load(buffer, ..) => role_of(buffer).is_some_and(|role| roles.contains(&role)),
                _ => false,
            })
        };
        let is_ordered = |(stage, role): (&Stage, &Role)| match role {
            Role::Before => {
                !stage.values().any(|e| reads(e, &[Role::Element, Role::Max, Role::Exp, Role::Sum, Role::After]))
            }
            Role::Element | Role::Max => {
                let (_, own) = combiner(stage).unwrap_or((BinaryOp::Max, &stage.value));
                let epilogue = stage.epilogue.iter().map(|epilogue| &epilogue.value);
                !epilogue.chain([own]).any(|e| reads(e, &[Role::Max, Role::Exp, Role::Sum, Role::After]))
            }
            Role::Exp => !reads(&stage.value, &[Role::Exp, Role::Sum, Role::After]),
            Role::Sum => {
                let is_weighted = combiner(stage).is_some_and(|(_, term)| {
                    is_weighted(term, &|e| reads(e, &[Role::Exp]), &|e| {
                        reads(e, &[Role::Max, Role::Exp, Role::Sum, Role::After])
                    })
                });
                let epilogue = stage.epilogue.as_ref().map(|epilogue| &epilogue.value);
                is_weighted && !epilogue.is_some_and(|e| reads(e, &[Role::Element, Role::Exp, Role::After]))
            }
            Role::After => !stage.values().any(|e| reads(e, &[Role::Element, Role::Exp])),
        };
        self.stages.iter().zip(&online.roles).all(is_ordered)
    }
}

impl Online {
    /// Returns true if parts of rows can be computed on their own, and combined: nothing is computed before them.
    pub fn can_be_split(&self) -> bool {
        !self.roles.contains(&Role::Before)
    }

    /// Follows the elements between a stage and an intermediate that it accesses. Returns true if that is news, and
    /// `None` if it contradicts what is known.
    fn follow(&mut self, number: usize, stage: &Stage, buffer: usize, indices: &[PrimExpr]) -> Option<bool> {
        match (self.axes[number], self.dims[buffer]) {
            (None, Some(dim)) => {
                let var = indices[dim].as_var()?;
                self.axes[number] = Some(stage.axes.iter().position(|axis| axis.var == *var)?);
                Some(true)
            }
            (Some(axis), None) => {
                let var = &stage.axes[axis].var;
                self.dims[buffer] = indices.iter().position(|index| index.as_var() == Some(var));
                Some(self.dims[buffer].is_some())
            }
            _ => Some(false),
        }
    }
}

/// Returns true for the maximum that `max` has, or for the larger of it and a constant.
fn is_shift(e: &PrimExpr, max: &Buffer) -> bool {
    match e.kind() {
        PrimKind::Load(buffer, ..) => buffer == max,
        PrimKind::Binary(BinaryOp::Max, a, b) => is_shift(a, max) && b.as_float().is_some(),
        _ => false,
    }
}

/// Returns true if a term is proportional to one exponential: that itself, or a product with something else.
fn is_weighted(term: &PrimExpr, is_exp: &dyn Fn(&PrimExpr) -> bool, is_late: &dyn Fn(&PrimExpr) -> bool) -> bool {
    match term.kind() {
        PrimKind::Load(_, indices, None) => is_exp(term) && !indices.iter().any(is_late),
        PrimKind::Cast(value) => term.dtype().is_floating() && is_weighted(value, is_exp, is_late),
        PrimKind::Binary(BinaryOp::Mul, a, b) => {
            (is_weighted(a, is_exp, is_late) && !is_late(b)) || (is_weighted(b, is_exp, is_late) && !is_late(a))
        }
        _ => false,
    }
}

/// Returns an index that is not beyond the last of an extent, if `step` elements at a time may lead there.
fn clamped(index: PrimExpr, extent: &PrimExpr, step: i64) -> PrimExpr {
    if is_divisible(extent, step) { index } else { index.min(extent.clone() - PrimExpr::int64(1)) }
}

fn is_divisible(extent: &PrimExpr, step: i64) -> bool {
    step == 1 || extent.as_int().is_some_and(|extent| extent % step == 0)
}

/// Returns the variables of a stage's axes that are not reduced, as indices.
fn spatial_vars(stage: &Stage) -> Vec<PrimExpr> {
    stage.axes.iter().filter(|axis| !axis.reduce).map(|axis| Var::expr(&axis.var)).collect()
}
