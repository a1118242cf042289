//! DeadCodeElimination: removes what is unused and not visible from outside.
//!
//! A binding is removed when its variable is unused and its value has no side effect; `match_cast` stays, because it
//! checks, and so does what writes over memory that is read later, or comes from outside of the function. A global function is removed when it is private and no remaining function refers to it.

use crate::{Context, OptionKind, Pass, PassOption, rewrite};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Function as Global, Module, Name, Type,
    prim::{PrimCallee, PrimKind},
    relax::{
        Body, Call, Callee, Function, OpTable, Operand, Value, Var,
        memory::{ANY, EXTERNAL, MemoryDependences, Region, Writers},
    },
    tir::PrimFunc,
};
use hammock_ops::Table;
use rustc_hash::FxHashSet;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "DeadCodeElimination",
    doc: "Removes unused bindings without side effects and unreachable private functions",
    options: &[PassOption {
        name: "entry_functions",
        kind: OptionKind::Texts,
        default: "[]",
        doc: "Functions that stay with all that they use, besides those that are not private",
    }],
    run,
};

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    eliminate(module, context.options.texts("entry_functions"))
}

/// Removes unused bindings, and functions that neither the module's visible functions nor `entries` use.
pub fn eliminate(module: &mut Module, entries: Vec<String>) -> Result<(), Diagnostic> {
    let writers = Writers::of(module, &Table);
    rewrite::relax_functions(module, |module, _, function| {
        remove_unused(module, function, &writers);
        Ok(())
    })?;
    let reachable = reachable(module, entries);
    module.functions.retain(|name, _| reachable.contains(name));
    Ok(())
}

/// Removes a function's unused bindings without side effects, and blocks left empty.
pub fn remove_unused(module: &Module, function: &mut Function, writers: &Writers) {
    let memory = MemoryDependences::of(function, writers, &Table);
    let mut body = rewrite::take_body(function);
    Sweep { module, function, memory, live: FxHashSet::default(), read: FxHashSet::default() }.body(&mut body);
    rewrite::merge_blocks(&mut body);
    function.lambda.body = body;
}

/// Removes dead bindings from the last to the first.
struct Sweep<'a> {
    module: &'a Module,
    function: &'a Function,
    memory: MemoryDependences,
    /// Variables that are used later.
    live: FxHashSet<Var>,
    /// Memory that is read later.
    read: FxHashSet<Region>,
}

impl Sweep<'_> {
    fn body(&mut self, body: &mut Body) {
        body.result.each_var(&mut |v| self.uses(v));
        for block in body.blocks.iter_mut().rev() {
            let mut kept = Vec::with_capacity(block.bindings.len());
            for mut binding in block.bindings.drain(..).rev() {
                if !self.live.contains(&binding.var)
                    && is_pure(self.module, self.function, &binding.value)
                    && !self.writes_live(binding.var)
                {
                    continue;
                }
                binding.value.each_body_mut(&mut |b| self.body(b));
                binding.value.each_var(&mut |v| self.uses(v));
                self.function.ty(binding.var).each_var(&mut |v| _ = self.live.insert(v));
                kept.push(binding);
            }
            kept.reverse();
            block.bindings = kept;
        }
    }

    fn uses(&mut self, var: Var) {
        self.live.insert(var);
        if !self.memory.is_empty() {
            self.read.extend(self.memory.regions(var));
        }
    }

    /// Returns true if a binding writes to memory that is read later, or comes from outside.
    fn writes_live(&self, var: Var) -> bool {
        if self.memory.is_empty() {
            return false;
        }
        // What runs again, or later, may read what is written here.
        let read = |region: &Region| *region <= EXTERNAL || self.read.contains(region);
        let written = self.memory.written_by(var);
        !written.is_empty() && (written.iter().any(read) || self.read.contains(&ANY) || self.memory.has_closures())
    }
}

/// Returns true if evaluating the value has no visible effect.
pub fn is_pure(module: &Module, function: &Function, value: &Value) -> bool {
    match value {
        Value::Operand(_) | Value::TupleGet(..) | Value::Function(_) => true,
        Value::MatchCast(..) => false,
        Value::If { then, otherwise, .. } => {
            [then, otherwise].iter().all(|b| b.bindings().all(|b| is_pure(module, function, &b.value)))
        }
        Value::Call(call) => match &call.callee {
            Callee::Op(name) => Table.is_pure(name).unwrap_or(false),
            Callee::Global(name) => module.relax(name).is_some_and(|f| f.lambda.pure),
            Callee::Var(v) => matches!(function.ty(*v), Type::Callable(c) if c.pure),
            Callee::Extern(_) => false,
        },
    }
}

fn reachable(module: &Module, entries: Vec<String>) -> FxHashSet<Name> {
    let exported = module.functions.iter().filter(|(_, f)| f.global_symbol().is_some());
    let mut todo: Vec<Name> = exported.map(|(n, _)| n.clone()).collect();
    todo.extend(entries.into_iter().map(Name::from));
    used_by(module, todo)
}

/// Functions, and all that they use.
pub fn used_by(module: &Module, mut todo: Vec<Name>) -> FxHashSet<Name> {
    let mut seen = FxHashSet::default();
    while let Some(name) = todo.pop() {
        if seen.contains(&name) {
            continue;
        }
        match module.functions.get(&name) {
            Some(Global::Relax(f)) => relax_refs(&f.lambda.body, &mut |n| todo.push(n.clone())),
            Some(Global::Tir(f)) => tir_refs(f, &mut |n| todo.push(n.clone())),
            _ => {}
        }
        seen.insert(name);
    }
    seen
}

/// Calls `f` on each global function that a body uses.
pub fn relax_refs(body: &Body, f: &mut dyn FnMut(&Name)) {
    let operand = &mut |o: &Operand, f: &mut dyn FnMut(&Name)| {
        o.walk(&mut |o| {
            if let Operand::Global(name) = o {
                f(name)
            }
        })
    };
    body.walk(&mut |binding| {
        if let Value::Call(Call { callee: Callee::Global(name), .. }) = &binding.value {
            f(name);
        }
        binding.value.each_operand(&mut |o| operand(o, f));
        binding.value.each_body(&mut |b| operand(&b.result, f));
    });
    operand(&body.result, f);
}

fn tir_refs(func: &PrimFunc, f: &mut dyn FnMut(&Name)) {
    func.body.walk(&mut |s| {
        s.each_expr(&mut |e| {
            e.walk(&mut |e| {
                if let PrimKind::Call(c) = e.kind()
                    && let PrimCallee::Global(name) = &c.callee
                {
                    f(name)
                }
            })
        })
    });
}
