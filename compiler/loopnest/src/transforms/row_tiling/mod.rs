//! Row tiling: runs a chain of row-wise stages one block of rows at a time, so that intermediates stay in cache.
//!
//! Softmax is the model: maximum, exponentials, sum and quotient of each row. One after the other, each stage streams
//! through all of memory; with row tiling, only the intermediates of one block of rows exist at a time. The same holds
//! for other normalizations, and for attention, whose rows are queries. [`row_axes`](crate::row_axes) decides which
//! axes are rows; this module checks the other conditions, and builds the tiles.

mod accesses;
mod alias_output;
mod copies;
mod members;
mod online;

use crate::{
    Axis, Epilogue, Kernel, Machine, Part, Stage,
    access::{size, vector_axis},
    contraction, dots,
    row_axes::SharedAxis,
    transforms::{Transform, collapse_narrow_axes},
};
use accesses::Accesses;
pub use copies::SharedCopy;
use hammock_ir::{
    PrimExpr,
    prim::{PrimKind, Substitution, Var},
    tir::Buffer,
};
use hammock_target::{assumed_machine::L2_BYTES, dynamic_extent};
use members::Members;
pub use online::{Combination, ElementBounds, Online, OnlineTile, Partials, TilePosition};

/// See the module's documentation.
pub static TRANSFORM: Transform = Transform {
    name: "row-tiling",
    doc: "Groups row-wise stages, which then run one block of rows at a time",
    may_alias: false,
    suits_gpus: true,
    run: |kernel, scope| apply(kernel, scope.own, scope.machine),
};

/// Maximum bytes of the intermediates of a row in the shared memory of a GPU's block. Half of what can be declared, since
/// inputs that several stages read are there too.
const MAX_SHARED_ROW_BYTES: i64 = 24 << 10;

/// Maximum number of rows that share a large operand in one tile.
const MAX_ROWS_OF_ONE_TILE: i64 = 32;

/// Row-tiled stages, in order.
#[derive(Clone)]
pub struct Rows {
    /// The stages.
    pub stages: Vec<Stage>,
    /// Their common row axes; the last one is tiled.
    axes: Vec<SharedAxis<Buffer>>,
    /// Buffers local to the stages: only the current rows are in memory.
    intermediates: Vec<Buffer>,
    /// Another local buffer, which [aliases the output](alias_output).
    aliased: Option<Buffer>,
    /// True if narrow axes of elementwise stages are [collapsed](collapse_narrow_axes) in tiles.
    collapses_narrow_axes: bool,
}

/// The stages for one block of rows.
pub struct Tile {
    /// The stages without row axes, or with one of the tile size.
    pub stages: Vec<Stage>,
    /// Buffers of the intermediates.
    pub buffers: Vec<Buffer>,
}

/// Groups stages of a kernel into row tiles. `own` are the kernel's local buffers.
fn apply(kernel: &mut Kernel, own: &[Buffer], machine: Machine) {
    let mut accesses = Accesses::of(&kernel.parts);
    for last in (1..kernel.parts.len()).rev() {
        if accesses.has_joined(last) {
            continue;
        }
        let Some(members) = Members::before(&kernel.parts, &accesses, last) else { continue };
        if !machine.is_gpu() && members.lengthen_vectors(&kernel.parts) {
            continue;
        }
        let rows = rows(&kernel.parts, &accesses, members.axes, &members.parts, own, machine);
        let rows = if machine.is_gpu() { rows.and_then(Rows::for_a_gpu) } else { rows };
        let Some(rows) = rows else { continue };
        kernel.parts[last] = Part::Rows(rows);
        let (joined, _) = members.parts.split_at(members.parts.len() - 1);
        joined.iter().for_each(|part| accesses.mark_joined(*part));
    }
    let mut at = 0..;
    kernel.parts.retain(|_| at.next().is_none_or(|at| !accesses.has_joined(at)));
}

fn rows(
    parts: &[Part],
    accesses: &Accesses,
    mut axes: Vec<SharedAxis<Buffer>>,
    members: &[usize],
    own: &[Buffer],
    machine: Machine,
) -> Option<Rows> {
    let stage = |at: &usize| match &parts[*at] {
        Part::Stage(stage) => Some(stage.clone()),
        _ => None,
    };
    let stages: Vec<Stage> = members.iter().filter_map(stage).collect();
    // All rows of a contraction read the same packed groups, which small tiles would load or pack over and over.
    let reductions = stages.iter().filter(|stage| stage.reduces()).count();
    if reductions < 2 && stages.iter().any(|stage| dots::dot(stage).is_some()) {
        return None;
    }
    // Contractions have several rows in their register tile: that axis comes last.
    let is_row_axis = |axis: &SharedAxis<Buffer>| {
        stages.iter().zip(&axis.axes).any(|(stage, axis)| contraction::contraction_rows(stage) == Some(*axis))
    };
    if let Some(at) = axes.iter().position(is_row_axis) {
        let tiled = axes.remove(at);
        axes.push(tiled);
    }
    let is_used_elsewhere = |buffer: &Buffer| accesses.users(buffer).iter().any(|user| !members.contains(user));
    let targets = stages.iter().map(Stage::target);
    let intermediates = targets.filter(|buffer| own.contains(buffer) && !is_used_elsewhere(buffer)).cloned().collect();
    let rows = Rows { stages, axes, intermediates, aliased: None, collapses_narrow_axes: !machine.is_gpu() };
    // The intermediates of a single row must stay in cache.
    let fits = rows.bytes(1) <= L2_BYTES && (machine.is_gpu() || !rows.are_few_for_an_operand());
    fits.then_some(rows)
}

impl Rows {
    /// Aliases an intermediate with the output if possible. Needs to know which stages may alias.
    pub fn alias_output(&mut self) {
        self.aliased = alias_output::in_result(&mut self.stages, &mut self.intermediates);
    }

    /// Returns the rows with the axis last that blocks of a GPU tile. `None` if blocks do not compute rows: each one row,
    /// or several or parts of one with an online softmax.
    fn for_a_gpu(mut self) -> Option<Rows> {
        self.tile_shared_axis();
        let is_online = |rows: &Rows| rows.online().is_some_and(|online| rows.suits_blocks(&online));
        (self.fit_a_block() || is_online(&self)).then_some(self)
    }

    /// Returns true if one block of a GPU computes a row: the work of each stage is linear in the length of the row, whose
    /// intermediates are in shared memory.
    pub fn fit_a_block(&self) -> bool {
        let is_linear = |(number, stage): (usize, &Stage)| {
            let rows: Vec<usize> = self.row_axes(number).collect();
            let has_results = (0..stage.axes.len()).any(|axis| !stage.axes[axis].reduce && !rows.contains(&axis));
            !(has_results && stage.reduces()) && stage.arg_result.is_none()
        };
        self.bytes(1) <= MAX_SHARED_ROW_BYTES && self.stages.iter().enumerate().all(is_linear)
    }

    /// Returns true if all rows would be one tile, since they share an operand of a contraction that exceeds the cache.
    /// Each stage by itself is parallel along that operand's columns, and its results are no larger.
    fn are_few_for_an_operand(&self) -> bool {
        let count = self.extents().try_fold(1, |count: i64, extent| count.checked_mul(extent.as_int()?));
        let exceeds_cache = |(number, stage): (usize, &Stage)| {
            let operand = vector_axis(stage).and_then(|axis| contraction::vector_operand(stage, &stage.axes[axis].var));
            operand.is_some_and(|operand| {
                let is_row_invariant = self.row_axes(number).all(|axis| !operand.uses(&stage.axes[axis].var));
                let used = stage.axes.iter().filter(|axis| operand.uses(&axis.var)).map(|axis| size(&axis.extent));
                is_row_invariant && used.fold(operand.dtype().bytes() as i64, i64::saturating_mul) > L2_BYTES
            })
        };
        count.is_some_and(|count| count <= MAX_ROWS_OF_ONE_TILE) && self.stages.iter().enumerate().any(exceeds_cache)
    }

    /// Returns the extents of the row axes.
    pub fn extents(&self) -> impl DoubleEndedIterator<Item = &PrimExpr> + ExactSizeIterator {
        let last = self.stages.len() - 1;
        self.axes.iter().map(move |axis| &self.stages[last].axes[axis.axes[last]].extent)
    }

    /// Returns the variables of the row axes in the last stage.
    pub fn vars(&self) -> impl Iterator<Item = &Var> {
        let last = self.stages.len() - 1;
        self.axes.iter().map(move |axis| &self.stages[last].axes[axis.axes[last]].var)
    }

    /// Returns the indices of the row axes in a stage.
    pub fn row_axes(&self, stage: usize) -> impl Iterator<Item = usize> {
        self.axes.iter().map(move |axis| axis.axes[stage])
    }

    /// Returns true if a buffer is an intermediate, which holds the current rows only.
    pub fn is_intermediate(&self, buffer: &Buffer) -> bool {
        self.intermediates.contains(buffer)
    }

    /// Estimates the bytes of the intermediates of `rows` rows.
    pub fn bytes(&self, rows: i64) -> i64 {
        let of = |buffer: &Buffer| {
            let is_row = |dim: &usize| self.axes.iter().any(|axis| axis.dims.get(buffer) == Some(dim));
            let others = (0..buffer.shape.len()).filter(|dim| !is_row(dim));
            let sizes = others.map(|dim| buffer.shape[dim].as_int().unwrap_or(dynamic_extent::INTERMEDIATE_BYTES));
            sizes.fold(rows * buffer.dtype.bytes() as i64, i64::saturating_mul)
        };
        self.intermediates.iter().chain(&self.aliased).map(of).fold(0, i64::saturating_add)
    }

    /// Returns the stages for `rows` rows at a symbolic position.
    pub fn sample(&self, rows: i64) -> Tile {
        let position: Vec<PrimExpr> = self.vars().map(Var::expr).collect();
        self.tile(&position, rows)
    }

    /// Returns the stages for `rows` rows starting at a position.
    pub fn tile(&self, position: &[PrimExpr], rows: i64) -> Tile {
        let buffers = self.local_buffers(rows);
        let stage = |(number, stage)| {
            let mut stage = self.local_stage(number, stage, position, rows, &buffers, &|index| index);
            if self.collapses_narrow_axes {
                collapse_narrow_axes::apply(&mut stage);
            }
            stage
        };
        Tile { stages: self.stages.iter().enumerate().map(stage).collect(), buffers }
    }

    /// Returns the buffers for the current rows of the intermediates.
    fn local_buffers(&self, rows: i64) -> Vec<Buffer> {
        self.intermediates.iter().map(|buffer| self.local(buffer, rows)).collect()
    }

    /// Returns the buffer for the current rows of an intermediate.
    fn local(&self, buffer: &Buffer, rows: i64) -> Buffer {
        let size = |(dim, size): (usize, &PrimExpr)| match self.row_axis(buffer, dim) {
            None => Some(size.clone()),
            Some(axis) => (axis + 1 == self.axes.len() && rows > 1).then(|| PrimExpr::int64(rows)),
        };
        let shape = buffer.shape.iter().enumerate().filter_map(size).collect();
        Buffer::new(buffer.name.clone(), shape, buffer.dtype)
    }

    /// Returns the index of the row axis that indexes a dimension of a buffer.
    fn row_axis(&self, buffer: &Buffer, dim: usize) -> Option<usize> {
        self.axes.iter().position(|axis| axis.dims.get(buffer) == Some(&dim))
    }

    /// Returns a stage for `rows` rows. `index` maps indices of the tiled axis.
    fn local_stage(
        &self,
        number: usize,
        stage: &Stage,
        position: &[PrimExpr],
        rows: i64,
        buffers: &[Buffer],
        index: &dyn Fn(PrimExpr) -> PrimExpr,
    ) -> Stage {
        let tiled = self.axes.len() - 1;
        let row = Var::int64(stage.axes[self.axes[tiled].axes[number]].var.name().clone());
        let mut values = Substitution::default();
        let mut axes = Vec::new();
        for (at, axis) in stage.axes.iter().enumerate() {
            match self.axes.iter().position(|shared| shared.axes[number] == at) {
                None => axes.push(axis.clone()),
                Some(shared) if shared == tiled && rows > 1 => {
                    values.insert(axis.var.clone(), index(&position[shared] + row.expr()));
                    axes.push(Axis::spatial(row.clone(), PrimExpr::int64(rows)));
                }
                Some(shared) => _ = values.insert(axis.var.clone(), position[shared].clone()),
            }
        }
        let locate = |buffer: &Buffer, indices: &[PrimExpr]| {
            let Some(at) = self.intermediates.iter().position(|intermediates| intermediates == buffer) else {
                return (buffer.clone(), indices.to_vec());
            };
            let index = |(dim, index): (usize, &PrimExpr)| match self.row_axis(buffer, dim) {
                None => Some(index.clone()),
                Some(axis) => (axis == tiled && rows > 1).then(|| row.expr()),
            };
            (buffers[at].clone(), indices.iter().enumerate().filter_map(index).collect())
        };
        let value = |e: &PrimExpr| redirect_loads(e, &locate).substitute(&values);
        let store = |buffer: &Buffer, indices: &[PrimExpr]| {
            let (buffer, indices) = locate(buffer, indices);
            (buffer, indices.iter().map(value).collect())
        };
        let epilogue = stage.epilogue.as_ref().map(|epilogue| {
            let (buffer, indices) = store(&epilogue.buffer, &epilogue.indices);
            Epilogue { buffer, indices, value: value(&epilogue.value) }
        });
        let (buffer, indices) = store(&stage.buffer, &stage.indices);
        let init = stage.init.as_ref().map(value);
        Stage { axes, buffer, indices, value: value(&stage.value), init, epilogue, ..stage.clone() }
    }
}

/// Redirects the loads of an expression.
fn redirect_loads(e: &PrimExpr, locate: &dyn Fn(&Buffer, &[PrimExpr]) -> (Buffer, Vec<PrimExpr>)) -> PrimExpr {
    match e.kind() {
        PrimKind::Load(buffer, indices, None) => {
            let indices: Vec<PrimExpr> = indices.iter().map(|index| redirect_loads(index, locate)).collect();
            let (buffer, indices) = locate(buffer, &indices);
            PrimExpr::load(&buffer, indices)
        }
        _ => e.map_children(&mut |child| redirect_loads(child, locate)),
    }
}
