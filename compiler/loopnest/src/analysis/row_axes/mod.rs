//! Row tiling: row axes that the stages of a kernel share.
//!
//! If every stage of a softmax has an axis for the row and reads only its own row of other stages' results, all stages
//! can run on one row before the next, and intermediates shrink to one row. Both kernel fusion and row tiling depend on
//! this: [`shared_axes`] finds such axes, [`unvectorized_axes`] those that no stage is vectorized along.

use crate::{Axis, Stage};
use hammock_ir::{
    PrimExpr,
    arith::Analyzer,
    equal,
    prim::{PrimKind, Substitution, Var},
    tir::Buffer,
};
use rustc_hash::FxHashMap;
use std::hash::Hash;

/// The accesses of a stage, described by its axes. `K` identifies buffers.
pub struct StageAccesses<K> {
    /// The axes.
    pub axes: Vec<Axis>,
    /// The store of the final value.
    pub store: Access<K>,
    /// The loads, in the order of the values.
    pub loads: Vec<Access<K>>,
}

/// A load or store, described by the axes of its indices.
#[derive(Clone)]
pub struct Access<K> {
    /// The buffer.
    pub buffer: K,
    /// For each of the buffer's dimensions, the axis that covers it, if its index is one.
    pub dims: Vec<Option<usize>>,
    /// Axes used by the other indices.
    pub mixed: Vec<usize>,
    /// Axes along which the access is contiguous.
    pub neighbours: Vec<usize>,
}

impl<K> Access<K> {
    /// Returns true if an index depends on an axis.
    fn uses(&self, axis: usize) -> bool {
        self.dims.contains(&Some(axis)) || self.mixed.contains(&axis)
    }
}

/// An axis that all stages share.
#[derive(Clone)]
pub struct SharedAxis<K> {
    /// Axis index in each stage.
    pub axes: Vec<usize>,
    /// Dimension index in each buffer that a stage stores to.
    pub dims: FxHashMap<K, usize>,
}

impl StageAccesses<Buffer> {
    /// Returns the accesses of a stage; axes of extent one count as zero. `None` if its values have side effects, if it
    /// accesses memory other than by plain loads, or if it is an arg-reduction.
    pub fn of(stage: &Stage) -> Option<Self> {
        let mut loads = Vec::new();
        let mut is_plain = stage.arg_result.is_none();
        for value in stage.values() {
            value.walk(&mut |e| match e.kind() {
                PrimKind::Load(buffer, _, None) if stage.epilogue.is_some() && *buffer == stage.buffer => {}
                PrimKind::Load(buffer, indices, None) => loads.push((buffer, indices.as_slice())),
                PrimKind::Let(..) | PrimKind::Reduce(_) | PrimKind::Load(_, _, Some(_)) => is_plain = false,
                PrimKind::Var(var) => is_plain &= !var.dtype().is_handle(),
                PrimKind::Call(call) => is_plain &= !call.runs_function(),
                _ => {}
            });
        }
        is_plain.then(|| {
            let indices = AxisIndices::new(&stage.axes);
            let store = indices.access(stage.target(), stage.target_indices());
            let loads = loads.into_iter().map(|(buffer, at)| indices.access(buffer, at)).collect();
            StageAccesses { axes: stage.axes.clone(), store, loads }
        })
    }

    /// Returns the accesses with other keys for the buffers.
    pub fn with_keys<K>(&self, key: impl Fn(&Buffer) -> K) -> StageAccesses<K> {
        let access = |access: &Access<Buffer>| Access {
            buffer: key(&access.buffer),
            dims: access.dims.clone(),
            mixed: access.mixed.clone(),
            neighbours: access.neighbours.clone(),
        };
        StageAccesses {
            axes: self.axes.clone(),
            store: access(&self.store),
            loads: self.loads.iter().map(access).collect(),
        }
    }
}

/// Describes accesses by the axes of a stage.
struct AxisIndices<'a> {
    axes: &'a [Axis],
    analyzer: Analyzer,
    /// Values of the axes of extent one.
    units: Substitution,
}

impl<'a> AxisIndices<'a> {
    fn new(axes: &'a [Axis]) -> Self {
        let mut analyzer = Analyzer::new();
        let mut units = Substitution::default();
        for axis in axes {
            let zero = PrimExpr::int(0, axis.var.dtype());
            match axis.is_unit() {
                true => _ = units.insert(axis.var.clone(), zero),
                false => analyzer.bind(&axis.var, &zero, &axis.extent),
            }
        }
        AxisIndices { axes, analyzer, units }
    }

    fn access(&self, buffer: &Buffer, indices: &[PrimExpr]) -> Access<Buffer> {
        let indices: Vec<PrimExpr> = indices.iter().map(|index| self.simple(index)).collect();
        let dims: Vec<Option<usize>> =
            indices.iter().zip(&buffer.shape).map(|(index, size)| self.axis(index, size)).collect();
        let uses = |at: usize, axis: &usize| indices[at].uses(&self.axes[*axis].var);
        let others = |axis: &usize| (0..dims.len()).any(|at| dims[at].is_none() && uses(at, axis));
        let steps = |axis: &usize| {
            let inner = (1..indices.len()).any(|at| uses(at - 1, axis));
            !inner && indices.last().is_some_and(|last| self.has_unit_stride(last, &self.axes[*axis].var))
        };
        let all = 0..self.axes.len();
        let (mixed, neighbours) = (all.clone().filter(others).collect(), all.filter(steps).collect());
        Access { buffer: buffer.clone(), dims, mixed, neighbours }
    }

    fn simple(&self, index: &PrimExpr) -> PrimExpr {
        match index.as_var().is_some_and(|var| !self.units.contains_key(var)) {
            true => index.clone(),
            false => self.analyzer.simplify(&index.substitute(&self.units)),
        }
    }

    /// The axis that covers a dimension of a given size, if the index is one.
    fn axis(&self, index: &PrimExpr, size: &PrimExpr) -> Option<usize> {
        let same = |extent: &PrimExpr| equal::exprs(extent, size) || self.analyzer.prove_eq(extent, size);
        self.axes.iter().position(|axis| index.as_var() == Some(&axis.var) && same(&axis.extent))
    }

    /// Returns true if an index has stride one in a variable.
    fn has_unit_stride(&self, index: &PrimExpr, var: &Var) -> bool {
        let next = index.substitute(&[(var.clone(), var.expr() + PrimExpr::int(1, var.dtype()))].into_iter().collect());
        index.uses(var) && self.analyzer.simplify(&(next - index)).as_int() == Some(1)
    }
}

impl<K> StageAccesses<K> {
    /// The axis along which the store is contiguous, if all loads that depend on it are contiguous too, or are a matmul
    /// operand, which can be packed in that order.
    pub fn contiguous(&self) -> Option<usize> {
        let axis = (*self.store.dims.last()?)?;
        let fits = |load: &Access<K>| load.neighbours.contains(&axis) || !load.uses(axis);
        (self.loads.iter().all(fits) || self.is_contraction_output(axis)).then_some(axis)
    }

    /// Returns true for an output axis of a contraction: one operand depends on it, the other on another axis.
    fn is_contraction_output(&self, axis: usize) -> bool {
        let reduces = self.axes.iter().any(|axis| axis.reduce);
        let is_row = |row: &usize| !self.axes[*row].reduce && !self.axes[*row].is_unit();
        let apart = |row: usize| {
            let only = |own: usize, other: usize| self.loads.iter().any(|load| load.uses(own) && !load.uses(other));
            only(axis, row) && only(row, axis)
        };
        reduces && (0..self.axes.len()).filter(is_row).any(apart)
    }
}

/// The axes that all stages share, in the last stage's order.
pub fn shared_axes<K: Clone + Eq + Hash>(stages: &[&StageAccesses<K>]) -> Vec<SharedAxis<K>> {
    let mut users: FxHashMap<&K, Vec<usize>> = FxHashMap::default();
    for (at, stage) in stages.iter().enumerate() {
        if users.insert(&stage.store.buffer, vec![at]).is_some() {
            return Vec::new();
        }
    }
    for (at, stage) in stages.iter().enumerate() {
        for load in &stage.loads {
            if let Some(users) = users.get_mut(&load.buffer) {
                users.push(at);
            }
        }
    }
    let Some(last) = stages.last().copied() else { return Vec::new() };
    let own = |axis: &usize| !last.axes[*axis].reduce && !last.axes[*axis].is_unit();
    (0..last.axes.len()).filter(own).filter_map(|axis| trace_axis(stages, &users, axis)).collect()
}

/// The shared axes that no stage needs for vectorization: row axes. `None` if there are none, or if stages have no
/// other axes. `lanes` returns the axis along which a stage is vectorized: it is shared only if all other axes of
/// the stage are.
pub fn unvectorized_axes<K: Clone + Eq + Hash>(
    stages: &[&StageAccesses<K>],
    lanes: impl Fn(usize) -> Option<usize>,
) -> Option<Vec<SharedAxis<K>>> {
    let mut axes = shared_axes(stages);
    let is_within = |number: usize, axes: &[SharedAxis<K>]| is_within(stages[number], number, axes);
    let needs = |axes: &[SharedAxis<K>], shared: &SharedAxis<K>| {
        let mut all = shared.axes.iter().enumerate();
        all.any(|(number, axis)| lanes(number) == Some(*axis) && !is_within(number, axes))
    };
    while let Some(at) = axes.iter().position(|axis| needs(&axes, axis)) {
        axes.remove(at);
    }
    let more = (0..stages.len()).any(|number| !is_within(number, &axes));
    (more && !axes.is_empty()).then_some(axes)
}

/// Returns true if stages share all of their axes, and are vectorized along the same one.
pub fn share_all_axes<K: Clone + Eq + Hash>(
    stages: &[&StageAccesses<K>],
    lanes: impl Fn(usize) -> Option<usize>,
) -> bool {
    let axes = shared_axes(stages);
    let is_along = |shared: &SharedAxis<K>| (0..stages.len()).all(|number| lanes(number) == Some(shared.axes[number]));
    axes.iter().any(is_along) && stages.iter().enumerate().all(|(number, stage)| is_within(stage, number, &axes))
}

/// Returns true if all axes of a stage are among shared ones.
fn is_within<K>(stage: &StageAccesses<K>, number: usize, axes: &[SharedAxis<K>]) -> bool {
    let mut own = stage.axes.iter().enumerate().filter(|(_, axis)| axis.reduce || !axis.is_unit());
    own.all(|(at, _)| axes.iter().any(|shared| shared.axes[number] == at))
}

/// Traces an axis of the last stage through buffers into all other stages.
fn trace_axis<K: Clone + Eq + Hash>(
    stages: &[&StageAccesses<K>],
    users: &FxHashMap<&K, Vec<usize>>,
    axis: usize,
) -> Option<SharedAxis<K>> {
    let mut axes: Vec<Option<usize>> = vec![None; stages.len()];
    let mut dims: FxHashMap<K, usize> = FxHashMap::default();
    let mut open = vec![(stages.len() - 1, axis)];
    while let Some((at, axis)) = open.pop() {
        match axes[at] {
            Some(known) if known == axis => continue,
            Some(_) => return None,
            None => axes[at] = Some(axis),
        }
        let stage = stages[at];
        if stage.axes[axis].reduce {
            return None;
        }
        for access in stage.loads.iter().chain([&stage.store]) {
            let Some(users) = users.get(&access.buffer) else { continue };
            let mut along = (0..access.dims.len()).filter(|dim| access.dims[*dim] == Some(axis));
            let (Some(dim), None) = (along.next(), along.next()) else { return None };
            if access.mixed.contains(&axis) || *dims.entry(access.buffer.clone()).or_insert(dim) != dim {
                return None;
            }
            for user in users.iter().filter(|user| axes[**user].is_none()) {
                let stage = stages[*user];
                let mut accesses = stage.loads.iter().chain([&stage.store]).filter(|a| a.buffer == access.buffer);
                open.push((*user, accesses.next().and_then(|a| a.dims[dim])?));
            }
        }
    }
    Some(SharedAxis { axes: axes.into_iter().collect::<Option<_>>()?, dims })
}

#[cfg(test)]
mod tests;
