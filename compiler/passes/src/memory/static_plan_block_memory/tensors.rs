//! Which tensors a function makes, what may be behind each variable, and in which order they are used.
//!
//! The steps of a function are numbered as they are written, those of branches where the branch stands. That is a safe
//! order to plan in: what is behind a variable is needed from the step that makes it to the last one that uses it, and
//! only one of the branches runs. Moments are numbered by what may have happened before: both branches begin at the same
//! moment, and what follows them comes after the longer one.

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

/// More tensors behind one variable are not planned.
const MOST_HELD: usize = 256;

/// A tensor that `R.builtin.alloc_tensor` makes: an index of [`Tensors::all`].
pub(super) type TensorId = usize;

pub(super) struct Tensor {
    pub(super) var: Var,
    /// The most that it takes.
    pub(super) bytes: PrimExpr,
    pub(super) dtype: DType,
    pub(super) device: Operand,
    pub(super) scope: Name,
    /// The body that makes it.
    pub(super) body: usize,
    /// The block that makes it.
    block: usize,
    /// True if all that happens to it is known.
    pub(super) is_planned: bool,
    /// How often it is used.
    pub(super) uses: usize,
    /// The step that makes it, and the last that uses it.
    pub(super) live: (usize, usize),
    /// The moments of these.
    pub(super) moments: (usize, usize),
}

/// A body of bindings.
#[derive(Clone, Copy)]
pub(super) struct BodyInfo {
    /// The body around it; the function's own, and those of nested functions, have none.
    pub(super) outer: Option<usize>,
    /// The body of the function that it belongs to.
    pub(super) function: usize,
    /// True if it, if it is a function's, or a body in it calls functions other than kernels.
    pub(super) calls: bool,
    /// How many bodies are around it.
    pub(super) depth: usize,
    /// For a branch, the step that chooses it or another.
    pub(super) choice: Option<usize>,
}

/// What happens, in order.
#[derive(Clone, Copy)]
pub(super) enum Event {
    Make(TensorId),
    Use(TensorId),
    /// A function, the one that is planned or a nested one.
    EnterFunction,
    LeaveFunction,
    /// A body, or a dataflow block: what is bound in it is not visible outside.
    Enter,
    Leave,
}

/// Everything that planning needs to know.
#[derive(Default)]
pub(super) struct Tensors {
    pub(super) all: Vec<Tensor>,
    pub(super) bodies: Vec<BodyInfo>,
    pub(super) events: Vec<Event>,
}

impl Tensors {
    /// For each tensor, whether it is planned.
    pub(super) fn planned(&self) -> Vec<bool> {
        self.all.iter().map(|tensor| tensor.is_planned).collect()
    }
}

/// The tensors that may be behind a variable.
#[derive(Clone)]
enum Held {
    Nothing,
    /// One of these, or parts of them.
    AnyOf(Rc<[TensorId]>),
    /// A tuple, and how many there are in it.
    Tuple(Rc<[Held]>, usize),
}

pub(super) fn find(module: &Module, function: &Function, scope: Scope, bounds: &Bounds) -> Tensors {
    let found = Tensors::default();
    let mut finder = Finder {
        module,
        function,
        scope,
        bounds,
        found,
        held: FxHashMap::default(),
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
    held: FxHashMap<Var, Held>,
    step: usize,
    moment: usize,
    blocks: usize,
    block: usize,
}

impl Finder<'_> {
    fn function_body(&mut self, body: &Body) {
        self.found.events.push(Event::EnterFunction);
        let result = self.body(body, None, None);
        self.give_up(&result);
        self.found.events.push(Event::LeaveFunction);
    }

    fn body(&mut self, body: &Body, outer: Option<usize>, choice: Option<usize>) -> Held {
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
                let held = self.binding(binding, id);
                if !matches!(held, Held::Nothing) {
                    self.held.insert(binding.var, held);
                }
            }
            if block.dataflow {
                self.found.events.push(Event::Leave);
            }
        }
        self.block = around;
        self.found.events.push(Event::Leave);
        self.behind(&body.result)
    }

    fn binding(&mut self, binding: &Binding, body: usize) -> Held {
        match &binding.value {
            Value::Operand(operand) | Value::MatchCast(operand, _) => self.behind(operand),
            Value::TupleGet(tuple, index) => match self.behind(tuple) {
                Held::Tuple(fields, _) => fields.get(*index).cloned().unwrap_or(Held::Nothing),
                held => held,
            },
            Value::If { cond, then, otherwise } => {
                let cond = self.behind(cond);
                let whole_function = self.scope != Scope::Block;
                if whole_function {
                    self.use_of(&cond)
                } else {
                    self.give_up(&cond)
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
                results.iter().for_each(|result| self.give_up(result));
                Held::Nothing
            }
            Value::Function(lambda) => {
                let mut captured = Vec::new();
                lambda.body.each_use(&mut |var| captured.extend(self.held.get(&var).cloned()));
                captured.iter().for_each(|held| self.give_up(held));
                self.function_body(&lambda.body);
                Held::Nothing
            }
            Value::Call(call) => self.call(binding.var, call, body),
        }
    }

    fn call(&mut self, var: Var, call: &Call, body: usize) -> Held {
        match &call.callee {
            Callee::Op("builtin.alloc_tensor") => return self.make(var, call, body),
            Callee::Op(name) if lookup(name).is_some_and(|op| op.memory == ResultMemory::View) => {
                return self.first(call);
            }
            Callee::Extern(name) if **name == *"vm.builtin.reshape" => return self.first(call),
            Callee::Op("vm.call_tir_dyn") => self.use_args(call),
            Callee::Global(name) if matches!(self.module.functions.get(name), Some(Global::Tir(_))) => {
                self.use_args(call);
            }
            Callee::Extern(name) if self.scope == Scope::Block || keeps_nothing(name) => {
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
                self.give_up_args(call);
            }
        }
        Held::Nothing
    }

    fn make(&mut self, var: Var, call: &Call, body: usize) -> Held {
        let Type::Tensor(ty) = self.function.ty(var) else { return Held::Nothing };
        let ([_, _, device, Operand::Str(scope)], TensorShape::Known(dims), Some(dtype)) =
            (call.args.as_slice(), &ty.shape, ty.dtype)
        else {
            return Held::Nothing;
        };
        let dims: Vec<PrimExpr> = dims.iter().map(|dim| self.bounds.upper(dim)).collect();
        let Some(bytes) = bounds::bytes(&dims, dtype.bytes()) else { return Held::Nothing };
        let (device, scope) = (device.clone(), scope.clone());
        let (live, moments) = ((self.step, self.step), (self.moment, self.moment));
        let id = self.found.all.len();
        let (block, is_planned, uses) = (self.block, true, 0);
        self.found.all.push(Tensor { var, bytes, dtype, device, scope, body, block, is_planned, uses, live, moments });
        self.found.events.push(Event::Make(id));
        Held::AnyOf(Rc::new([id]))
    }

    /// The memory of the first argument, seen in another way.
    fn first(&mut self, call: &Call) -> Held {
        call.args.first().map_or(Held::Nothing, |arg| self.behind(arg))
    }

    fn use_args(&mut self, call: &Call) {
        for arg in &call.args {
            let held = self.behind(arg);
            self.use_of(&held);
        }
    }

    fn use_of(&mut self, held: &Held) {
        each(held, &mut |id| {
            let tensor = &mut self.found.all[id];
            tensor.is_planned &= self.scope != Scope::Block || tensor.block == self.block;
            tensor.uses += 1;
            tensor.live.1 = self.step;
            tensor.moments.1 = tensor.moments.1.max(self.moment);
            self.found.events.push(Event::Use(id));
        });
    }

    fn give_up(&mut self, held: &Held) {
        each(held, &mut |id| self.found.all[id].is_planned = false);
    }

    fn give_up_args(&mut self, call: &Call) {
        for arg in &call.args {
            let held = self.behind(arg);
            self.give_up(&held);
        }
    }

    /// A call's result may be, or hold, any of the arguments.
    fn aliases(&mut self, var: Var, call: &Call) -> Held {
        let holds_memory = match self.function.ty(var) {
            Type::Prim(_) | Type::String | Type::Shape(_) => false,
            Type::Tuple(fields) => !fields.is_empty(),
            _ => true,
        };
        let args: Vec<Held> = call.args.iter().map(|arg| self.behind(arg)).collect();
        if holds_memory { self.either(&args) } else { Held::Nothing }
    }

    fn either(&mut self, parts: &[Held]) -> Held {
        let mut ids = Vec::new();
        parts.iter().for_each(|held| each(held, &mut |id| ids.push(id)));
        ids.sort_unstable();
        ids.dedup();
        match ids.len() {
            0 => Held::Nothing,
            1..=MOST_HELD => Held::AnyOf(ids.into()),
            _ => {
                parts.iter().for_each(|held| self.give_up(held));
                Held::Nothing
            }
        }
    }

    fn behind(&mut self, operand: &Operand) -> Held {
        match operand {
            Operand::Var(var) => self.held.get(var).cloned().unwrap_or(Held::Nothing),
            Operand::Tuple(fields) => {
                let fields: Rc<[Held]> = fields.iter().map(|field| self.behind(field)).collect();
                let held = Held::Tuple(fields.clone(), fields.iter().map(Held::count).sum());
                if held.count() > MOST_HELD {
                    self.give_up(&held);
                    return Held::Nothing;
                }
                held
            }
            _ => Held::Nothing,
        }
    }
}

impl Held {
    fn count(&self) -> usize {
        match self {
            Held::Nothing => 0,
            Held::AnyOf(ids) => ids.len(),
            Held::Tuple(_, count) => *count,
        }
    }
}

fn each(held: &Held, f: &mut dyn FnMut(TensorId)) {
    match held {
        Held::Nothing => {}
        Held::AnyOf(ids) => ids.iter().for_each(|id| f(*id)),
        Held::Tuple(fields, _) => fields.iter().for_each(|field| each(field, f)),
    }
}

/// Returns true if a function of the runtime is done with its arguments when it returns, but for its result.
fn keeps_nothing(name: &str) -> bool {
    const FAMILIES: [&str; 4] = ["tvm.contrib.sort.", "relax.run.", "relax.inspect.", "runtime.TVMTensorCreateView"];
    FAMILIES.iter().any(|family| name.starts_with(family))
}

fn is_closure_call(callee: &Callee) -> bool {
    matches!(callee, Callee::Op("invoke_closure" | "call_builtin_with_ctx"))
}
