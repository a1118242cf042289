//! Types of a loop's state.

use super::Loop;
use crate::{
    node::{Node, Result, shown_size},
    value::{Value, sequence::ObjectType},
};
use hammock_ir::{
    PrimExpr, TensorShape, TensorType, Type, prim,
    relax::{InferError, Operand},
};
use hammock_ops::dims;

/// The state after an iteration.
pub struct NextState {
    /// Its values.
    pub values: Vec<Value>,
    /// The values as operands.
    pub operands: Vec<Operand>,
    /// Number of variables before the loop.
    pub vars_before: usize,
}

/// The state of a loop: its initial values and the types of all iterations.
pub struct State<'v> {
    /// Initial values.
    pub values: &'v [Value],
    /// Initial values as operands.
    pub initial: Vec<Operand>,
    /// Types of tensors; those of other values are in `objects`.
    pub types: Vec<TensorType>,
    /// Types of values that are not tensors of numbers.
    pub objects: Vec<Option<ObjectType>>,
    /// Axes whose size changes, or may change.
    pub dynamic_axes: Vec<(usize, usize)>,
}

impl<'v> State<'v> {
    pub fn new(n: &mut Node, form: &Loop, values: &'v [Value]) -> Result<Self> {
        let build = &mut n.importer.build;
        let initial = values.iter().map(|value| build.object_operand(value)).collect::<Result<Vec<_>>>()?;
        let objects: Vec<_> = values.iter().map(ObjectType::of).collect();
        let mut types = Vec::new();
        for (operand, object) in initial.iter().zip(&objects) {
            types.push(match object {
                Some(_) => TensorType::with_rank(Some(0), None),
                None => build.dims(operand).and_then(|_| build.tensor(operand))?,
            });
        }
        let mut state = State { values, initial, types, objects, dynamic_axes: Vec::new() };
        let known = form.graph.and_then(|graph| n.importer.dynamic_axes.get(&graph)).cloned();
        known.unwrap_or_default().into_iter().for_each(|(at, axis)| state.set_dynamic(at, axis));
        Ok(state)
    }

    fn set_dynamic(&mut self, at: usize, axis: usize) {
        let Some(ty) = self.types.get_mut(at) else { return };
        let mut dims = ty.dims().unwrap_or_default().to_vec();
        if let Some(dim) = dims.get_mut(axis) {
            *dim = prim::Var::int64("d").expr();
            ty.shape = TensorShape::Known(dims.into());
            self.dynamic_axes.push((at, axis));
        }
    }

    /// Records the dynamic axes for imports of the loops around this one.
    pub fn remember(&self, n: &mut Node, form: &Loop) {
        if let Some(graph) = form.graph {
            n.importer.dynamic_axes.insert(graph, self.dynamic_axes.clone());
        }
    }

    /// Makes axes dynamic that an iteration changes; false if there are none.
    pub fn generalize(&mut self, n: &mut Node, next: &NextState) -> Result<bool> {
        let mut changed = Vec::new();
        let has_new_objects = self.generalize_objects(n, next)?;
        for (at, (before, after)) in self.types.iter().zip(&next.operands).enumerate() {
            if self.objects[at].is_some() {
                continue;
            }
            let after = n.importer.build.tensor(after)?;
            let (Some(from), Some(to)) = (before.dims(), after.dims()) else {
                return n.error(format!("the shape of state {at} after an iteration is not known"));
            };
            if before.dtype != after.dtype {
                let name = |ty: &TensorType| ty.dtype.map_or_else(String::new, |dtype| dtype.to_string());
                let (before, after) = (name(before), name(&after));
                return n.error(format!("state {at} is {before} before an iteration and {after} after it"));
            }
            if from.len() != to.len() {
                let (from, to) = (shape_text(from), shape_text(to));
                let error = format!("the rank of state {at} changes from {from} to {to} in an iteration");
                return Err(InferError::new(error).help("the state of a loop needs one rank"));
            }
            let differs = |axis: &usize| dims::equal(&from[*axis], &to[*axis]) != Some(true);
            let axes = (0..from.len()).filter(differs).map(|axis| (at, axis));
            changed.extend(axes.filter(|axis| !self.dynamic_axes.contains(axis)));
        }
        changed.iter().for_each(|(at, axis)| self.set_dynamic(*at, *axis));
        Ok(!changed.is_empty() || has_new_objects)
    }

    /// Joins the types of values that are not tensors with those after an iteration; false if that changes nothing.
    fn generalize_objects(&mut self, n: &mut Node, next: &NextState) -> Result<bool> {
        let mut has_new = false;
        for (at, after) in next.values.iter().enumerate() {
            let build = &mut n.importer.build;
            let before = match &self.objects[at] {
                Some(object) => object.value(self.initial[at].clone()),
                None => self.values[at].clone(),
            };
            let Some(mut joined) = build.joined_type(&before, after).map_err(|error| {
                InferError::new(format!("state {at} before and after an iteration: {}", error.message))
            })?
            else {
                continue;
            };
            joined.retain_dims(|dim| build.is_dim_of_first_vars(dim, next.vars_before));
            if !self.objects[at].as_ref().is_some_and(|own| own.is_same(&joined)) {
                has_new = true;
            }
            self.objects[at] = Some(joined);
        }
        Ok(has_new)
    }

    /// Returns the type of a value in all iterations.
    pub fn type_of(&self, at: usize) -> Type {
        if self.objects[at].is_some() { Type::Any } else { self.types[at].clone().into() }
    }

    /// Returns the type of the final state as the caller knows it.
    pub fn result_type(&self, at: usize) -> Type {
        if self.objects[at].is_some() {
            return Type::Any;
        }
        let ty = self.types[at].clone();
        let is_dynamic = self.dynamic_axes.iter().any(|(own, _)| *own == at);
        let shape = if is_dynamic { TensorShape::Rank(ty.ndim().unwrap_or(0)) } else { ty.shape };
        TensorType { shape, ..ty }.into()
    }
}

fn shape_text(shape: &[PrimExpr]) -> String {
    format!("({})", shape.iter().map(shown_size).collect::<Vec<_>>().join(", "))
}
