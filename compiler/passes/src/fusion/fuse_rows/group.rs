//! Kernels that are to become one, and what that costs.

use super::kernel::Kernel;
use hammock_ir::{
    relax::Var,
    tir::{
        Buffer,
        rows::{self, Access, Nest, NestAxis, Shared, shared},
    },
};

use std::rc::Rc;

/// What a symbolic size is taken for.
const TYPICAL: i64 = 256;
/// Rows that a kernel computes together.
const TILE: i64 = 8;
/// Bytes that are loaded at once.
const LINE: i64 = 64;
/// What may be read, or remembered, for each tile of rows at no cost, in bytes: it stays in a core's own cache.
const CACHE: i64 = 256 << 10;

/// A buffer of a group: a tensor that kernels hand on, or one inside of the kernel of a binding.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// A tensor.
    Tensor(Var),
    /// A buffer of a binding's kernel.
    Inner(Var, Buffer),
}

/// Kernel calls that become one kernel.
pub struct Group {
    /// The bindings, by their numbers, in order.
    pub members: Vec<usize>,
    /// About how many operations are written in its kernels.
    pub operations: i64,
    stages: Vec<Stage>,
    /// What is read again for each tile of rows, in bytes.
    repeated: i64,
}

/// A stage, of one of the members.
#[derive(Clone)]
struct Stage {
    member: usize,
    nest: Rc<Nest<Place>>,
    /// The bytes of an element that it stores, and of those that its loads load.
    widths: (i64, Vec<i64>),
    /// About how many operations an element takes.
    work: i64,
}

/// What running a kernel for each user costs, in bytes: an operation counts as one.
pub struct CostOfCopies {
    /// To compute it again.
    pub repeated: i64,
    /// To store it once and load it by all others.
    pub stored: i64,
}

/// What becomes of two groups that become one.
pub struct Merged {
    /// The group.
    pub group: Group,
    /// How.
    pub how: How,
}

/// Why one kernel is better than two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// The second works on each result of the first as it is computed.
    Epilogue,
    /// The first only rearranges what the second reads, which reads it where it is.
    Rearranged,
    /// Both work row by row.
    Rows {
        /// What need not be stored or loaded, in bytes.
        saved: i64,
        /// What is loaded again, in bytes.
        repeated: i64,
    },
}

/// Why two groups stay two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Apart {
    /// They share no rows.
    NoRows,
    /// What they would hand on for one row does not fit into the cache: the bytes of a tile.
    TooLong(i64),
    /// More would be loaded again than is saved: both in bytes.
    TooDear(i64, i64),
}

impl Group {
    /// The kernel call of one binding.
    pub fn new(number: usize, var: Var, kernel: &Kernel, operands: &[Option<Var>]) -> Group {
        let place = |buffer: &Buffer| match kernel.inputs.iter().position(|input| input == buffer) {
            Some(at) => operands[at].map_or_else(|| Place::Inner(var, buffer.clone()), Place::Tensor),
            None if *buffer == kernel.output => Place::Tensor(var),
            None => Place::Inner(var, buffer.clone()),
        };
        let access = |a: &Access<Buffer>| Access {
            buffer: place(&a.buffer),
            dims: a.dims.clone(),
            mixed: a.mixed.clone(),
            neighbours: a.neighbours.clone(),
        };
        let stage = |nest: &Nest<Buffer>| Stage {
            member: number,
            widths: (bytes(&nest.store), nest.loads.iter().map(bytes).collect()),
            work: kernel.work,
            nest: Rc::new(Nest {
                axes: nest.axes.clone(),
                store: access(&nest.store),
                loads: nest.loads.iter().map(access).collect(),
            }),
        };
        Group {
            members: vec![number],
            operations: kernel.work,
            stages: kernel.nests.iter().map(stage).collect(),
            repeated: 0,
        }
    }

    /// Returns true if one kernel is better than two. `tensor` is what the first hands to the second; `visible` says
    /// which tensors others need as well.
    pub fn merge(&self, user: &Group, tensor: Var, visible: &dyn Fn(Var) -> bool) -> Result<Merged, Apart> {
        let mut members: Vec<usize> = self.members.iter().chain(&user.members).copied().collect();
        members.sort_unstable();
        let mut stages: Vec<Stage> = self.stages.iter().chain(&user.stages).cloned().collect();
        stages.sort_by_key(|stage| stage.member);
        let own = self.repeated + user.repeated;
        let operations = self.operations.saturating_add(user.operations);
        if self.takes_epilogue(user, tensor) && !visible(tensor) {
            return Ok(Merged { group: Group { members, operations, stages, repeated: own }, how: How::Epilogue });
        }
        if self.only_rearranges() && !visible(tensor) {
            let stages = user.stages.clone();
            return Ok(Merged { group: Group { members, operations, stages, repeated: own }, how: How::Rearranged });
        }
        let axes = row_axes(&stages).ok_or(Apart::NoRows)?;
        let held = held(&stages, &axes, visible);
        if held > CACHE {
            return Err(Apart::TooLong(held));
        }
        let repeated = repeated(&stages, &axes);
        let stored = self.stages.iter().find(|stage| stage.nest.store.buffer == Place::Tensor(tensor));
        let size = stored.map_or(0, Stage::stored);
        let saved = if visible(tensor) { size } else { size.saturating_mul(2) };
        let more = repeated.saturating_sub(own);
        if more >= saved {
            return Err(Apart::TooDear(more, saved));
        }
        Ok(Merged { group: Group { members, operations, stages, repeated }, how: How::Rows { saved, repeated: more } })
    }

    /// What running the kernel once for each of so many users costs; `None` if it is more than one value for each element.
    pub fn cost_of_copies(&self, users: usize) -> Option<CostOfCopies> {
        let [stage] = self.stages.as_slice() else { return None };
        if stage.nest.axes.iter().any(|axis| axis.reduce) {
            return None;
        }
        let users = users as i64;
        let loaded = stage.loaded().map(|(_, bytes)| bytes).fold(0, i64::saturating_add);
        let work = stage.nest.axes.iter().map(extent).fold(stage.work, i64::saturating_mul);
        let repeated = loaded.saturating_mul(users).saturating_add(work.saturating_mul(users - 1));
        Some(CostOfCopies { repeated, stored: loaded.saturating_add(stage.stored().saturating_mul(users)) })
    }

    /// Returns true if it stores what it loads, in another order of rows: what is contiguous stays so.
    fn only_rearranges(&self) -> bool {
        let [stage] = self.stages.as_slice() else { return false };
        let (nest, [load]) = (&stage.nest, stage.nest.loads.as_slice()) else { return false };
        let long = |axis: &usize| extent(&nest.axes[*axis]) >= LINE / stage.widths.0.max(1);
        let is_row =
            |axis: &usize| nest.store.neighbours.contains(axis) && load.neighbours.contains(axis) && long(axis);
        let whole = nest.store.mixed.is_empty();
        stage.work == 0
            && stage.widths.0 == stage.widths.1[0]
            && whole
            && (0..nest.axes.len()).any(|axis| is_row(&axis))
    }

    /// Returns true if the user does something with each result as it is computed: it has no other axes than those of
    /// the result.
    fn takes_epilogue(&self, user: &Group, tensor: Var) -> bool {
        let Some(last) = self.stages.last().filter(|last| last.nest.store.buffer == Place::Tensor(tensor)) else {
            return false;
        };
        let spatial = |nest: &Nest<Place>| nest.axes.iter().filter(|axis| !axis.reduce && !is_unit(axis)).count();
        let all = spatial(&last.nest);
        let same = |stage: &Stage| !stage.nest.axes.iter().any(|axis| axis.reduce) && spatial(&stage.nest) == all;
        let nests: Vec<&Nest<Place>> = [last].into_iter().chain(&user.stages).map(|stage| &*stage.nest).collect();
        user.stages.iter().all(same) && shared(&nests).len() == all
    }
}

fn row_axes(stages: &[Stage]) -> Option<Vec<Shared<Place>>> {
    let nests: Vec<&Nest<Place>> = stages.iter().map(|stage| &*stage.nest).collect();
    rows::rows(&nests, |number| nests[number].contiguous())
}

/// The bytes that a tile of rows holds between stages.
fn held(stages: &[Stage], axes: &[Shared<Place>], visible: &dyn Fn(Var) -> bool) -> i64 {
    let of = |(number, stage): (usize, &Stage)| {
        let outside = matches!(stage.nest.store.buffer, Place::Tensor(var) if visible(var));
        let rows: i64 = rows(stages, axes, number);
        if outside { 0 } else { stage.stored() / rows.max(1) * TILE.min(rows) }
    };
    stages.iter().enumerate().map(of).fold(0, i64::saturating_add)
}

/// How many rows there are.
fn rows(stages: &[Stage], axes: &[Shared<Place>], number: usize) -> i64 {
    let extent = |shared: &Shared<Place>| extent(&stages[number].nest.axes[shared.axes[number]]);
    axes.iter().map(extent).fold(1, i64::saturating_mul)
}

/// The bytes that products load again for each tile of rows but the first: operands that are the same for all rows, where
/// they do not stay in the cache.
fn repeated(stages: &[Stage], axes: &[Shared<Place>]) -> i64 {
    let of = |(number, stage): (usize, &Stage)| {
        let tiles = (rows(stages, axes, number) / TILE).max(1);
        let is_row = |axis: &usize| axes.iter().any(|shared| shared.axes[number] == *axis);
        let whole = |load: &Access<Place>| !load.dims.iter().flatten().chain(&load.mixed).any(is_row);
        let sizes = stage.loaded().filter(|(load, _)| whole(load)).map(|(_, bytes)| bytes);
        sizes.filter(|size| *size > CACHE).map(|size| size.saturating_mul(tiles - 1)).fold(0, i64::saturating_add)
    };
    stages.iter().enumerate().map(of).fold(0, i64::saturating_add)
}

/// The bytes of all elements that a store or load goes over.
fn size(nest: &Nest<Place>, access: &Access<Place>, width: i64) -> i64 {
    let used = |axis: &usize| access.dims.contains(&Some(*axis)) || access.mixed.contains(axis);
    (0..nest.axes.len()).filter(used).map(|axis| extent(&nest.axes[axis])).fold(width, i64::saturating_mul)
}

fn extent(axis: &NestAxis) -> i64 {
    axis.extent.as_int().unwrap_or(TYPICAL)
}

fn is_unit(axis: &NestAxis) -> bool {
    axis.extent.as_int() == Some(1)
}

fn bytes(access: &Access<Buffer>) -> i64 {
    access.buffer.dtype.bytes() as i64
}

impl Stage {
    /// The bytes that it stores.
    fn stored(&self) -> i64 {
        size(&self.nest, &self.nest.store, self.widths.0)
    }

    /// Its loads, with the bytes that each goes over.
    fn loaded(&self) -> impl Iterator<Item = (&Access<Place>, i64)> {
        self.nest.loads.iter().zip(&self.widths.1).map(|(load, width)| (load, size(&self.nest, load, *width)))
    }
}
