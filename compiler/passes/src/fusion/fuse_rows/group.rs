//! Groups of kernels and the cost of fusing them.

use super::kernel::Kernel;
use hammock_ir::{relax::Var, tir::Buffer};
use hammock_loopnest::{
    Axis,
    row_axes::{Access, SharedAxis, StageAccesses, shared_axes, unvectorized_axes},
};
use hammock_target::{
    assumed_machine::{CACHE_LINE_BYTES, L2_BYTES},
    dynamic_extent,
};
use std::rc::Rc;

/// Rows in a tile.
const TILE_ROWS: i64 = 8;

/// A buffer of a group: a tensor passed between kernels, or a buffer inside a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum GroupBuffer {
    /// A tensor.
    Tensor(Var),
    /// A buffer of a binding's kernel.
    Inner(Var, Buffer),
}

/// Kernel calls that are fused into one kernel.
pub struct Group {
    /// Indices of its calls, in order.
    pub members: Vec<usize>,
    /// Approximate number of operations in the expressions of its kernels.
    pub operations: i64,
    stages: Vec<StageCost>,
    /// Bytes reloaded for each tile of rows.
    reloaded: i64,
}

/// Accesses, bytes and work of a member's stage.
#[derive(Clone)]
struct StageCost {
    member: usize,
    accesses: Rc<StageAccesses<GroupBuffer>>,
    /// Bytes per element of its store, and of each of its loads.
    widths: (i64, Vec<i64>),
    /// Approximate number of operations per element.
    work: i64,
}

/// Cost of rematerialization in bytes; an operation counts as one byte.
pub struct RematerializationCost {
    /// Cost of recomputing the result for each user.
    pub reloaded: i64,
    /// Cost of storing the result once and loading it in each user.
    pub stored: i64,
}

/// Result of fusing two groups.
pub struct FusedGroup {
    /// The group.
    pub group: Group,
    /// Kind of fusion.
    pub kind: FusionKind,
}

/// Kind of fusion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FusionKind {
    /// The second kernel is an epilogue of the first.
    Epilogue,
    /// The first only permutes rows, and the second loads its input directly.
    Permuted,
    /// Row tiling of both.
    Rows {
        /// Bytes neither stored nor loaded.
        saved: i64,
        /// Bytes loaded again.
        reloaded: i64,
    },
}

/// Reason why two groups are not fused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejected {
    /// They have no common row axes.
    NoCommonRows,
    /// The intermediates of a tile of rows exceed the cache: their bytes.
    ExceedsCache(i64),
    /// More bytes would be loaded again than are saved: both numbers.
    TooExpensive(i64, i64),
}

impl Group {
    /// A group of one call.
    pub fn new(number: usize, var: Var, kernel: &Kernel, operands: &[Option<Var>]) -> Group {
        let group_buffer = |buffer: &Buffer| match kernel.inputs.iter().position(|input| input == buffer) {
            Some(at) => operands[at].map_or_else(|| GroupBuffer::Inner(var, buffer.clone()), GroupBuffer::Tensor),
            None if *buffer == kernel.output => GroupBuffer::Tensor(var),
            None => GroupBuffer::Inner(var, buffer.clone()),
        };
        let cost = |stage: &StageAccesses<Buffer>| StageCost {
            member: number,
            widths: (bytes(&stage.store), stage.loads.iter().map(bytes).collect()),
            work: kernel.work,
            accesses: Rc::new(stage.with_keys(group_buffer)),
        };
        Group {
            members: vec![number],
            operations: kernel.work,
            stages: kernel.stages.iter().map(cost).collect(),
            reloaded: 0,
        }
    }

    /// Fuses two groups if one kernel is better. `tensor` is the result of the first that the second uses; `visible`
    /// returns true for tensors that are used elsewhere too.
    pub fn merge(&self, user: &Group, tensor: Var, visible: &dyn Fn(Var) -> bool) -> Result<FusedGroup, Rejected> {
        let mut members: Vec<usize> = self.members.iter().chain(&user.members).copied().collect();
        members.sort_unstable();
        let mut stages: Vec<StageCost> = self.stages.iter().chain(&user.stages).cloned().collect();
        stages.sort_by_key(|stage| stage.member);
        let own = self.reloaded + user.reloaded;
        let operations = self.operations.saturating_add(user.operations);
        if self.has_epilogue(user, tensor) && !visible(tensor) {
            return Ok(FusedGroup {
                group: Group { members, operations, stages, reloaded: own },
                kind: FusionKind::Epilogue,
            });
        }
        if self.only_permutes_rows() && !visible(tensor) {
            let stages = user.stages.clone();
            return Ok(FusedGroup {
                group: Group { members, operations, stages, reloaded: own },
                kind: FusionKind::Permuted,
            });
        }
        let axes = row_axes(&stages).ok_or(Rejected::NoCommonRows)?;
        let intermediate_bytes = intermediate_bytes(&stages, &axes, visible);
        if intermediate_bytes > L2_BYTES {
            return Err(Rejected::ExceedsCache(intermediate_bytes));
        }
        let reloaded = reloaded_bytes(&stages, &axes);
        let stored = self.stages.iter().find(|stage| stage.accesses.store.buffer == GroupBuffer::Tensor(tensor));
        let size = stored.map_or(0, StageCost::stored_bytes);
        let saved = if visible(tensor) { size } else { size.saturating_mul(2) };
        let more = reloaded.saturating_sub(own);
        if more >= saved {
            return Err(Rejected::TooExpensive(more, saved));
        }
        Ok(FusedGroup {
            group: Group { members, operations, stages, reloaded },
            kind: FusionKind::Rows { saved, reloaded: more },
        })
    }

    /// Returns the cost of running the kernel for each of `users` users; `None` if it is not a single stage without a
    /// reduction.
    pub fn cost_of_rematerialization(&self, users: usize) -> Option<RematerializationCost> {
        let [stage] = self.stages.as_slice() else { return None };
        if stage.accesses.axes.iter().any(|axis| axis.reduce) {
            return None;
        }
        let users = users as i64;
        let loaded = stage.loads_with_bytes().map(|(_, bytes)| bytes).fold(0, i64::saturating_add);
        let work = stage.accesses.axes.iter().map(extent).fold(stage.work, i64::saturating_mul);
        let reloaded = loaded.saturating_mul(users).saturating_add(work.saturating_mul(users - 1));
        Some(RematerializationCost {
            reloaded,
            stored: loaded.saturating_add(stage.stored_bytes().saturating_mul(users)),
        })
    }

    /// Returns true if it only permutes rows: contiguous elements stay contiguous.
    fn only_permutes_rows(&self) -> bool {
        let [stage] = self.stages.as_slice() else { return false };
        let (own, [load]) = (&stage.accesses, stage.accesses.loads.as_slice()) else { return false };
        let long = |axis: &usize| extent(&own.axes[*axis]) >= CACHE_LINE_BYTES / stage.widths.0.max(1);
        let is_row = |axis: &usize| own.store.neighbours.contains(axis) && load.neighbours.contains(axis) && long(axis);
        let whole = own.store.mixed.is_empty();
        stage.work == 0 && stage.widths.0 == stage.widths.1[0] && whole && (0..own.axes.len()).any(|axis| is_row(&axis))
    }

    /// Returns true if the user is an epilogue: it has no other axes than those of the result.
    fn has_epilogue(&self, user: &Group, tensor: Var) -> bool {
        let Some(last) = self.stages.last().filter(|last| last.accesses.store.buffer == GroupBuffer::Tensor(tensor))
        else {
            return false;
        };
        let spatial =
            |stage: &StageCost| stage.accesses.axes.iter().filter(|axis| !axis.reduce && !axis.is_unit()).count();
        let all = spatial(last);
        let same = |stage: &StageCost| !stage.accesses.axes.iter().any(|axis| axis.reduce) && spatial(stage) == all;
        let stages = [last].into_iter().chain(&user.stages);
        let accesses: Vec<&StageAccesses<GroupBuffer>> = stages.map(|stage| &*stage.accesses).collect();
        user.stages.iter().all(same) && shared_axes(&accesses).len() == all
    }
}

fn row_axes(stages: &[StageCost]) -> Option<Vec<SharedAxis<GroupBuffer>>> {
    let accesses: Vec<&StageAccesses<GroupBuffer>> = stages.iter().map(|stage| &*stage.accesses).collect();
    unvectorized_axes(&accesses, |number| accesses[number].contiguous())
}

/// Returns the bytes of the intermediates of a tile of rows.
fn intermediate_bytes(stages: &[StageCost], axes: &[SharedAxis<GroupBuffer>], visible: &dyn Fn(Var) -> bool) -> i64 {
    let of = |(number, stage): (usize, &StageCost)| {
        let outside = matches!(stage.accesses.store.buffer, GroupBuffer::Tensor(var) if visible(var));
        let rows: i64 = row_count(stages, axes, number);
        if outside { 0 } else { stage.stored_bytes() / rows.max(1) * TILE_ROWS.min(rows) }
    };
    stages.iter().enumerate().map(of).fold(0, i64::saturating_add)
}

/// Returns the number of rows.
fn row_count(stages: &[StageCost], axes: &[SharedAxis<GroupBuffer>], number: usize) -> i64 {
    let extent = |shared: &SharedAxis<GroupBuffer>| extent(&stages[number].accesses.axes[shared.axes[number]]);
    axes.iter().map(extent).fold(1, i64::saturating_mul)
}

/// Returns the bytes that contractions reload for each tile of rows but the first: operands that are the same for all
/// rows and exceed the cache.
fn reloaded_bytes(stages: &[StageCost], axes: &[SharedAxis<GroupBuffer>]) -> i64 {
    let of = |(number, stage): (usize, &StageCost)| {
        let tiles = (row_count(stages, axes, number) / TILE_ROWS).max(1);
        let is_row = |axis: &usize| axes.iter().any(|shared| shared.axes[number] == *axis);
        let whole = |load: &Access<GroupBuffer>| !load.dims.iter().flatten().chain(&load.mixed).any(is_row);
        let sizes = stage.loads_with_bytes().filter(|(load, _)| whole(load)).map(|(_, bytes)| bytes);
        sizes.filter(|size| *size > L2_BYTES).map(|size| size.saturating_mul(tiles - 1)).fold(0, i64::saturating_add)
    };
    stages.iter().enumerate().map(of).fold(0, i64::saturating_add)
}

/// Returns the bytes of all elements that a store or load touches.
fn size(stage: &StageAccesses<GroupBuffer>, access: &Access<GroupBuffer>, width: i64) -> i64 {
    let used = |axis: &usize| access.dims.contains(&Some(*axis)) || access.mixed.contains(axis);
    (0..stage.axes.len()).filter(used).map(|axis| extent(&stage.axes[axis])).fold(width, i64::saturating_mul)
}

fn extent(axis: &Axis) -> i64 {
    axis.extent.as_int().unwrap_or(dynamic_extent::FUSED_TRAFFIC)
}

fn bytes(access: &Access<Buffer>) -> i64 {
    access.buffer.dtype.bytes() as i64
}

impl StageCost {
    /// Returns the bytes that it stores.
    fn stored_bytes(&self) -> i64 {
        size(&self.accesses, &self.accesses.store, self.widths.0)
    }

    /// Returns its loads with the bytes that each touches.
    fn loads_with_bytes(&self) -> impl Iterator<Item = (&Access<GroupBuffer>, i64)> {
        self.accesses.loads.iter().zip(&self.widths.1).map(|(load, width)| (load, size(&self.accesses, load, *width)))
    }
}
