//! Bindings that are lifted out of a function.

use crate::rewrite::devices;
use hammock_ir::{
    AttrValue, Module, PrimExpr, Type,
    prim::Var as SizeVar,
    relax::{Binding, Body, Call, Callee, Function, Operand, Value, Var},
    types::ShapeType,
};
use indexmap::{IndexMap, IndexSet};
use rustc_hash::{FxHashMap, FxHashSet};

const CAPTURED: &str = "relax.rewrite_cuda_graph.capture_symbolic_vars";

/// Bindings to lift out of a function.
#[derive(Default)]
pub(super) struct Regions {
    /// Allocations of storages, with their calls.
    pub(super) storages: IndexMap<Var, Call>,
    /// Runs of kernels.
    pub(super) runs: Vec<Region>,
    /// Run that binds each variable.
    pub(super) run_of: FxHashMap<Var, usize>,
    /// Run before which an allocation moves, by its variable.
    pub(super) moved_before: FxHashMap<Var, usize>,
}

impl Regions {
    /// Leaves runs of few launches where they are.
    fn drop_short_runs(&mut self, min_launches: usize) {
        let Regions { runs, run_of, moved_before, .. } = self;
        run_of.retain(|_, run| runs[*run].launches >= min_launches);
        moved_before.retain(|_, run| runs[*run].launches >= min_launches);
        if run_of.is_empty() {
            runs.clear();
        }
    }

    /// Returns true if nothing is lifted.
    pub(super) fn is_empty(&self) -> bool {
        self.storages.is_empty() && self.runs.is_empty()
    }
}

/// A run of bindings that becomes a function.
#[derive(Default)]
pub(super) struct Region {
    pub(super) bindings: Vec<Binding>,
    /// Allocations that come before it.
    pub(super) allocations: Vec<Binding>,
    /// Number of calls that may launch something.
    launches: usize,
    /// Variables from outside, in order of use.
    pub(super) inputs: IndexSet<Var>,
    /// Variables used outside, in order of use.
    pub(super) outputs: IndexSet<Var>,
    /// Symbolic variables.
    pub(super) sizes: IndexSet<SizeVar>,
}

/// Minimum number of calls in a function whose graph is updated.
const MIN_LAUNCHES: usize = 2;

pub(super) fn find(module: &Module, function: &Function, updated: bool) -> Regions {
    let attrs = &function.lambda.attrs;
    let inputs = attrs.get("num_input").and_then(AttrValue::as_int).and_then(|count| usize::try_from(count).ok());
    let named = attrs.get(CAPTURED).and_then(AttrValue::as_list).unwrap_or(&[]);
    let mut finder = Finder {
        module,
        function,
        updated,
        fixed: FxHashSet::default(),
        sizes: FxHashSet::default(),
        results: result_storages(&function.lambda.body),
        open: None,
        found: Regions::default(),
    };
    for (at, param) in function.lambda.params.iter().enumerate() {
        let is_weight = inputs.is_some_and(|inputs| at >= inputs);
        if is_weight {
            finder.fixed.insert(*param);
        }
        function.ty(*param).each_expr(&mut |e| {
            let var = e.as_var().filter(|var| is_weight || named.iter().any(|n| n.as_str() == Some(var.name())));
            finder.sizes.extend(var.cloned());
        });
    }
    finder.body(&function.lambda.body);
    finder.found.drop_short_runs(if updated { MIN_LAUNCHES } else { 1 });
    finder.found
}

/// Returns the storages of the tensors that a function returns.
fn result_storages(body: &Body) -> FxHashSet<Var> {
    let (mut returned, mut storages) = (FxHashSet::default(), FxHashSet::default());
    from_results(body, &mut returned, &mut storages);
    storages
}

fn from_results(body: &Body, returned: &mut FxHashSet<Var>, storages: &mut FxHashSet<Var>) {
    body.result.each_var(&mut |var| returned.extend([var]));
    for binding in body.blocks.iter().rev().flat_map(|block| block.bindings.iter().rev()) {
        binding.value.each_body(&mut |nested| from_results(nested, returned, storages));
        if !returned.contains(&binding.var) {
            continue;
        }
        match &binding.value {
            Value::Call(call) if call.is_op("memory.alloc_tensor") => storages.extend(call.args[0].as_var()),
            // The returned value may be a view.
            value => value.each_operand(&mut |o| o.each_var(&mut |var| returned.extend([var]))),
        }
    }
}

struct Finder<'a> {
    module: &'a Module,
    function: &'a Function,
    /// True if memory and sizes may change from call to call.
    updated: bool,
    /// Variables whose memory is at a fixed address, and others that never change.
    fixed: FxHashSet<Var>,
    /// Symbolic variables that may be used.
    sizes: FxHashSet<SizeVar>,
    /// Storages of results.
    results: FxHashSet<Var>,
    /// Current run.
    open: Option<usize>,
    found: Regions,
}

/// Variables that operands use.
#[derive(Default)]
struct UsedVars {
    vars: Vec<Var>,
    sizes: Vec<SizeVar>,
}

impl Finder<'_> {
    fn body(&mut self, body: &Body) {
        let around = self.open.take();
        for block in &body.blocks {
            block.bindings.iter().for_each(|binding| self.binding(binding));
            self.open = None;
        }
        self.used_outside(&body.result);
        self.open = around;
    }

    fn binding(&mut self, binding: &Binding) {
        match &binding.value {
            Value::Call(call) => self.call(binding, call),
            Value::Operand(Operand::Const(_)) => self.keep(binding, &UsedVars::default()),
            Value::Operand(operand @ (Operand::Var(_) | Operand::Tuple(_))) | Value::TupleGet(operand, _) => {
                let mut used = UsedVars::default();
                let is_fixed = self.is_fixed(operand, &mut used);
                self.keep_if(is_fixed, binding, &used);
            }
            Value::Operand(operand) => self.used_outside(operand),
            value => {
                self.open = None;
                value.each_operand(&mut |operand| self.used_outside(operand));
                match value {
                    Value::Function(lambda) => lambda.body.each_use(&mut |var| self.used_outside(&var.into())),
                    value => value.each_body(&mut |body| self.body(body)),
                }
            }
        }
    }

    fn call(&mut self, binding: &Binding, call: &Call) {
        if self.updated
            && ["memory.alloc_storage", "memory.alloc_tensor", "builtin.alloc_tensor"].iter().any(|op| call.is_op(op))
        {
            return self.allocation(binding, call);
        }
        if call.is_op("memory.alloc_storage") {
            if is_static_storage(call) && !self.results.contains(&binding.var) {
                self.found.storages.insert(binding.var, call.clone());
                self.fixed.insert(binding.var);
            }
            return;
        }
        if call.is_op("builtin.alloc_tensor") {
            return;
        }
        let mut used = UsedVars::default();
        let mut is_fixed = true;
        call.args.iter().for_each(|arg| is_fixed &= self.is_fixed(arg, &mut used));
        let (can_be_lifted, launches) = match &call.callee {
            Callee::Global(name) => {
                let is_kernel = self.module.tir(name).is_some_and(|kernel| !kernel.attrs.targets_host());
                let is_on_first = call.args.iter().all(|arg| self.is_on_first_device(arg));
                (is_kernel && is_on_first, is_kernel && is_on_first)
            }
            // Others than kernels may free memory that launches of the graph use, which are not queued yet.
            Callee::Extern(name) => (!name.starts_with("vm.builtin") && !self.updated, true),
            Callee::Var(_) | Callee::Op("to_vdevice" | "hint_on_device") => (false, false),
            Callee::Op(name) => {
                let prepares = name.starts_with("memory.") || name.starts_with("builtin.");
                (true, !prepares && !["reshape", "null_value", "call_builtin_with_ctx"].contains(name))
            }
        };
        if is_fixed && can_be_lifted && launches && self.open.is_none() {
            self.found.runs.push(Region::default());
            self.open = Some(self.found.runs.len() - 1);
        }
        if is_fixed
            && launches
            && let Some(open) = self.open
        {
            self.found.runs[open].launches += 1;
        }
        self.keep_if(is_fixed && can_be_lifted, binding, &used);
    }

    /// Returns true if a value has no tensors on other devices than the first, whose launches graphs have.
    fn is_on_first_device(&self, operand: &Operand) -> bool {
        devices::number(&self.function.operand_ty(self.module, operand)).is_none_or(|number| number == 0)
    }

    /// An allocation moves before the current run, unless the run computes its operands.
    fn allocation(&mut self, binding: &Binding, call: &Call) {
        let Some(open) = self.open else { return };
        let mut of_run = false;
        call.args.iter().for_each(|arg| arg.each_var(&mut |var| of_run |= self.found.run_of.get(&var) == Some(&open)));
        if of_run {
            self.open = None;
            call.args.iter().for_each(|arg| self.used_outside(arg));
        } else {
            self.found.runs[open].allocations.push(binding.clone());
            self.found.moved_before.insert(binding.var, open);
        }
    }

    fn keep_if(&mut self, is_fixed: bool, binding: &Binding, used: &UsedVars) {
        if is_fixed {
            self.keep(binding, used);
        } else {
            self.open = None;
        }
        used.vars.iter().for_each(|var| self.used(*var));
    }

    /// Records a binding that never changes; it is lifted if there is a current run.
    fn keep(&mut self, binding: &Binding, used: &UsedVars) {
        self.fixed.insert(binding.var);
        let Some(open) = self.open else { return };
        self.found.run_of.insert(binding.var, open);
        let run = &mut self.found.runs[open];
        run.bindings.push(binding.clone());
        let outer = used.vars.iter().filter(|var| self.found.run_of.get(var) != Some(&open));
        run.inputs.extend(outer.copied());
        run.sizes.extend(used.sizes.iter().cloned());
    }

    /// Records a use of a variable: if another run than the current one binds it, it is a result of that run.
    fn used(&mut self, var: Var) {
        if let Some(run) = self.found.run_of.get(&var).filter(|run| Some(**run) != self.open) {
            self.found.runs[*run].outputs.insert(var);
        }
    }

    fn used_outside(&mut self, operand: &Operand) {
        operand.each_var(&mut |var| {
            if let Some(run) = self.found.run_of.get(&var) {
                self.found.runs[*run].outputs.insert(var);
            }
        });
    }

    fn is_fixed(&self, operand: &Operand, used: &mut UsedVars) -> bool {
        match operand {
            Operand::Const(_) | Operand::DType(_) | Operand::Str(_) | Operand::Global(_) => true,
            Operand::Var(var) => {
                used.vars.push(*var);
                (self.updated || self.fixed.contains(var)) && self.is_fixed_type(self.function.ty(*var), used)
            }
            Operand::Prim(e) => self.are_fixed(std::slice::from_ref(e), used),
            Operand::Shape(dims) => self.are_fixed(dims, used),
            Operand::Tuple(fields) => all(fields, |field| self.is_fixed(field, used)),
            Operand::Extern(_) | Operand::Opaque(_) => false,
        }
    }

    fn is_fixed_type(&self, ty: &Type, used: &mut UsedVars) -> bool {
        match ty {
            Type::Tensor(tensor) => tensor.dims().is_some_and(|dims| self.are_fixed(dims, used)),
            Type::Shape(ShapeType::Known(dims)) => self.are_fixed(dims, used),
            Type::Tuple(fields) => all(fields, |field| self.is_fixed_type(field, used)),
            Type::Any | Type::Prim(_) => true,
            _ => false,
        }
    }

    fn are_fixed(&self, dims: &[PrimExpr], used: &mut UsedVars) -> bool {
        let before = used.sizes.len();
        dims.iter().for_each(|dim| dim.each_var(&mut |var| used.sizes.push(var.clone())));
        self.updated || used.sizes[before..].iter().all(|var| self.sizes.contains(var))
    }
}

/// Returns true if it holds for all parts; does not stop at the first that fails.
fn all<T>(parts: &[T], holds: impl FnMut(&T) -> bool) -> bool {
    let fixed: Vec<bool> = parts.iter().map(holds).collect();
    !fixed.contains(&false)
}

/// Returns true if a storage has a known size in bytes, and is on the first device.
fn is_static_storage(call: &Call) -> bool {
    let [Operand::Shape(dims), Operand::Prim(device), Operand::Str(_), _] = call.args.as_slice() else { return false };
    matches!(dims.as_slice(), [bytes] if bytes.as_int().is_some()) && device.as_int() == Some(0)
}
