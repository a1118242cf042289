//! Tensors that a function allocates, aliases of variables, and the order of uses.
//!
//! Steps are numbered in program order, those of branches at the position of the branch. That is a safe order to plan
//! in: memory behind a variable is live from the step that allocates it to the last one that uses it, and only one
//! branch runs. Moments are numbered by what may have happened before: both branches begin at the same moment, and
//! the code after them follows the longer one.

use super::{
    Scope,
    bounds::{self, Bounds},
};
use hammock_ir::{
    DType, Function as Global, Module, Name, PrimExpr, TensorShape, Type,
    relax::{Binding, Body, Call, Callee, Function, OpTable, Operand, Value, Var},
};
use hammock_ops::{ResultMemory, Table, lookup};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// Maximum number of tensors that a variable may refer to: more are not planned.
const MAX_ALIASED: usize = 256;

/// A tensor allocated by `R.builtin.alloc_tensor`: an index into [`Tensors::all`].
pub(super) type TensorId = usize;

pub(super) struct Tensor {
    pub(super) var: Var,
    /// Maximum size in bytes.
    pub(super) bytes: PrimExpr,
    pub(super) dtype: DType,
    pub(super) device: Operand,
    pub(super) scope: Name,
    /// Body that allocates it.
    pub(super) body: usize,
    /// Block that allocates it.
    block: usize,
    /// True if all its uses are known.
    pub(super) is_planned: bool,
    /// Number of uses.
    pub(super) uses: usize,
    /// Step that allocates it, and the last that uses it.
    pub(super) live: (usize, usize),
    /// Moments of these steps.
    pub(super) moments: (usize, usize),
}

/// A body of bindings.
#[derive(Clone, Copy)]
pub(super) struct BodyInfo {
    /// Enclosing body; `None` for bodies of functions.
    pub(super) outer: Option<usize>,
    /// Body of its function.
    pub(super) function: usize,
    /// True if the function that it is the body of calls functions other than kernels, also in nested bodies.
    pub(super) calls: bool,
    /// Nesting depth.
    pub(super) depth: usize,
    /// Step of the `if` that it is a branch of.
    pub(super) choice: Option<usize>,
}

/// Events, in order.
#[derive(Clone, Copy)]
pub(super) enum Event {
    Make(TensorId),
    Use(TensorId),
    /// Enters a function, the planned one or a nested one.
    EnterFunction,
    LeaveFunction,
    /// Enters a body, or a dataflow block: its bindings are not visible outside.
    Enter,
    Leave,
}

/// Input of planning.
#[derive(Default)]
pub(super) struct Tensors {
    pub(super) all: Vec<Tensor>,
    pub(super) bodies: Vec<BodyInfo>,
    pub(super) events: Vec<Event>,
}

impl Tensors {
    /// Returns for each tensor if it is planned.
    pub(super) fn planned(&self) -> Vec<bool> {
        self.all.iter().map(|tensor| tensor.is_planned).collect()
    }
}

/// Tensors that a variable may refer to.
#[derive(Clone)]
enum Aliased {
    Nothing,
    /// One of these, or parts of them.
    AnyOf(Rc<[TensorId]>),
    /// A tuple, and the number of tensors in it.
    Tuple(Rc<[Aliased]>, usize),
}

pub(super) fn find(module: &Module, function: &Function, scope: Scope, bounds: &Bounds) -> Tensors {
    let found = Tensors::default();
    let mut finder = Finder {
        module,
        function,
        scope,
        bounds,
        found,
        aliased: FxHashMap::default(),
        step: 0,
        moment: 0,
        blocks: 0,
        block: 0,
    };
    finder.function_body(&function.lambda.body);
    finder.found
}

struct Finder<'a> {
    module: &'a Module,
    function: &'a Function,
    scope: Scope,
    bounds: &'a Bounds,
    found: Tensors,
    aliased: FxHashMap<Var, Aliased>,
    step: usize,
    moment: usize,
    blocks: usize,
    block: usize,
}

impl Finder<'_> {
    fn function_body(&mut self, body: &Body) {
        self.found.events.push(Event::EnterFunction);
        let result = self.body(body, None, None);
        self.mark_unplanned(&result);
        self.found.events.push(Event::LeaveFunction);
    }

    fn body(&mut self, body: &Body, outer: Option<usize>, choice: Option<usize>) -> Aliased {
        let id = self.found.bodies.len();
        let function = outer.map_or(id, |outer| self.found.bodies[outer].function);
        let depth = outer.map_or(0, |outer| self.found.bodies[outer].depth + 1);
        self.found.bodies.push(BodyInfo { outer, function, calls: false, depth, choice });
        self.found.events.push(Event::Enter);
        let around = self.block;
        for block in &body.blocks {
            self.blocks += 1;
            self.block = self.blocks;
            if block.dataflow {
                self.found.events.push(Event::Enter);
            }
            for binding in &block.bindings {
                self.step += 1;
                self.moment += 1;
                let aliased = self.binding(binding, id);
                if !matches!(aliased, Aliased::Nothing) {
                    self.aliased.insert(binding.var, aliased);
                }
            }
            if block.dataflow {
                self.found.events.push(Event::Leave);
            }
        }
        self.block = around;
        self.found.events.push(Event::Leave);
        self.aliased_by(&body.result)
    }

    fn binding(&mut self, binding: &Binding, body: usize) -> Aliased {
        match &binding.value {
            Value::Operand(operand) | Value::MatchCast(operand, _) => self.aliased_by(operand),
            Value::TupleGet(tuple, index) => match self.aliased_by(tuple) {
                Aliased::Tuple(fields, _) => fields.get(*index).cloned().unwrap_or(Aliased::Nothing),
                aliased => aliased,
            },
            Value::If { cond, then, otherwise } => {
                let cond = self.aliased_by(cond);
                let whole_function = self.scope != Scope::Block;
                if whole_function {
                    self.use_of(&cond)
                } else {
                    self.mark_unplanned(&cond)
                }
                let (choice, begin) = (Some(self.step), self.moment);
                let mut end = begin;
                let results = [then, otherwise].map(|branch| {
                    self.moment = begin;
                    let result = self.body(branch, Some(body), choice);
                    end = end.max(self.moment);
                    result
                });
                self.moment = end;
                if whole_function {
                    return self.either(&results);
                }
                results.iter().for_each(|result| self.mark_unplanned(result));
                Aliased::Nothing
            }
            Value::Function(lambda) => {
                let mut captured = Vec::new();
                lambda.body.each_use(&mut |var| captured.extend(self.aliased.get(&var).cloned()));
                captured.iter().for_each(|aliased| self.mark_unplanned(aliased));
                self.function_body(&lambda.body);
                Aliased::Nothing
            }
            Value::Call(call) => self.call(binding.var, call, body),
        }
    }

    fn call(&mut self, var: Var, call: &Call, body: usize) -> Aliased {
        match &call.callee {
            Callee::Op("builtin.alloc_tensor") => return self.add_tensor(var, call, body),
            Callee::Op(name) if lookup(name).is_some_and(|op| op.memory == ResultMemory::View) => {
                return self.first(call);
            }
            Callee::Extern(name) if **name == *"vm.builtin.reshape" => return self.first(call),
            Callee::Op("vm.call_tir_dyn") => self.use_args(call),
            Callee::Global(name) if matches!(self.module.functions.get(name), Some(Global::Tir(_))) => {
                self.use_args(call);
            }
            Callee::Extern(name) if self.scope == Scope::Block || retains_nothing(name) => {
                self.use_args(call);
                return self.aliases(var, call);
            }
            callee @ Callee::Op(name)
                if self.scope != Scope::Block && Table.is_pure(name) == Some(true) && !is_closure_call(callee) =>
            {
                self.use_args(call);
                return self.aliases(var, call);
            }
            callee => {
                if !matches!(callee, Callee::Op(_) | Callee::Extern(_)) || is_closure_call(callee) {
                    let function = self.found.bodies[body].function;
                    self.found.bodies[function].calls = true;
                }
                self.mark_args_unplanned(call);
            }
        }
        Aliased::Nothing
    }

    fn add_tensor(&mut self, var: Var, call: &Call, body: usize) -> Aliased {
        let Type::Tensor(ty) = self.function.ty(var) else { return Aliased::Nothing };
        let ([_, _, device, Operand::Str(scope)], TensorShape::Known(dims), Some(dtype)) =
            (call.args.as_slice(), &ty.shape, ty.dtype)
        else {
            return Aliased::Nothing;
        };
        let dims: Vec<PrimExpr> = dims.iter().map(|dim| self.bounds.upper(dim)).collect();
        let Some(bytes) = bounds::bytes(&dims, dtype.bytes()) else { return Aliased::Nothing };
        let (device, scope) = (device.clone(), scope.clone());
        let (live, moments) = ((self.step, self.step), (self.moment, self.moment));
        let id = self.found.all.len();
        let (block, is_planned, uses) = (self.block, true, 0);
        self.found.all.push(Tensor { var, bytes, dtype, device, scope, body, block, is_planned, uses, live, moments });
        self.found.events.push(Event::Make(id));
        Aliased::AnyOf(Rc::new([id]))
    }

    /// Returns the memory of the first argument, which the call views differently.
    fn first(&mut self, call: &Call) -> Aliased {
        call.args.first().map_or(Aliased::Nothing, |arg| self.aliased_by(arg))
    }

    fn use_args(&mut self, call: &Call) {
        for arg in &call.args {
            let aliased = self.aliased_by(arg);
            self.use_of(&aliased);
        }
    }

    fn use_of(&mut self, aliased: &Aliased) {
        each(aliased, &mut |id| {
            let tensor = &mut self.found.all[id];
            tensor.is_planned &= self.scope != Scope::Block || tensor.block == self.block;
            tensor.uses += 1;
            tensor.live.1 = self.step;
            tensor.moments.1 = tensor.moments.1.max(self.moment);
            self.found.events.push(Event::Use(id));
        });
    }

    fn mark_unplanned(&mut self, aliased: &Aliased) {
        each(aliased, &mut |id| self.found.all[id].is_planned = false);
    }

    fn mark_args_unplanned(&mut self, call: &Call) {
        for arg in &call.args {
            let aliased = self.aliased_by(arg);
            self.mark_unplanned(&aliased);
        }
    }

    /// Returns the arguments of a call: its result may alias any of them.
    fn aliases(&mut self, var: Var, call: &Call) -> Aliased {
        let holds_memory = match self.function.ty(var) {
            Type::Prim(_) | Type::String | Type::Shape(_) => false,
            Type::Tuple(fields) => !fields.is_empty(),
            _ => true,
        };
        let args: Vec<Aliased> = call.args.iter().map(|arg| self.aliased_by(arg)).collect();
        if holds_memory { self.either(&args) } else { Aliased::Nothing }
    }

    fn either(&mut self, parts: &[Aliased]) -> Aliased {
        let mut ids = Vec::new();
        parts.iter().for_each(|aliased| each(aliased, &mut |id| ids.push(id)));
        ids.sort_unstable();
        ids.dedup();
        match ids.len() {
            0 => Aliased::Nothing,
            1..=MAX_ALIASED => Aliased::AnyOf(ids.into()),
            _ => {
                parts.iter().for_each(|aliased| self.mark_unplanned(aliased));
                Aliased::Nothing
            }
        }
    }

    fn aliased_by(&mut self, operand: &Operand) -> Aliased {
        match operand {
            Operand::Var(var) => self.aliased.get(var).cloned().unwrap_or(Aliased::Nothing),
            Operand::Tuple(fields) => {
                let fields: Rc<[Aliased]> = fields.iter().map(|field| self.aliased_by(field)).collect();
                let aliased = Aliased::Tuple(fields.clone(), fields.iter().map(Aliased::count).sum());
                if aliased.count() > MAX_ALIASED {
                    self.mark_unplanned(&aliased);
                    return Aliased::Nothing;
                }
                aliased
            }
            _ => Aliased::Nothing,
        }
    }
}

impl Aliased {
    fn count(&self) -> usize {
        match self {
            Aliased::Nothing => 0,
            Aliased::AnyOf(ids) => ids.len(),
            Aliased::Tuple(_, count) => *count,
        }
    }
}

fn each(aliased: &Aliased, f: &mut dyn FnMut(TensorId)) {
    match aliased {
        Aliased::Nothing => {}
        Aliased::AnyOf(ids) => ids.iter().for_each(|id| f(*id)),
        Aliased::Tuple(fields, _) => fields.iter().for_each(|field| each(field, f)),
    }
}

/// Returns true if a function of the runtime retains none of its arguments, except in its result.
fn retains_nothing(name: &str) -> bool {
    const FAMILIES: [&str; 6] = [
        "tvm.contrib.sort.",
        "relax.run.",
        "relax.inspect.",
        "runtime.TVMTensorCreateView",
        "hammock.sequence.",
        "hammock.strings.",
    ];
    FAMILIES.iter().any(|family| name.starts_with(family))
}

fn is_closure_call(callee: &Callee) -> bool {
    matches!(callee, Callee::Op("invoke_closure" | "call_builtin_with_ctx"))
}
