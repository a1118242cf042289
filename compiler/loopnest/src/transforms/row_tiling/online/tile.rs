//! The stages of an online softmax for a block of rows and a tile of their elements.

use super::{Online, Role, clamped, is_divisible, spatial_vars};
use crate::{
    Axis, Stage,
    access::{combiner, is_load_of},
    map_loads, replaced,
    row_axes::SharedAxis,
    row_tiling::{Rows, redirect_loads},
};
use hammock_ir::{
    DType, PrimExpr,
    prim::{BinaryOp, PrimKind, Var, binary},
    tir::Buffer,
};

/// The stages for one block of rows. Those that belong to a row-tiled stage have its number; the others maintain the
/// running maximum and sums.
pub struct OnlineTile {
    /// Stages that run first.
    pub before: Vec<(Option<usize>, Stage)>,
    /// Stages that run for each tile of elements.
    pub body: Vec<(Option<usize>, Stage)>,
    /// Stages that run last.
    pub after: Vec<(Option<usize>, Stage)>,
    /// Buffers of the block.
    pub buffers: Vec<Buffer>,
    /// The running maximum of each row, in a buffer of its own and where stages read it.
    pub(super) max: [Running; 2],
    /// The running sums.
    pub(super) sums: Vec<Running>,
}

/// A running value, for each row of a block.
pub(super) struct Running {
    /// Its axes.
    pub axes: Vec<Axis>,
    /// Its buffer.
    pub buffer: Buffer,
    /// Where it is.
    pub at: Vec<PrimExpr>,
    /// Index of its row; none if a block has one row.
    pub row: Vec<PrimExpr>,
}

impl Running {
    /// Returns the load of the value.
    pub fn load(&self) -> PrimExpr {
        PrimExpr::load(&self.buffer, self.at.clone())
    }
}

/// Position and size of a tile.
pub struct TilePosition<'a> {
    /// Position of the first row.
    pub rows: &'a [PrimExpr],
    /// Number of rows.
    pub row_count: i64,
    /// Position of the first element.
    pub element: &'a PrimExpr,
    /// Number of elements.
    pub element_count: i64,
    /// True if the tile may reach beyond the last row and the last element. Otherwise all of it is inside.
    pub clamps: bool,
}

impl OnlineTile {
    /// Returns the stages that belong to row-tiled stages, in their order.
    pub fn row_tiled(self) -> Vec<Stage> {
        let all = self.before.into_iter().chain(self.body).chain(self.after);
        let mut own: Vec<(usize, Stage)> = all.filter_map(|(number, stage)| Some((number?, stage))).collect();
        own.sort_by_key(|(number, _)| *number);
        own.into_iter().map(|(_, stage)| stage).collect()
    }
}

impl Rows {
    /// Returns the stages of an online softmax for a tile. Rows and elements outside are computed from the last one, and
    /// neither counted nor stored.
    pub fn online_tile(&self, online: &Online, at: &TilePosition<'_>) -> OnlineTile {
        let local = self.local_buffers(at.row_count);
        let buffers = local.iter().enumerate().map(|(number, buffer)| {
            let dim = online.dims[number].map(|dim| self.local_dim(number, dim, at.row_count));
            dim.map_or_else(|| buffer.clone(), |dim| resized(buffer, dim, at.element_count))
        });
        let buffers: Vec<Buffer> = buffers.collect();
        Builder { rows: self, online, at, local, buffers }.tile()
    }

    /// Returns the extent of a row: the number of its elements.
    pub fn online_extent(&self, online: &Online) -> PrimExpr {
        let mut extents =
            self.stages.iter().zip(&online.axes).filter_map(|(stage, axis)| Some(&stage.axes[(*axis)?].extent));
        extents.next().cloned().unwrap_or_else(|| PrimExpr::int64(0))
    }

    /// Returns the row axes that the stages for tiles of some rows do not have.
    fn removed_axes(&self, row_count: i64) -> &[SharedAxis<Buffer>] {
        &self.axes[..self.axes.len() - usize::from(row_count > 1)]
    }

    /// Returns the dimension of an intermediate in its buffer for a tile.
    fn local_dim(&self, intermediate: usize, dim: usize, row_count: i64) -> usize {
        let buffer = &self.intermediates[intermediate];
        let is_removed =
            |dim: &usize| self.removed_axes(row_count).iter().any(|axis| axis.dims.get(buffer) == Some(dim));
        dim - (0..dim).filter(is_removed).count()
    }

    /// Returns the index of a stage's axis in its stage for a tile.
    pub(super) fn local_axis(&self, number: usize, axis: usize, row_count: i64) -> usize {
        axis - self.removed_axes(row_count).iter().filter(|shared| shared.axes[number] < axis).count()
    }
}

struct Builder<'a> {
    rows: &'a Rows,
    online: &'a Online,
    at: &'a TilePosition<'a>,
    /// Buffers of intermediates for all elements of the rows.
    local: Vec<Buffer>,
    /// The same for a tile of elements.
    buffers: Vec<Buffer>,
}

impl Builder<'_> {
    fn tile(mut self) -> OnlineTile {
        let of_rows = |name: &str| {
            let rows = (self.at.row_count > 1).then(|| PrimExpr::int64(self.at.row_count));
            Buffer::new(name, rows.into_iter().collect(), self.max_dtype())
        };
        let (max, factor) = (of_rows("running_max"), of_rows("rescale"));
        let running = self.running_max(&max);
        let (before, body, after, buffers) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut tile = OnlineTile { before, body, after, buffers, max: running, sums: Vec::new() };
        for (number, role) in self.online.roles.iter().enumerate() {
            match role {
                Role::Before => tile.before.push((Some(number), self.stage(number, true))),
                Role::Element => tile.body.push((Some(number), self.of_elements(number).0)),
                Role::Max => self.max(number, &factor, &mut tile),
                Role::Exp => tile.body.push((Some(number), self.exponential(number))),
                Role::Sum => self.sum(number, &factor, &mut tile),
                Role::After => tile.after.push((Some(number), self.stage(number, false))),
            }
        }
        tile.buffers.extend([max, factor]);
        tile.buffers.append(&mut self.buffers);
        tile
    }

    /// Returns the running maximum, in a buffer of its own and where stages read it.
    fn running_max(&self, own: &Buffer) -> [Running; 2] {
        let number = self.max_stage();
        let stage = self.of_elements(number).0;
        let axes: Vec<Axis> = stage.axes.iter().filter(|axis| !axis.reduce).cloned().collect();
        let row = self.row(number, &stage);
        [(own, &row), (&stage.buffer, &stage.indices)].map(|(buffer, at)| Running {
            axes: axes.clone(),
            buffer: buffer.clone(),
            at: at.clone(),
            row: row.clone(),
        })
    }

    /// Returns the index of the row in a stage; none if a block has one.
    fn row(&self, number: usize, stage: &Stage) -> Vec<PrimExpr> {
        let axis = self.local_row_axis(number).map(|axis| stage.axes[axis].var.expr());
        axis.into_iter().collect()
    }

    /// Returns the index of the tiled row axis in a stage for a tile.
    fn local_row_axis(&self, number: usize) -> Option<usize> {
        let axis = self.rows.axes[self.rows.axes.len() - 1].axes[number];
        (self.at.row_count > 1).then(|| self.rows.local_axis(number, axis, self.at.row_count))
    }

    /// Returns the stage for all elements of the block's rows. `clamps`: with all rows of the block, those outside being
    /// the last one; otherwise only with those inside.
    fn stage(&self, number: usize, clamps: bool) -> Stage {
        let mut stage = self.local_stage(number, clamps);
        if let Some(extent) = self.rows.extents().next_back()
            && !clamps
            && self.at.clamps
            && !is_divisible(extent, self.at.row_count)
        {
            let left = self.at.rows.last().map_or_else(|| extent.clone(), |first| extent - first.clone());
            let axis = self.local_row_axis(number);
            axis.into_iter()
                .for_each(|axis| stage.axes[axis].extent = PrimExpr::int64(self.at.row_count).min(left.clone()));
        }
        self.in_tile(&stage, None)
    }

    /// Returns the stage with the local buffers. `clamps`: rows outside are the last one.
    fn local_stage(&self, number: usize, clamps: bool) -> Stage {
        let (rows, count) = (self.rows, self.at.row_count);
        let extent = rows.extents().next_back().filter(|_| clamps && self.at.clamps);
        let index = |index: PrimExpr| match extent {
            Some(extent) => clamped(index, extent, count),
            None => index,
        };
        rows.local_stage(number, &rows.stages[number], self.at.rows, count, &self.local, &index)
    }

    /// Returns a stage with the buffers of a tile of elements, which the stage's axis `var` is along.
    fn in_tile(&self, stage: &Stage, var: Option<&Var>) -> Stage {
        let locate = |buffer: &Buffer, indices: &[PrimExpr]| {
            if *buffer == stage.buffer {
                return (self.tile_buffer(buffer), stage.indices.clone());
            }
            let Some(number) = self.local.iter().position(|own| own == buffer) else {
                return (buffer.clone(), indices.to_vec());
            };
            let mut indices = indices.to_vec();
            if let (Some(dim), Some(var)) = (self.online.dims[number], var) {
                indices[self.rows.local_dim(number, dim, self.at.row_count)] = var.expr();
            }
            (self.buffers[number].clone(), indices)
        };
        let mut own = stage.map_values(|value| redirect_loads(value, &locate));
        own.buffer = self.tile_buffer(&stage.buffer);
        if let Some(epilogue) = &mut own.epilogue {
            epilogue.buffer = self.tile_buffer(&epilogue.buffer);
        }
        own
    }

    fn tile_buffer(&self, buffer: &Buffer) -> Buffer {
        let number = self.local.iter().position(|own| own == buffer);
        number.map_or_else(|| buffer.clone(), |number| self.buffers[number].clone())
    }

    /// Returns a stage for the elements of the tile. Also returns the condition that an element is inside of the row.
    fn of_elements(&self, number: usize) -> (Stage, Option<PrimExpr>) {
        let (rows, extent) = (self.rows, self.rows.online_extent(self.online));
        let mut stage = self.local_stage(number, true);
        let Some(axis) = self.online.axes[number].map(|axis| rows.local_axis(number, axis, self.at.row_count)) else {
            return (stage, None);
        };
        let var = stage.axes[axis].var.clone();
        let element = self.at.element.clone() + var.expr();
        let may_be_outside = self.at.clamps && !is_divisible(&extent, self.at.element_count);
        let inside = may_be_outside.then(|| element.clone().lt(extent.clone()));
        let position = if may_be_outside { clamped(element, &extent, self.at.element_count) } else { element };
        stage = stage.map_values(|value| value.substitute(&[(var.clone(), position.clone())].into_iter().collect()));
        stage.axes[axis].extent = PrimExpr::int64(self.at.element_count);
        (self.in_tile(&stage, Some(&var)), inside)
    }

    /// Adds the stages of the running maximum, and of the factor by which sums are rescaled.
    fn max(&self, number: usize, factor: &Buffer, tile: &mut OnlineTile) {
        let (mut stage, inside) = self.of_elements(number);
        let lowest = PrimExpr::float(f64::NEG_INFINITY, stage.buffer.dtype);
        if let (Some(inside), Some((_, term))) = (inside, combiner(&stage)) {
            let term = term.clone();
            stage.value = replaced(&stage.value, &term, &inside.select(term.clone(), lowest.clone()));
        }
        let [own, read] = &tile.max;
        let of_rows = |name: &str, buffer: &Buffer, value: PrimExpr| {
            (None, Stage::new(name, own.axes.clone(), buffer.clone(), own.row.clone(), value))
        };
        let (old, new) = (own.load(), read.load());
        let start = of_rows("start_max", &own.buffer, lowest);
        let factor = of_rows("rescale", factor, (old.clone() - shift(new.clone())).unary("exp"));
        let advance = of_rows("advance_max", &own.buffer, new);
        stage.init = Some(PrimExpr::load(&own.buffer, self.row(number, &stage)));
        tile.before.push(start);
        tile.body.extend([(Some(number), stage), factor, advance]);
    }

    fn exponential(&self, number: usize) -> Stage {
        let (stage, inside) = self.of_elements(number);
        let max = self.max_buffer();
        let value = map_loads(&stage.value, &max, &|load| shift(load.clone()));
        let zero = PrimExpr::float(0.0, value.dtype());
        let value = inside.map_or(value.clone(), |inside| inside.select(value, zero));
        Stage { value, ..stage }
    }

    /// Adds the stages of a running sum.
    fn sum(&self, number: usize, factor: &Buffer, tile: &mut OnlineTile) {
        let (mut stage, inside) = self.of_elements(number);
        if let (Some(inside), Some((_, term))) = (inside, combiner(&stage)) {
            stage.value = replaced(&stage.value, term, &self.with_zeros_outside(term, &inside));
        }
        let is_own = self.buffers.contains(&stage.buffer) && stage.epilogue.is_none();
        let at = if is_own { stage.indices.clone() } else { spatial_vars(&stage) };
        let spatial: Vec<Axis> = stage.axes.iter().filter(|axis| !axis.reduce).cloned().collect();
        let result = stage.buffer.clone();
        if !is_own {
            let sizes = spatial.iter().map(|axis| axis.extent.clone()).collect();
            stage.buffer = Buffer::new(result.name.clone(), sizes, result.dtype);
            tile.buffers.push(stage.buffer.clone());
        }
        let own = PrimExpr::load(&stage.buffer, at.clone());
        let row = self.row(number, &stage);
        stage.value = map_loads(&stage.value, &result, &|_| own.clone());
        stage.init = Some(own * PrimExpr::load(factor, row.clone()));
        stage.indices = at.clone();
        stage.epilogue = None;
        let zero = PrimExpr::constant(0.0, stage.buffer.dtype);
        tile.before.push((None, Stage::new("start_sum", spatial.clone(), stage.buffer.clone(), at.clone(), zero)));
        tile.sums.push(Running { axes: spatial, buffer: stage.buffer.clone(), at, row });
        if !is_own {
            tile.after.push((None, self.result(number, &stage.buffer)));
        }
        tile.body.push((Some(number), stage));
    }

    /// Returns a product with an exponential whose other factors are zero outside of the row, as the exponential is: the
    /// element that is read there may be infinite.
    fn with_zeros_outside(&self, term: &PrimExpr, inside: &PrimExpr) -> PrimExpr {
        let PrimKind::Binary(BinaryOp::Mul, a, b) = term.kind() else { return term.clone() };
        let zero = |factor: &PrimExpr| inside.clone().select(factor.clone(), PrimExpr::constant(0.0, factor.dtype()));
        let is_exponential = |e: &PrimExpr| self.exponentials().any(|buffer| e.any(&mut |e| is_load_of(e, buffer)));
        match is_exponential(a) {
            true => binary(BinaryOp::Mul, self.with_zeros_outside(a, inside), zero(b)),
            false => binary(BinaryOp::Mul, zero(a), self.with_zeros_outside(b, inside)),
        }
    }

    /// Returns the buffers of the exponentials.
    fn exponentials(&self) -> impl Iterator<Item = &Buffer> {
        let numbers = (0..self.online.roles.len()).filter(|number| self.online.roles[*number] == Role::Exp);
        let own = numbers.filter_map(|number| {
            let target = self.rows.stages[number].target();
            self.rows.intermediates.iter().position(|buffer| buffer == target)
        });
        own.map(|number| &self.buffers[number])
    }

    /// Returns the stage that stores a sum, after its epilogue.
    fn result(&self, number: usize, sum: &Buffer) -> Stage {
        let stage = self.stage(number, false);
        let load = PrimExpr::load(sum, spatial_vars(&stage));
        let axes: Vec<Axis> = stage.axes.iter().filter(|axis| !axis.reduce).cloned().collect();
        let (buffer, indices, value) = match &stage.epilogue {
            Some(epilogue) => {
                let value = map_loads(&epilogue.value, &stage.buffer, &|_| load.clone());
                (epilogue.buffer.clone(), epilogue.indices.clone(), value)
            }
            None => (stage.buffer.clone(), stage.indices.clone(), load),
        };
        Stage::new(format!("{}_result", stage.name), axes, buffer, indices, value)
    }

    fn max_buffer(&self) -> Buffer {
        let target = self.rows.stages[self.max_stage()].target();
        let number = self.rows.intermediates.iter().position(|own| own == target);
        number.map_or_else(|| target.clone(), |number| self.buffers[number].clone())
    }

    fn max_stage(&self) -> usize {
        self.online.roles.iter().position(|role| *role == Role::Max).unwrap_or_default()
    }

    fn max_dtype(&self) -> DType {
        self.max_buffer().dtype
    }
}

/// Returns a maximum that is finite even if all elements are minus infinity, so that their exponentials are zero.
pub(super) fn shift(max: PrimExpr) -> PrimExpr {
    let lowest = PrimExpr::float(f32::MIN.into(), max.dtype());
    binary(BinaryOp::Max, max, lowest)
}

/// Returns the buffer with another size of a dimension.
fn resized(buffer: &Buffer, dim: usize, size: i64) -> Buffer {
    let mut shape = buffer.shape.to_vec();
    shape[dim] = PrimExpr::int64(size);
    Buffer::new(buffer.name.clone(), shape, buffer.dtype)
}
