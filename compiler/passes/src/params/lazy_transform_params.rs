//! LazyTransformParams: makes functions that transform weights load and store them one by one.
//!
//! A function whose name ends in `transform_params` takes all weights and returns all results, so all of them are in
//! memory at once. After this pass, it fetches each weight with a runtime function at its first use, stores each
//! result with another as soon as it is complete, and releases weights after their last use.

use crate::{
    Context, OptionKind, Pass, PassOption,
    rewrite::{self, Emitter},
};
use hammock_diagnostics::{Diagnostic, codes};
use hammock_ir::{
    Attrs, Function as Global, Module, Span, Type,
    relax::{
        Binding, Body, Call, Function, Operand, Value, Var,
        memory::{MemoryDependences, Writers},
    },
};
use hammock_ops::Table;
use rustc_hash::{FxHashMap, FxHashSet};

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "LazyTransformParams",
    doc: "Makes functions that transform weights load and store them one by one",
    options: &[
        PassOption {
            name: "fget_item",
            kind: OptionKind::Text,
            default: "\"get_item\"",
            doc: "Runtime function that fetches a weight by its index",
        },
        PassOption {
            name: "fset_item",
            kind: OptionKind::OptionalText,
            default: "\"set_item\"",
            doc: "Runtime function that stores a result by its index; `null` to return the results as before",
        },
        PassOption {
            name: "extra_get_item_params",
            kind: OptionKind::Texts,
            default: "[]",
            doc: "Names of parameters passed to `fget_item` before the index",
        },
        PassOption {
            name: "extra_set_item_params",
            kind: OptionKind::Texts,
            default: "[]",
            doc: "Names of parameters passed to `fset_item` before the index",
        },
    ],
    run,
};

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let writers = Writers::of(module, &Table);
    for (name, function) in module.functions.iter_mut() {
        if let Global::Relax(function) = function
            && name.ends_with("transform_params")
        {
            check(function)?;
            transform(function, &writers, context);
        }
    }
    Ok(())
}

fn check(function: &Function) -> Result<(), Diagnostic> {
    let inputs = function.lambda.num_input().unwrap_or(0);
    let error = |message: &str, help: &str| {
        Err(Diagnostic::error(codes::NOT_LOWERABLE, message).label(function.lambda.span, "").help(help))
    };
    if function.lambda.body.blocks.iter().any(|block| block.dataflow) {
        let message = "pass `LazyTransformParams` takes no dataflow blocks: fetching and storing are side effects";
        return error(message, "run `ToNonDataflow,RemovePurityChecking` first");
    }
    if inputs > function.lambda.params.len() {
        return error("`num_input` counts more parameters than there are", "it counts those that are not weights");
    }
    Ok(())
}

fn transform(function: &mut Function, writers: &Writers, context: &Context) {
    let memory = MemoryDependences::of(function, writers, &Table);
    let options = context.options;
    let weights = function.lambda.params.split_off(function.lambda.num_input().unwrap_or(0));
    let fetch = Access::new(function, options.text("fget_item"), options.texts("extra_get_item_params"));
    let store = options.text("fset_item");
    let store = (!store.is_empty()).then(|| Access::new(function, store, options.texts("extra_set_item_params")));
    // Parameters that define sizes other than the weights' stay.
    let mut holders = Vec::new();
    weights.iter().for_each(|weight| sizes(function.ty(*weight), &mut holders));
    for ty in holders {
        let holder = function.new_var("symbolic_var_holder", ty, false, function.lambda.span);
        function.lambda.params.push(holder);
    }
    let results = if store.is_some() { take_results(function) } else { Vec::new() };
    let dies = last_uses(&function.lambda.body);
    let tuple = match weights.as_slice() {
        [tuple] if function.ty(*tuple).as_tuple().is_some() => Some(*tuple),
        _ => None,
    };
    let pending = weights.iter().enumerate().map(|(i, weight)| (*weight, i)).collect();
    let lazy = LazyTransform { memory, fetch, store, tuple, pending, results, dies, fetched: FxHashSet::default() };
    lazy.rewrite(function);
    function.lambda.pure = false;
    function.lambda.attrs.remove("relax.force_pure");
}

/// Collects the types of scalars and shapes in a type.
fn sizes(ty: &Type, found: &mut Vec<Type>) {
    match ty {
        Type::Prim(_) | Type::Shape(_) => found.push(ty.clone()),
        Type::Tuple(members) => members.iter().for_each(|member| sizes(member, found)),
        _ => {}
    }
}

/// Takes the members of a function's result, which is empty from then on.
fn take_results(function: &mut Function) -> Vec<Operand> {
    let result = std::mem::replace(&mut function.lambda.body.result, Operand::Tuple(Vec::new()));
    function.lambda.ret_ty = Type::void();
    let Operand::Var(var) = result else {
        return match result {
            Operand::Tuple(members) => members,
            single => vec![single],
        };
    };
    for block in &mut function.lambda.body.blocks {
        for binding in &mut block.bindings {
            if binding.var == var
                && let Value::Operand(Operand::Tuple(members)) = &mut binding.value
            {
                function.vars[var].ty = Type::void();
                return std::mem::take(members);
            }
        }
    }
    vec![var.into()]
}

/// Returns the variables that each binding uses last, in order of use.
fn last_uses(body: &Body) -> FxHashMap<Var, Vec<Var>> {
    let mut seen: FxHashSet<Var> = FxHashSet::default();
    body.result.each_var(&mut |v| _ = seen.insert(v));
    let mut dies: FxHashMap<Var, Vec<Var>> = FxHashMap::default();
    for binding in body.blocks.iter().rev().flat_map(|block| block.bindings.iter().rev()) {
        let last = dies.entry(binding.var).or_default();
        let mut note = |v: Var| {
            if seen.insert(v) {
                last.push(v);
            }
        };
        binding.value.each_use(&mut note);
        note(binding.var);
    }
    dies
}

/// A runtime function, and its arguments before the index.
struct Access {
    name: String,
    extra: Vec<Operand>,
}

impl Access {
    fn new(function: &mut Function, name: String, extra: Vec<String>) -> Self {
        let mut params = Vec::with_capacity(extra.len());
        for param in extra {
            let var = function.new_var(param, Type::Any, false, function.lambda.span);
            function.lambda.params.push(var);
            params.push(var.into());
        }
        Access { name, extra: params }
    }

    fn call(&self, args: impl IntoIterator<Item = Operand>) -> Value {
        let args = self.extra.iter().cloned().chain(args).collect();
        Value::Call(Call::packed(self.name.as_str(), args, vec![Type::Any]))
    }
}

struct LazyTransform {
    memory: MemoryDependences,
    fetch: Access,
    store: Option<Access>,
    /// Tuple of all weights, if they are in one.
    tuple: Option<Var>,
    /// Weights not fetched yet, with their indices.
    pending: FxHashMap<Var, usize>,
    results: Vec<Operand>,
    dies: FxHashMap<Var, Vec<Var>>,
    /// Variables that hold fetched members of the tuple.
    fetched: FxHashSet<Var>,
}

impl LazyTransform {
    fn rewrite(mut self, function: &mut Function) {
        let body = rewrite::take_body(function);
        let stored: Vec<(Operand, usize)> = self.results.drain(..).enumerate().map(|(i, o)| (o, i)).collect();
        let mut numbers: FxHashMap<Var, Vec<usize>> = FxHashMap::default();
        for (operand, number) in &stored {
            // A result that is overwritten later, under another name, is complete at the end.
            let early = |v: &Var| !numbers.contains_key(v) && !self.memory.is_overwritten(*v);
            numbers.extend(operand.as_var().filter(early).map(|v| (v, Vec::new())));
            if let Some(numbers) = operand.as_var().and_then(|v| numbers.get_mut(&v)) {
                numbers.push(*number);
            }
        }
        let mut blocks = Vec::with_capacity(body.blocks.len() + 1);
        for block in body.blocks {
            let mut out = Emitter::new(block.dataflow);
            for binding in block.bindings {
                let var = binding.var;
                self.binding(function, binding, &mut out);
                for dead in self.dies.remove(&var).unwrap_or_default() {
                    for number in numbers.remove(&dead).unwrap_or_default() {
                        self.store(function, dead.into(), number, &mut out);
                    }
                    if self.store.is_some() && self.fetched.contains(&dead) {
                        let kill = Call::op("vm.kill_object", vec![dead.into()], Attrs::new());
                        out.effect(function, Value::Call(kill), Span::NONE);
                    }
                }
            }
            blocks.push(out.block());
        }
        let mut end = Emitter::new(false);
        let mut result = body.result;
        self.fetch_used(function, &mut result, &mut end);
        for (mut operand, number) in stored {
            let is_stored =
                operand.as_var().is_some_and(|v| !numbers.contains_key(&v) && !self.memory.is_overwritten(v));
            if !is_stored {
                self.fetch_used(function, &mut operand, &mut end);
                self.store(function, operand, number, &mut end);
            }
        }
        blocks.push(end.block());
        function.lambda.body = Body { blocks, result };
        rewrite::merge_blocks(&mut function.lambda.body);
    }

    fn binding(&mut self, function: &mut Function, mut binding: Binding, out: &mut Emitter) {
        if let Value::TupleGet(Operand::Var(tuple), number) = &binding.value
            && self.tuple == Some(*tuple)
        {
            let ty = function.ty(binding.var).clone();
            let fetched = self.fetch(function, *number, out);
            let cast = out.bind(function, "gv", ty.clone(), Value::MatchCast(fetched.into(), ty), binding.span);
            self.fetched.insert(binding.var);
            binding.value = Value::Operand(cast.into());
        }
        binding.value.each_operand_mut(&mut |o| self.fetch_used(function, o, out));
        binding.value.each_body(&mut |nested| {
            let mut used = Vec::new();
            nested.each_use(&mut |v| used.push(v));
            used.into_iter().for_each(|v| self.fetch_used(function, &mut v.into(), out));
        });
        out.push(binding);
    }

    fn fetch(&self, function: &mut Function, number: usize, out: &mut Emitter) -> Var {
        out.bind(function, "gv", Type::Any, self.fetch.call([Operand::int(number as i64)]), Span::NONE)
    }

    /// Fetches the weights that an operand needs and that are not fetched yet.
    fn fetch_used(&mut self, function: &mut Function, operand: &mut Operand, out: &mut Emitter) {
        let mut fetch_used = Vec::new();
        operand.each_var(&mut |v| fetch_used.extend(self.pending.remove(&v).map(|number| (v, number))));
        for (var, number) in fetch_used {
            // If the tuple of all weights is used as a whole, it is fetched member by member.
            if self.tuple == Some(var) {
                let types = function.ty(var).as_tuple().map(<[Type]>::to_vec).unwrap_or_default();
                let mut members = Vec::with_capacity(types.len());
                for (i, ty) in types.into_iter().enumerate() {
                    let fetched = self.fetch(function, i, out);
                    let cast = Value::MatchCast(fetched.into(), ty.clone());
                    members.push(Operand::Var(out.bind(function, "gv", ty, cast, Span::NONE)));
                }
                out.push(Binding { var, value: Value::Operand(Operand::Tuple(members)), span: Span::NONE });
            } else {
                let fetched = self.fetch(function, number, out);
                let value = Value::MatchCast(fetched.into(), function.ty(var).clone());
                out.push(Binding { var, value, span: Span::NONE });
            }
        }
    }

    fn store(&self, function: &mut Function, value: Operand, number: usize, out: &mut Emitter) {
        if let Some(store) = &self.store {
            let call = store.call([Operand::int(number as i64), value]);
            out.bind(function, "_", Type::Any, call, Span::NONE);
        }
    }
}
