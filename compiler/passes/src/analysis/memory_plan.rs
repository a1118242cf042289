//! Memory that a function uses over time, read from its allocations, for reports and tools.
//!
//! Steps are the bindings of a function, in program order; those of branches are at the position of the branch. A
//! buffer is live from its allocation to the last step that uses it, under any name; a result, to the end. Buffers of
//! different branches may share an offset: only one of them exists at a time.
//!
//! Temporaries of kernels are not in the module: the kernel compiler reports them ([`MemoryPlan::add_temporaries`]).
//! They are in one block, which a call reuses from kernel to kernel.

use hammock_ir::{
    Module, Name, PrimExpr, arith,
    prim::BinaryOp,
    relax::{Binding, Body, Call, Callee, Function, Operand, Value, Var},
};
use indexmap::IndexMap;
use rustc_hash::FxHashMap;
use std::{collections::BTreeSet, rc::Rc};

/// Memory plan of a function.
#[derive(Clone, Debug, Default)]
pub struct MemoryPlan {
    /// Allocations, in order.
    pub storages: Vec<PlannedStorage>,
    /// Tensors in the storages, in order.
    pub buffers: Vec<PlannedBuffer>,
    /// Number of steps.
    pub steps: usize,
    /// Calls of other functions of the module, with their steps.
    pub calls: Vec<(usize, Name)>,
    /// Calls of kernels.
    pub kernels: Vec<PlannedKernel>,
}

/// A call of a kernel.
#[derive(Clone, Debug)]
pub struct PlannedKernel {
    /// Step of the call.
    pub step: usize,
    /// The kernel's symbol.
    pub name: Name,
    /// Bytes of the kernel's temporaries.
    pub temporaries: u64,
}

/// One allocation.
#[derive(Clone, Debug)]
pub struct PlannedStorage {
    /// Its size in bytes.
    pub bytes: PrimExpr,
    /// First and last step at which it is live.
    pub live: (usize, usize),
    /// Number of tensors in it, at the same or different offsets.
    pub tensors: usize,
}

/// A tensor in a storage.
#[derive(Clone, Debug)]
pub struct PlannedBuffer {
    /// The variable's name.
    pub name: Name,
    /// First function that is called with it, which writes it.
    pub filled_by: Option<Name>,
    /// Index of its storage.
    pub storage: usize,
    /// Offset in the storage, in bytes.
    pub offset: i64,
    /// Its size in bytes.
    pub bytes: PrimExpr,
    /// First and last step at which it is live.
    pub live: (usize, usize),
}

impl MemoryPlan {
    /// Reads the memory plan of a function with explicit allocations: after CallTIRRewrite, or any pass that follows
    /// it.
    pub fn of(module: &Module, function: &Function) -> MemoryPlan {
        let (plan, aliases, fields) = Default::default();
        let mut finder = Finder { module, function, plan, aliases, fields, step: 0 };
        let result = finder.body(&function.lambda.body);
        finder.plan.steps = finder.step + 1;
        finder.use_at(&result, finder.step);
        finder.plan
    }

    /// Reads the memory plans of all functions of a module, by name.
    pub fn all(module: &Module) -> IndexMap<Name, MemoryPlan> {
        module.relax_functions().map(|(name, function)| (name.clone(), MemoryPlan::of(module, function))).collect()
    }

    /// Sets the temporary bytes of each kernel, looked up by symbol.
    pub fn add_temporaries(&mut self, of: &dyn Fn(&str) -> u64) {
        self.kernels.iter_mut().for_each(|kernel| kernel.temporaries = of(&kernel.name));
    }

    /// Returns the maximum of the kernels' temporary bytes.
    pub fn temporary_bytes(&self) -> u64 {
        self.kernels.iter().map(|kernel| kernel.temporaries).max().unwrap_or(0)
    }

    /// Returns the bytes of live storages at each step, without those of symbolic size.
    pub fn in_use(&self) -> Vec<u64> {
        let mut change = vec![0i128; self.steps + 1];
        for storage in &self.storages {
            let bytes = i128::from(storage.known().unwrap_or(0));
            change[storage.live.0] += bytes;
            change[storage.live.1 + 1] -= bytes;
        }
        let in_use = change.iter().take(self.steps).scan(0i128, |used, change| {
            *used += change;
            Some(u64::try_from(*used).unwrap_or(u64::MAX))
        });
        in_use.collect()
    }

    /// Returns the peak memory in bytes, without storages of symbolic size.
    pub fn peak(&self) -> u64 {
        self.peak_in_use().saturating_add(self.temporary_bytes())
    }

    fn peak_in_use(&self) -> u64 {
        self.in_use().into_iter().max().unwrap_or(0)
    }

    /// Returns the total bytes of all storages, without those of symbolic size.
    pub fn planned_bytes(&self) -> u64 {
        self.storages.iter().filter_map(PlannedStorage::known).sum()
    }

    /// Returns the distinct sizes that depend on the arguments.
    pub fn symbolic(&self) -> BTreeSet<String> {
        let symbolic = self.storages.iter().filter(|storage| storage.known().is_none());
        symbolic.map(|storage| hammock_ir::print::dim_text(&storage.bytes)).collect()
    }
}

impl PlannedStorage {
    /// Returns its size if that does not depend on the arguments.
    pub fn known(&self) -> Option<u64> {
        self.bytes.as_int().and_then(|bytes| u64::try_from(bytes).ok())
    }
}

/// Memory that a variable may refer to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Alias {
    Storage(usize),
    Buffer(usize),
}

type Aliases = Rc<[Alias]>;

struct Finder<'a> {
    module: &'a Module,
    function: &'a Function,
    plan: MemoryPlan,
    aliases: FxHashMap<Var, Aliases>,
    /// Aliases of each field of tuples built by the function: a use of one field does not use the others.
    fields: FxHashMap<Var, Vec<Aliases>>,
    step: usize,
}

impl Finder<'_> {
    fn body(&mut self, body: &Body) -> Aliases {
        for binding in body.bindings() {
            self.step += 1;
            let aliases = self.binding(binding);
            if !aliases.is_empty() {
                self.aliases.insert(binding.var, aliases);
            }
        }
        self.of(&body.result)
    }

    fn binding(&mut self, binding: &Binding) -> Aliases {
        match &binding.value {
            Value::Operand(operand) | Value::MatchCast(operand, _) => {
                let fields = match operand {
                    Operand::Tuple(fields) => Some(fields.iter().map(|field| self.of(field)).collect()),
                    Operand::Var(var) => self.fields.get(var).cloned(),
                    _ => None,
                };
                self.fields.extend(fields.map(|fields| (binding.var, fields)));
                self.of(operand)
            }
            Value::TupleGet(Operand::Var(var), index) if self.fields.contains_key(var) => {
                self.fields[var].get(*index).cloned().unwrap_or_else(|| Rc::new([]))
            }
            Value::TupleGet(operand, _) => self.of(operand),
            Value::If { cond, then, otherwise } => {
                let cond = self.of(cond);
                self.use_at(&cond, self.step);
                let results = [self.body(then), self.body(otherwise)];
                union(&results)
            }
            Value::Function(lambda) => {
                let mut captured = Vec::new();
                lambda.body.each_use(&mut |var| captured.extend(self.aliases.get(&var).cloned()));
                let _ = self.body(&lambda.body);
                union(&captured)
            }
            Value::Call(call) => self.call(binding.var, call),
        }
    }

    fn call(&mut self, var: Var, call: &Call) -> Aliases {
        match (&call.callee, call.args.as_slice()) {
            (Callee::Op("builtin.alloc_tensor"), [..]) => {
                let bytes = self.bytes_of(var);
                let storage = self.storage(bytes);
                self.buffer(var, storage, 0)
            }
            (Callee::Op("memory.alloc_storage"), [size, _, _, dtype])
            | (Callee::Op("vm.alloc_storage"), [size, _, dtype, _]) => {
                let storage = self.storage(storage_bytes(size, dtype));
                Rc::new([Alias::Storage(storage)])
            }
            (Callee::Op("memory.alloc_tensor" | "vm.alloc_tensor"), [storage, offset, ..]) => {
                let held = self.of(storage);
                let offset = if let Operand::Prim(offset) = offset { offset.as_int().unwrap_or(0) } else { 0 };
                match held.first() {
                    Some(Alias::Storage(storage)) => self.buffer(var, *storage, offset),
                    _ => held,
                }
            }
            (Callee::Op("memory.kill_storage" | "memory.kill_tensor" | "vm.kill_object"), _) => Rc::new([]),
            (callee, args) => {
                let aliases: Vec<Aliases> = args.iter().map(|arg| self.of(arg)).collect();
                let aliases = union(&aliases);
                self.fill(&aliases, callee, args);
                self.use_at(&aliases, self.step);
                if let Callee::Global(name) = callee
                    && self.module.relax(name).is_some()
                {
                    self.plan.calls.push((self.step, name.clone()));
                }
                let is_kernel = self.kernel(callee, args);
                if is_kernel || self.function.ty(var).is_void() { Rc::new([]) } else { aliases }
            }
        }
    }

    /// Records the function that writes buffers not used before.
    fn fill(&mut self, aliases: &Aliases, callee: &Callee, args: &[Operand]) {
        let name = match (callee, args.first()) {
            (Callee::Global(name) | Callee::Extern(name), _) => name.clone(),
            (Callee::Op(_), Some(Operand::Global(name) | Operand::Extern(name))) => name.clone(),
            _ => return,
        };
        for part in aliases.iter() {
            if let Alias::Buffer(buffer) = part {
                self.plan.buffers[*buffer].filled_by.get_or_insert_with(|| name.clone());
            }
        }
    }

    /// Records a call of a kernel; returns false for other calls.
    fn kernel(&mut self, callee: &Callee, args: &[Operand]) -> bool {
        let name = match (callee, args.first()) {
            (Callee::Global(name), _) | (Callee::Op("vm.call_tir_dyn"), Some(Operand::Global(name))) => name,
            _ => return false,
        };
        let Some(function) = self.module.functions.get(name).filter(|_| self.module.tir(name).is_some()) else {
            return false;
        };
        let name = Name::from(function.global_symbol().unwrap_or(name));
        self.plan.kernels.push(PlannedKernel { step: self.step, name, temporaries: 0 });
        true
    }

    fn storage(&mut self, bytes: PrimExpr) -> usize {
        self.plan.storages.push(PlannedStorage { bytes, live: (self.step, self.step), tensors: 0 });
        self.plan.storages.len() - 1
    }

    fn buffer(&mut self, var: Var, storage: usize, offset: i64) -> Aliases {
        self.plan.storages[storage].tensors += 1;
        let (name, bytes, live) = (self.function.vars[var].name.clone(), self.bytes_of(var), (self.step, self.step));
        self.plan.buffers.push(PlannedBuffer { name, filled_by: None, storage, offset, bytes, live });
        let aliases: Aliases = Rc::new([Alias::Buffer(self.plan.buffers.len() - 1)]);
        self.use_at(&aliases, self.step);
        aliases
    }

    /// Returns the bytes of a tensor; zero if its shape is unknown.
    fn bytes_of(&self, var: Var) -> PrimExpr {
        let tensor = self.function.ty(var).as_tensor();
        let size = tensor.and_then(|tensor| {
            let element = i64::try_from(tensor.dtype?.bytes()).ok()?;
            Some(tensor.dims()?.iter().fold(PrimExpr::int64(element), times))
        });
        size.unwrap_or_else(|| PrimExpr::int64(0))
    }

    fn use_at(&mut self, aliases: &Aliases, step: usize) {
        for part in aliases.iter() {
            let storage = match *part {
                Alias::Storage(storage) => storage,
                Alias::Buffer(buffer) => {
                    self.plan.buffers[buffer].live.1 = step;
                    self.plan.buffers[buffer].storage
                }
            };
            self.plan.storages[storage].live.1 = step;
        }
    }

    fn of(&self, operand: &Operand) -> Aliases {
        match operand {
            Operand::Var(var) => self.aliases.get(var).cloned().unwrap_or_else(|| Rc::new([])),
            Operand::Tuple(fields) => union(&fields.iter().map(|field| self.of(field)).collect::<Vec<_>>()),
            _ => Rc::new([]),
        }
    }
}

/// Returns all aliases without duplicates.
fn union(aliases: &[Aliases]) -> Aliases {
    let mut filled = aliases.iter().filter(|aliases| !aliases.is_empty());
    match (filled.next(), filled.next()) {
        (Some(one), None) => one.clone(),
        _ => aliases.iter().flat_map(|aliases| aliases.iter().copied()).collect::<BTreeSet<_>>().into_iter().collect(),
    }
}

fn times(bytes: PrimExpr, dim: &PrimExpr) -> PrimExpr {
    arith::binary(BinaryOp::Mul, bytes, dim.clone())
}

/// Returns the bytes of a storage, whose size counts elements.
fn storage_bytes(size: &Operand, dtype: &Operand) -> PrimExpr {
    let (Operand::Shape(dims), Operand::DType(dtype)) = (size, dtype) else { return PrimExpr::int64(0) };
    dims.iter().fold(PrimExpr::int64(dtype.bytes() as i64), times)
}

/// Returns the peak memory of a call of each function, including its callees, which run while the caller's memory is
/// live. Storages of symbolic size are left out, and recursion counts once.
pub fn peaks(plans: &IndexMap<Name, MemoryPlan>) -> IndexMap<Name, u64> {
    // Bytes of storages and of temporaries; nested calls share one block of temporaries.
    let mut peaks: IndexMap<Name, (u64, u64)> = IndexMap::new();
    for name in plans.keys() {
        // Active functions with the number of their calls visited so far: an explicit stack, as calls may be nested
        // to any depth.
        let mut under_way = vec![(name, 0)];
        while let Some((name, next)) = under_way.last_mut() {
            let plan = &plans[*name];
            if let Some((_, callee)) = plan.calls.get(*next).filter(|_| *next > 0 || !peaks.contains_key(*name)) {
                peaks.entry((*name).clone()).or_insert((0, 0));
                *next += 1;
                if let Some((callee, _)) =
                    plans.get_key_value(callee).filter(|(callee, _)| !peaks.contains_key(*callee))
                {
                    under_way.push((callee, 0));
                }
                continue;
            }
            let in_use = plan.in_use();
            let mut peak = (plan.peak_in_use(), plan.temporary_bytes());
            for (step, callee) in &plan.calls {
                let (storages, temporaries) = peaks.get(callee).copied().unwrap_or_default();
                peak = (peak.0.max(in_use[*step].saturating_add(storages)), peak.1.max(temporaries));
            }
            peaks.insert((*name).clone(), peak);
            under_way.pop();
        }
    }
    let of = |name: &Name| peaks[name].0.saturating_add(peaks[name].1);
    plans.keys().map(|name| (name.clone(), of(name))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hammock_ir::{DType, Span, TensorType, relax::Block};

    /// A function that uses `bytes` at its only step, calls others there, and a kernel with temporaries.
    fn plan(bytes: i64, calls: &[&str], temporaries: u64) -> MemoryPlan {
        let storage = PlannedStorage { bytes: PrimExpr::int64(bytes), live: (0, 0), tensors: 1 };
        let calls = calls.iter().map(|callee| (0, Name::from(*callee))).collect();
        let kernels = vec![PlannedKernel { step: 0, name: "kernel".into(), temporaries }];
        MemoryPlan { storages: vec![storage], steps: 1, calls, kernels, ..MemoryPlan::default() }
    }

    #[test]
    fn callers_keep_their_memory_during_calls() {
        let functions = [
            ("a", plan(1, &["b", "c"], 2000)),
            ("b", plan(10, &["c"], 0)),
            ("c", plan(100, &[], 1000)),
            ("d", plan(7, &["d"], 0)),
        ];
        let plans = functions.into_iter().map(|(name, plan)| (Name::from(name), plan)).collect();
        let peaks: Vec<u64> = peaks(&plans).into_values().collect();
        assert_eq!(peaks, [2111, 1110, 1100, 7], "a function that calls itself counts once, as do temporaries");
    }

    /// A late use of one field of a tuple does not keep the other fields live.
    #[test]
    fn fields_of_a_tuple_have_separate_lifetimes() {
        let mut function = Function::empty();
        let ty = TensorType::new([4], DType::FLOAT32);
        let mut var = |name: &str| function.new_var(name, ty.clone().into(), false, Span::NONE);
        let [a, b, tuple, first, second, use_b] = ["a", "b", "tuple", "first", "second", "use_b"].map(&mut var);
        let call = |callee, args: Vec<Operand>| {
            Value::Call(Call { callee, args, attrs: Default::default(), ty_args: Vec::new() })
        };
        let alloc = || call(Callee::Op("builtin.alloc_tensor"), Vec::new());
        let values = [
            (a, alloc()),
            (b, alloc()),
            (tuple, Value::Operand(Operand::Tuple(vec![a.into(), b.into()]))),
            (first, Value::TupleGet(tuple.into(), 0)),
            (second, Value::TupleGet(tuple.into(), 1)),
            (use_b, call(Callee::Extern("f".into()), vec![second.into()])),
        ];
        let bindings = values.into_iter().map(|(var, value)| Binding { var, value, span: Span::NONE }).collect();
        function.lambda.body = Body { blocks: vec![Block { dataflow: false, bindings }], result: use_b.into() };
        let plan = MemoryPlan::of(&Module::default(), &function);
        assert_eq!(plan.buffers.iter().map(|buffer| buffer.live).collect::<Vec<_>>(), [(1, 1), (2, 6)]);
    }
}
