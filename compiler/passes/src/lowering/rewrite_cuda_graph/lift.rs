//! Moves lifted bindings into functions, and calls them.

use super::regions::{Region, Regions};
use crate::rewrite::{self, Emitter};
use hammock_ir::{
    Attrs, Function as Global, Module, Name, PrimExpr, Span, Type,
    prim::Substitution,
    relax::{Binding, Block, Body, Call, Function, Lambda, Operand, Value, Var},
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// The function that allocates storages, and the storages of each function.
#[derive(Default)]
pub(super) struct Allocation {
    /// Its name and the type of its result; `None` if there are no storages.
    function: Option<(Name, Type)>,
    /// Storage index, by function and variable.
    indices: FxHashMap<(Name, Var), usize>,
}

/// Creates the function that allocates storages. For each scope, the largest storages of all functions are merged,
/// then the next largest, and so on.
pub(super) fn merge_allocations(module: &mut Module, names: &[Name], found: &[Regions]) -> Allocation {
    let mut by_scope: BTreeMap<Name, Vec<Vec<(i64, &Name, Var, &Call)>>> = BTreeMap::new();
    for (at, (name, regions)) in names.iter().zip(found).enumerate() {
        for (var, call) in &regions.storages {
            let (Operand::Shape(dims), Operand::Str(scope)) = (&call.args[0], &call.args[2]) else { continue };
            let bytes = dims[0].as_int().unwrap_or(0);
            let functions = by_scope.entry(scope.clone()).or_insert_with(|| vec![Vec::new(); names.len()]);
            functions[at].push((bytes, name, *var, call));
        }
    }
    let (mut function, mut allocation) = (Function::empty(), Allocation::default());
    let mut out = Emitter { bindings: Vec::new(), dataflow: false };
    let mut storages = Vec::new();
    for mut functions in by_scope.into_values() {
        functions.iter_mut().for_each(|storages| storages.sort_by_key(|(bytes, ..)| std::cmp::Reverse(*bytes)));
        let count = functions.iter().map(Vec::len).max().unwrap_or(0);
        for rank in 0..count {
            let merged = functions.iter().filter_map(|storages| storages.get(rank));
            let mut largest: Option<&(i64, &Name, Var, &Call)> = None;
            for storage in merged {
                allocation.indices.insert((storage.1.clone(), storage.2), storages.len());
                largest = largest.filter(|largest| largest.0 >= storage.0).or(Some(storage));
            }
            if let Some((.., call)) = largest {
                let value = Value::Call((*call).clone());
                storages.push(out.bind(&mut function, "storage", Type::Any, value, Span::NONE).into());
            }
        }
    }
    if !storages.is_empty() {
        let ret_ty = Type::Tuple(vec![Type::Any; storages.len()]);
        function.lambda.attrs = forced_pure();
        finish(&mut function, out, storages, ret_ty.clone());
        let name = module.add_unique("cuda_graph_alloc", Global::Relax(function));
        allocation.function = Some((name, ret_ty));
    }
    allocation
}

fn forced_pure() -> Attrs {
    Attrs::new().with("relax.force_pure", true)
}

/// Ends a function, which returns a tuple.
fn finish(function: &mut Function, mut out: Emitter, results: Vec<Operand>, ret_ty: Type) {
    let name = if results.is_empty() { "_" } else { "gv" };
    let is_empty = results.is_empty();
    let tuple = out.bind(function, name, ret_ty.clone(), Value::Operand(Operand::Tuple(results)), Span::NONE);
    let result = if is_empty { Operand::Tuple(Vec::new()) } else { tuple.into() };
    function.lambda.ret_ty = ret_ty;
    function.lambda.body = Body { blocks: vec![Block { dataflow: false, bindings: out.bindings }], result };
}

/// Rewrites one function.
pub(super) struct Lifter<'a> {
    module: &'a mut Module,
    name: &'a Name,
    regions: &'a Regions,
    allocation: &'a Allocation,
    /// True if a graph is kept for all sizes.
    updated: bool,
    /// Number of captures so far, in all functions.
    graphs: &'a mut i64,
    /// True if the storages were fetched.
    has_storages: bool,
    /// Runs called so far.
    called: FxHashSet<usize>,
    /// Results of lifted functions not bound yet: their tuple and index.
    pending: FxHashMap<Var, (Var, usize)>,
}

impl<'a> Lifter<'a> {
    pub(super) fn new(
        module: &'a mut Module,
        name: &'a Name,
        regions: &'a Regions,
        allocation: &'a Allocation,
        updated: bool,
        graphs: &'a mut i64,
    ) -> Self {
        let (called, pending) = Default::default();
        Lifter { module, name, regions, allocation, updated, graphs, has_storages: false, called, pending }
    }

    pub(super) fn body(&mut self, function: &mut Function, body: Body) -> Body {
        let mut blocks = Vec::with_capacity(body.blocks.len());
        for block in body.blocks {
            let mut out = Emitter { bindings: Vec::with_capacity(block.bindings.len()), dataflow: block.dataflow };
            block.bindings.into_iter().for_each(|binding| self.binding(function, binding, &mut out));
            blocks.push(Block { dataflow: block.dataflow, bindings: out.bindings });
        }
        Body { blocks, result: body.result }
    }

    fn binding(&mut self, function: &mut Function, mut binding: Binding, out: &mut Emitter) {
        if self.is_or_holds_storage(&binding) && !self.has_storages {
            self.has_storages = true;
            self.fetch_storages(function, binding.span, out);
        }
        let run = self.regions.run_of.get(&binding.var).copied();
        if let Some(number) = run
            && self.called.insert(number)
        {
            self.call_run(function, number, binding.span, out);
        }
        let is_moved = self.regions.moved_before.contains_key(&binding.var);
        if run.is_some() || is_moved || self.regions.storages.contains_key(&binding.var) {
            return self.bind(function, binding.var, out);
        }
        let mut used = Vec::new();
        binding.value.each_use(&mut |var| used.push(var));
        used.into_iter().for_each(|var| self.bind(function, var, out));
        binding.value.each_body_mut(&mut |nested| {
            let taken = std::mem::replace(nested, Body::of(Operand::Tuple(Vec::new())));
            *nested = self.body(function, taken);
        });
        out.push(binding);
    }

    /// Returns true if a binding, or one nested in it, allocates a lifted storage.
    fn is_or_holds_storage(&self, binding: &Binding) -> bool {
        let mut found = self.regions.storages.contains_key(&binding.var);
        binding.value.each_body(&mut |body| {
            body.walk(&mut |binding| found |= self.regions.storages.contains_key(&binding.var));
        });
        found
    }

    fn fetch_storages(&mut self, function: &mut Function, span: Span, out: &mut Emitter) {
        let Some((name, ty)) = &self.allocation.function else { return };
        let args = vec![Operand::Global(name.clone()), Operand::int(0)];
        let all = out.bind(function, "gv", ty.clone(), builtin("get_cached_alloc", args, ty.clone()), span);
        for var in self.regions.storages.keys() {
            if let Some(index) = self.allocation.indices.get(&(self.name.clone(), *var)) {
                self.pending.insert(*var, (all, *index));
            }
        }
    }

    /// Binds a pending result.
    fn bind(&mut self, function: &Function, var: Var, out: &mut Emitter) {
        if let Some((all, at)) = self.pending.remove(&var) {
            out.push(Binding { var, value: Value::TupleGet(all.into(), at), span: function.vars[var].span });
        }
    }

    /// Emits an allocation.
    fn allocate(&mut self, function: &Function, binding: Binding, out: &mut Emitter) {
        binding.value.each_use(&mut |var| self.bind(function, var, out));
        out.push(binding);
    }

    fn call_run(&mut self, function: &mut Function, number: usize, span: Span, out: &mut Emitter) {
        let regions = self.regions;
        let run = &regions.runs[number];
        run.allocations.iter().for_each(|allocation| self.allocate(function, allocation.clone(), out));
        run.inputs.iter().for_each(|var| self.bind(function, *var, out));
        let (lifted, ty) = lifted(function, run, span);
        let lifted = self.module.add_unique(&format!("{}_cuda_graph_capture", self.name), Global::Relax(lifted));
        let sizes = || Operand::Shape(run.sizes.iter().map(PrimExpr::from).collect());
        let mut inputs: Vec<Operand> = run.inputs.iter().map(|var| (*var).into()).collect();
        inputs.extend((!run.sizes.is_empty()).then(sizes));
        let mut args = vec![Operand::Global(lifted), Operand::Tuple(inputs), Operand::int(*self.graphs)];
        args.extend((!run.sizes.is_empty() && !self.updated).then(sizes));
        *self.graphs += 1;
        let name = if run.outputs.is_empty() { "_" } else { "gv" };
        let all = out.bind(function, name, ty.clone(), builtin("run_or_capture", args, ty), span);
        for (at, var) in run.outputs.iter().enumerate() {
            self.pending.insert(*var, (all, at));
        }
    }
}

/// Returns a function of a run's bindings, and the type of its result at the call.
fn lifted(outer: &Function, run: &Region, span: Span) -> (Function, Type) {
    let ret_ty = Type::Tuple(run.outputs.iter().map(|var| outer.ty(*var).clone()).collect());
    let body = Body {
        blocks: vec![Block { dataflow: false, bindings: run.bindings.clone() }],
        result: Operand::Tuple(run.outputs.iter().map(|var| (*var).into()).collect()),
    };
    let params = run.inputs.iter().copied().collect();
    let lambda = Lambda { params, ret_ty: ret_ty.clone(), pure: true, attrs: forced_pure(), body, span };
    let (mut function, _) = Function::around(outer, lambda);
    let body = rewrite::take_body(&mut function);
    let bindings = body.blocks.into_iter().flat_map(|block| block.bindings).collect();
    let Operand::Tuple(results) = body.result else { unreachable!("it was made as a tuple") };
    finish(&mut function, Emitter { bindings, dataflow: false }, results, ret_ty.clone());
    if !run.sizes.is_empty() {
        let fresh: Vec<_> = run.sizes.iter().map(|var| (var.clone(), PrimExpr::from(var.fresh()))).collect();
        let shape = Type::shape(fresh.iter().map(|(_, new)| new.clone()));
        let param = function.new_var("shape_expr", shape, false, span);
        function.lambda.params.push(param);
        function.substitute_dims(&fresh.into_iter().collect::<Substitution>());
    }
    (function, ret_ty)
}

fn builtin(name: &str, args: Vec<Operand>, ty: Type) -> Value {
    let args = vec![Operand::Extern(format!("vm.builtin.cuda_graph.{name}").into()), Operand::Tuple(args)];
    Value::Call(Call { ty_args: vec![ty], ..Call::op("call_builtin_with_ctx", args, Attrs::new()) })
}
