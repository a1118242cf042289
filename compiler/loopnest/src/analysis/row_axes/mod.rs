//! Row tiling: row axes that the stages of a kernel share.
//!
//! If every stage of a softmax has an axis for the row and reads only its own row of other stages' results, all stages
//! can run on one row before the next, and intermediates shrink to one row. Both kernel fusion and loop generation
//! depend on this: [`shared`] finds such axes.

use super::Buffer;
use crate::{
    PrimExpr,
    arith::Analyzer,
    equal,
    prim::{Substitution, Var},
};
use rustc_hash::FxHashMap;
use std::hash::Hash;

/// A stage: loops around one store. `K` identifies buffers.
pub struct Nest<K> {
    /// The axes.
    pub axes: Vec<NestAxis>,
    /// The store.
    pub store: Access<K>,
    /// The loads, in the order of the value.
    pub loads: Vec<Access<K>>,
}

/// An axis that starts at zero.
#[derive(Clone)]
pub struct NestAxis {
    /// Its variable.
    pub var: Var,
    /// Extent.
    pub extent: PrimExpr,
    /// True for a reduction axis.
    pub reduce: bool,
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
pub struct Shared<K> {
    /// Axis index in each stage.
    pub axes: Vec<usize>,
    /// Dimension index in each buffer that a stage stores to.
    pub dims: FxHashMap<K, usize>,
}

impl<K> Nest<K> {
    /// Creates a stage with simplified indices and without axes of extent one.
    pub fn new<'a>(
        axes: Vec<NestAxis>,
        store: (K, &'a Buffer, &'a [PrimExpr]),
        loads: impl IntoIterator<Item = (K, &'a Buffer, &'a [PrimExpr])>,
    ) -> Self {
        let mut analyzer = Analyzer::new();
        let mut units = Substitution::default();
        for axis in &axes {
            match axis.extent.as_int() {
                Some(1) => _ = units.insert(axis.var.clone(), PrimExpr::int(0, axis.var.dtype())),
                _ => analyzer.bind(&axis.var, &PrimExpr::int(0, axis.var.dtype()), &axis.extent),
            }
        }
        let simple = |index: &PrimExpr| match index.as_var().is_some_and(|var| !units.contains_key(var)) {
            true => index.clone(),
            false => analyzer.simplify(&index.substitute(&units)),
        };
        let access = |(key, buffer, indices): (K, &Buffer, &[PrimExpr])| {
            let indices: Vec<PrimExpr> = indices.iter().map(simple).collect();
            let axis = |(index, size): (&PrimExpr, &PrimExpr)| {
                let same = |extent: &PrimExpr| equal::exprs(extent, size) || analyzer.prove_eq(extent, size);
                axes.iter().position(|axis| index.as_var() == Some(&axis.var) && same(&axis.extent))
            };
            let dims: Vec<Option<usize>> = indices.iter().zip(&buffer.shape).map(axis).collect();
            let uses = |at: usize, axis: &usize| indices[at].uses(&axes[*axis].var);
            let others = |axis: &usize| (0..dims.len()).any(|at| dims[at].is_none() && uses(at, axis));
            let steps = |axis: &usize| {
                let inner = (1..indices.len()).any(|at| uses(at - 1, axis));
                !inner && indices.last().is_some_and(|last| has_unit_stride(&analyzer, last, &axes[*axis].var))
            };
            let (mixed, neighbours) =
                ((0..axes.len()).filter(others).collect(), (0..axes.len()).filter(steps).collect());
            Access { buffer: key, dims, mixed, neighbours }
        };
        let store = access(store);
        let loads = loads.into_iter().map(access).collect();
        Nest { axes, store, loads }
    }

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
        let is_row = |row: &usize| !self.axes[*row].reduce && self.axes[*row].extent.as_int() != Some(1);
        let apart = |row: usize| {
            let only = |own: usize, other: usize| self.loads.iter().any(|load| load.uses(own) && !load.uses(other));
            only(axis, row) && only(row, axis)
        };
        reduces && (0..self.axes.len()).filter(is_row).any(apart)
    }
}

/// Returns true if an index has stride one in a variable.
fn has_unit_stride(analyzer: &Analyzer, index: &PrimExpr, var: &Var) -> bool {
    let next = index.substitute(&[(var.clone(), var.expr() + PrimExpr::int(1, var.dtype()))].into_iter().collect());
    index.uses(var) && analyzer.simplify(&(next - index)).as_int() == Some(1)
}

/// The axes that all stages share, in the last stage's order.
pub fn shared<K: Clone + Eq + Hash>(nests: &[&Nest<K>]) -> Vec<Shared<K>> {
    let mut users: FxHashMap<&K, Vec<usize>> = FxHashMap::default();
    for (at, nest) in nests.iter().enumerate() {
        if users.insert(&nest.store.buffer, vec![at]).is_some() {
            return Vec::new();
        }
    }
    for (at, nest) in nests.iter().enumerate() {
        for load in &nest.loads {
            if let Some(users) = users.get_mut(&load.buffer) {
                users.push(at);
            }
        }
    }
    let Some(last) = nests.last().copied() else { return Vec::new() };
    let own = |axis: &usize| !last.axes[*axis].reduce && last.axes[*axis].extent.as_int() != Some(1);
    (0..last.axes.len()).filter(own).filter_map(|axis| trace_axis(nests, &users, axis)).collect()
}

/// The shared axes that no stage needs for vectorization; `None` if there are none, or if stages have no other axes.
/// `lanes` returns the axis along which a stage is vectorized: it is shared only if all other axes of the stage are.
pub fn rows<K: Clone + Eq + Hash>(
    nests: &[&Nest<K>],
    lanes: impl Fn(usize) -> Option<usize>,
) -> Option<Vec<Shared<K>>> {
    let mut axes = shared(nests);
    let is_within = |number: usize, axes: &[Shared<K>]| {
        let own = nests[number].axes.iter().enumerate();
        let mut own = own.filter(|(_, axis)| axis.reduce || axis.extent.as_int() != Some(1));
        own.all(|(at, _)| axes.iter().any(|shared| shared.axes[number] == at))
    };
    let needs = |axes: &[Shared<K>], shared: &Shared<K>| {
        let mut all = shared.axes.iter().enumerate();
        all.any(|(number, axis)| lanes(number) == Some(*axis) && !is_within(number, axes))
    };
    while let Some(at) = axes.iter().position(|axis| needs(&axes, axis)) {
        axes.remove(at);
    }
    let more = (0..nests.len()).any(|number| !is_within(number, &axes));
    (more && !axes.is_empty()).then_some(axes)
}

/// Traces an axis of the last stage through buffers into all other stages.
fn trace_axis<K: Clone + Eq + Hash>(
    nests: &[&Nest<K>],
    users: &FxHashMap<&K, Vec<usize>>,
    axis: usize,
) -> Option<Shared<K>> {
    let mut axes: Vec<Option<usize>> = vec![None; nests.len()];
    let mut dims: FxHashMap<K, usize> = FxHashMap::default();
    let mut open = vec![(nests.len() - 1, axis)];
    while let Some((at, axis)) = open.pop() {
        match axes[at] {
            Some(known) if known == axis => continue,
            Some(_) => return None,
            None => axes[at] = Some(axis),
        }
        let nest = nests[at];
        if nest.axes[axis].reduce {
            return None;
        }
        for access in nest.loads.iter().chain([&nest.store]) {
            let Some(users) = users.get(&access.buffer) else { continue };
            let mut along = (0..access.dims.len()).filter(|dim| access.dims[*dim] == Some(axis));
            let (Some(dim), None) = (along.next(), along.next()) else { return None };
            if access.mixed.contains(&axis) || *dims.entry(access.buffer.clone()).or_insert(dim) != dim {
                return None;
            }
            for user in users.iter().filter(|user| axes[**user].is_none()) {
                let nest = nests[*user];
                let mut accesses = nest.loads.iter().chain([&nest.store]).filter(|a| a.buffer == access.buffer);
                open.push((*user, accesses.next().and_then(|a| a.dims[dim])?));
            }
        }
    }
    Some(Shared { axes: axes.into_iter().collect::<Option<_>>()?, dims })
}

#[cfg(test)]
mod tests;
