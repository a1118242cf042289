//! Computations on weights alone, and their values needed at each run.

use super::{Lifted, body_of};
use crate::analysis::symbolic;
use hammock_ir::{
    PrimExpr, equal, hash,
    prim::Var as PrimVar,
    relax::{
        Binding, Body, Call, Function, Operand, Replacements, Value, Var,
        memory::{MemoryDependences, Writers},
    },
};
use hammock_ops::Table;
use rustc_hash::{FxHashMap, FxHashSet};

/// Plan of one function.
pub struct Plan {
    /// Number of inputs.
    pub inputs: usize,
    /// Sizes that its weights define.
    pub dims: Vec<PrimVar>,
    /// Its weights and values computed from them, with their variables in the transformation.
    pub known: FxHashMap<Var, Var>,
    /// Bindings that are lifted.
    pub lifted: FxHashSet<Var>,
    /// Variables that it uses at each run.
    runtime: FxHashSet<Var>,
    /// Sizes used at each run that inputs do not define, as indices among those of its weights.
    sizes: FxHashSet<usize>,
}

/// The transformation under construction: candidates of all functions, in its own variables.
pub struct Transform {
    function: Function,
    candidates: Vec<Candidate>,
    /// Candidates by hash of the value.
    by_value: FxHashMap<u64, Vec<usize>>,
    /// For each function, its variables that are known here.
    known: Vec<FxHashMap<Var, Var>>,
}

/// A binding that may be lifted.
struct Candidate {
    binding: Binding,
    /// Number of functions that have it.
    count: usize,
    /// True if it needs a weight.
    needs_weight: bool,
}

/// Returns the distinct sizes that a function's weights define.
pub fn dims(function: &Function) -> Vec<PrimVar> {
    let mut dims: Vec<PrimVar> = Vec::new();
    for param in &function.lambda.params[function.lambda.num_input().unwrap_or(0)..] {
        symbolic::each_dim(function.ty(*param), &mut |dim| {
            dims.extend(dim.as_var().filter(|v| !dims.contains(v) && function.scalar(*param) != Some(v)).cloned());
        });
    }
    dims
}

impl Transform {
    /// Collects the computations of these functions on their weights, which have the same types.
    pub fn of(functions: &[&Function], writers: &Writers) -> Self {
        let mut transform = Transform {
            function: Function::empty(),
            candidates: Vec::new(),
            by_value: FxHashMap::default(),
            known: Vec::new(),
        };
        for (i, function) in functions.iter().enumerate() {
            let weights = &function.lambda.params[function.lambda.num_input().unwrap_or(0)..];
            if i == 0 {
                let copies = weights.iter().map(|w| transform.function.vars.push(function.vars[*w].clone())).collect();
                transform.function.lambda.params = copies;
            }
            transform.known.push(weights.iter().copied().zip(transform.function.lambda.params.clone()).collect());
            // Sizes have different names in different functions: values that depend on them are not shared.
            let sizes = if functions.len() == 1 { symbolic::defined(function, weights) } else { Vec::new() };
            let memory = MemoryDependences::of(function, writers, &Table);
            transform.collect(i, function, &memory, &sizes, functions.len() > 1);
        }
        let shared = functions.len();
        for known in &mut transform.known {
            let dropped = transform.candidates.iter().filter(|c| c.count < shared).map(|c| c.binding.var);
            let dropped: FxHashSet<Var> = dropped.collect();
            known.retain(|_, theirs| !dropped.contains(theirs));
        }
        transform.candidates.retain(|c| c.count == shared);
        transform
    }

    fn collect(&mut self, i: usize, function: &Function, memory: &MemoryDependences, sizes: &[PrimVar], shared: bool) {
        let from_inputs =
            symbolic::defined(function, &function.lambda.params[..function.lambda.num_input().unwrap_or(0)]);
        let mut met: FxHashSet<Var> = FxHashSet::default();
        for binding in function.lambda.body.blocks.iter().filter(|b| b.dataflow).flat_map(|b| &b.bindings) {
            let mut uses = FxHashSet::default();
            let mut exprs = Vec::new();
            binding.value.each_use(&mut |v| _ = uses.insert(v));
            function.ty(binding.var).each_var(&mut |v| _ = uses.insert(v));
            each_size(function, binding, &mut |v| exprs.push(v.clone()));
            let known = &self.known[i];
            let is_known = uses.iter().all(|v| known.contains_key(v)) && exprs.iter().all(|v| sizes.contains(v));
            // A lifted value must be the same for all runs.
            let is_constant = !memory.is_overwritten(binding.var)
                && !memory.writes(binding.var)
                && !memory.reads_written(&binding.value);
            if !is_known
                || !is_constant
                || !can_move(&binding.value)
                || shared && matches!(binding.value, Value::MatchCast(..))
            {
                continue;
            }
            let values: Replacements = uses.iter().map(|v| (*v, known[v].into())).collect();
            let (mut value, mut info) = (binding.value.clone(), function.vars[binding.var].clone());
            value.replace(&values);
            info.ty.replace(&values);
            (info.dataflow, info.span) = (true, binding.span);
            let needs_weight =
                uses.iter().any(|v| self.needs_weight(known[v])) || exprs.iter().any(|v| !from_inputs.contains(v));
            let alike = self.by_value.entry(hash::value(&value)).or_default();
            let candidates = &mut self.candidates;
            let same = alike.iter().copied().filter(|_| shared).find(|c| {
                let other = &candidates[*c].binding;
                let ty = &self.function.vars[other.var].ty;
                !met.contains(&other.var) && equal::values(&other.value, &value) && equal::types(ty, &info.ty)
            });
            let var = match same {
                Some(same) => {
                    candidates[same].count += 1;
                    candidates[same].binding.var
                }
                None => {
                    let var = self.function.vars.push(info);
                    alike.push(candidates.len());
                    let binding = Binding { var, value, span: binding.span };
                    candidates.push(Candidate { binding, count: 1, needs_weight });
                    var
                }
            };
            met.insert(var);
            self.known[i].insert(binding.var, var);
        }
    }

    /// Returns true if a variable of the transformation is a weight, or depends on one.
    fn needs_weight(&self, var: Var) -> bool {
        // Variables of candidates are numbered in order, after those of weights.
        let weights = self.function.lambda.params.len();
        match (var.as_u32() as usize).checked_sub(weights) {
            Some(candidate) => self.candidates[candidate].needs_weight,
            None => true,
        }
    }

    /// Returns the plan of the function of index `i`.
    pub fn plan(&mut self, i: usize, function: &Function) -> Plan {
        let inputs = function.lambda.num_input().unwrap_or(0);
        let known = std::mem::take(&mut self.known[i]);
        let needing: FxHashSet<Var> =
            self.candidates.iter().filter(|c| c.needs_weight).map(|c| c.binding.var).collect();
        let is_lifted = |var: &Var| known.get(var).is_some_and(|theirs| needing.contains(theirs));
        let scalars: FxHashMap<&PrimVar, Var> =
            function.lambda.params.iter().filter_map(|p| Some((function.scalar(*p)?, *p))).collect();
        let dims = dims(function);
        let from_inputs = symbolic::defined(function, &function.lambda.params[..inputs]);
        let (mut runtime, mut sizes) = (FxHashSet::default(), FxHashSet::default());
        let mut lifted = FxHashSet::default();
        let mut need = |v: &PrimVar, runtime: &mut FxHashSet<Var>| match scalars.get(v) {
            Some(param) => drop(runtime.insert(*param)),
            None if from_inputs.contains(v) => {}
            None => sizes.extend(dims.iter().position(|dim| dim == v)),
        };
        for binding in function.lambda.body.bindings() {
            if is_lifted(&binding.var) {
                lifted.insert(binding.var);
                continue;
            }
            binding.value.each_use(&mut |v| _ = runtime.insert(v));
            function.ty(binding.var).each_var(&mut |v| _ = runtime.insert(v));
            each_size(function, binding, &mut |v| need(v, &mut runtime));
        }
        function.lambda.body.result.each_var(&mut |v| _ = runtime.insert(v));
        function.lambda.body.result.each_expr(&mut |e| e.each_var(&mut |v| need(v, &mut runtime)));
        Plan { inputs, dims, known, lifted, runtime, sizes }
    }

    /// Returns the function that transforms weights for these plans.
    pub fn finish(self, plans: &[Plan]) -> Lifted {
        let Transform { mut function, candidates, .. } = self;
        let mut needed: FxHashSet<Var> = FxHashSet::default();
        let mut sizes: Vec<usize> = Vec::new();
        for plan in plans {
            needed.extend(plan.runtime.iter().filter_map(|v| plan.known.get(v)));
            sizes.extend(&plan.sizes);
        }
        let weights = function.lambda.params.iter().copied();
        let computed = candidates.iter().filter(|c| c.needs_weight).map(|c| c.binding.var);
        let outputs: Vec<Var> = weights.chain(computed).filter(|v| needed.contains(v)).collect();
        let dims = dims(&function);
        let given = symbolic::defined(&function, &outputs);
        sizes.sort();
        sizes.dedup();
        sizes.retain(|i| !given.contains(&dims[*i]));
        let shape = (!sizes.is_empty()).then(|| Operand::Shape(sizes.iter().map(|i| dims[*i].expr()).collect()));
        let members = shape.into_iter().chain(outputs.iter().map(|v| (*v).into())).collect();
        body_of(&mut function, candidates.into_iter().map(|c| c.binding).collect(), members);
        Lifted { function, outputs, sizes }
    }
}

/// Calls `f` on each symbolic variable that a binding needs.
fn each_size(function: &Function, binding: &Binding, f: &mut dyn FnMut(&PrimVar)) {
    let mut note = |e: &PrimExpr| e.each_var(f);
    symbolic::each_value_expr(&binding.value, &mut note);
    if let Value::Call(Call { ty_args, .. }) = &binding.value {
        ty_args.iter().for_each(|ty| ty.each_expr(&mut note));
    }
    function.ty(binding.var).each_expr(&mut note);
    binding.value.each_body(&mut |nested: &Body| nested.walk(&mut |b| each_size(function, b, f)));
}

/// Returns true if a value can be computed in another function.
fn can_move(value: &Value) -> bool {
    match value {
        Value::Call(call) => !call.is_op("builtin.stop_lift_params"),
        Value::Operand(Operand::Extern(_)) | Value::If { .. } | Value::Function(_) => false,
        Value::Operand(_) | Value::TupleGet(..) | Value::MatchCast(..) => true,
    }
}
