//! RemoveUnusedParameters: removes parameters of private functions that they do not use.
//!
//! A parameter that is used only for the sizes in its type is replaced by parameters of type shape. A function stays
//! as it is if a call does not define such a size, or if it is used as a value, so that not all of its calls are
//! known.

use crate::{
    Context, Pass,
    analysis::{functions, symbolic},
    rewrite::{self, dead_code::remove_unused},
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Function as Global, Module, Name, PrimExpr, Type,
    prim::{Substitution, Var as PrimVar},
    relax::{Body, Call, Callee, Function, Operand, Value, Var, memory::Writers},
};
use hammock_ops::Table;
use rustc_hash::{FxHashMap, FxHashSet};

/// See the module's documentation.
pub static PASS: Pass =
    Pass { name: "RemoveUnusedParameters", doc: "Removes unused parameters of private functions", options: &[], run };

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    let mut plans: FxHashMap<Name, Plan> = FxHashMap::default();
    for name in functions::private(module) {
        plans.extend(module.relax(&name).and_then(Plan::of).map(|plan| (name, plan)));
    }
    let mut impossible: FxHashSet<Name> = FxHashSet::default();
    for (_, function) in module.relax_functions() {
        functions::each_call(&function.lambda.body, &mut |call| {
            if let Callee::Global(name) = &call.callee
                && plans.get(name).is_some_and(|plan| plan.arguments(module, function, call).is_none())
            {
                impossible.insert(name.clone());
            }
        });
    }
    plans.retain(|name, _| !impossible.contains(name));
    if plans.is_empty() {
        return Ok(());
    }
    let writers = Writers::of(module, &Table);
    // Callers first: sizes are matched against the original parameters.
    rewrite::relax_functions(module, |module, _, function| {
        let mut changed = false;
        rewrite::bindings(function, &mut |function, mut binding, out| {
            if let Value::Call(call) = &mut binding.value
                && let Callee::Global(name) = &call.callee
                && let Some(plan) = plans.get(name)
                && let Some(args) = plan.arguments(module, function, call)
            {
                call.args = args;
                changed = true;
            }
            out.push(binding);
            Ok(())
        })?;
        if changed {
            remove_unused(module, function, &writers);
        }
        Ok(())
    })?;
    for (name, plan) in plans {
        if let Some(Global::Relax(function)) = module.functions.get_mut(&name) {
            plan.apply(function);
        }
    }
    Ok(())
}

/// New signature of a function.
struct Plan {
    /// For each parameter, true if it stays.
    keeps: Vec<bool>,
    /// Original types of the parameters.
    types: Vec<Type>,
    /// Scalar variables of the parameters.
    scalars: Vec<Option<PrimVar>>,
    /// Sizes that become parameters.
    sizes: Vec<PrimVar>,
}

impl Plan {
    /// Plans a function; `None` if all parameters are used.
    fn of(function: &Function) -> Option<Plan> {
        let params = &function.lambda.params;
        let exprs = expressions(function);
        let used = used(function);
        let in_signature = |scalar: &PrimVar| {
            params.iter().any(|p| {
                let mut found = false;
                function.ty(*p).each_expr(&mut |e| found |= e.uses(scalar));
                found
            })
        };
        let is_used = |param: &Var| {
            let scalar = function.scalar(*param);
            used.contains(param) || scalar.is_some_and(|s| exprs.contains(s) || in_signature(s))
        };
        let keeps: Vec<bool> = params.iter().map(is_used).collect();
        if keeps.iter().all(|stays| *stays) {
            return None;
        }
        let remaining: Vec<Var> = params.iter().zip(&keeps).filter(|(_, stays)| **stays).map(|(p, _)| *p).collect();
        let (before, after) = (symbolic::defined(function, params), symbolic::defined(function, &remaining));
        let mut wanted = exprs;
        for param in &remaining {
            function.ty(*param).each_expr(&mut |e| wanted.extend(symbolic::vars(e)));
        }
        let mut sizes: Vec<PrimVar> = Vec::new();
        for size in wanted.into_iter().filter(|v| before.contains(v) && !after.contains(v)) {
            if !sizes.contains(&size) {
                sizes.push(size);
            }
        }
        // In TVM's order.
        sizes.reverse();
        let types = params.iter().map(|p| function.ty(*p).clone()).collect();
        let scalars = params.iter().map(|p| function.scalar(*p).cloned()).collect();
        Some(Plan { keeps, types, scalars, sizes })
    }

    /// Returns the remaining arguments of a call and its sizes; `None` if it does not define them all.
    fn arguments(&self, module: &Module, caller: &Function, call: &Call) -> Option<Vec<Operand>> {
        if call.args.len() != self.keeps.len() {
            return None;
        }
        let remaining = call.args.iter().zip(&self.keeps).filter(|(_, stays)| **stays).map(|(arg, _)| arg.clone());
        let mut args: Vec<Operand> = remaining.collect();
        if !self.sizes.is_empty() {
            let mut values = Substitution::default();
            for ((ty, scalar), arg) in self.types.iter().zip(&self.scalars).zip(&call.args) {
                if let (Some(scalar), Operand::Prim(e)) = (scalar, arg) {
                    values.insert(scalar.clone(), e.clone());
                }
                symbolic::match_types(ty, &caller.operand_ty(module, arg), &mut values);
            }
            for size in &self.sizes {
                args.push(Operand::Shape(vec![values.get(size)?.clone()]));
            }
        }
        Some(args)
    }

    fn apply(&self, function: &mut Function) {
        let mut keeps = self.keeps.iter();
        function.lambda.params.retain(|_| keeps.next().is_none_or(|stays| *stays));
        for size in &self.sizes {
            let ty = Type::shape([size.expr()]);
            let param = function.new_var(format!("param_{}", size.name()), ty, false, function.lambda.span);
            function.lambda.params.push(param);
        }
    }
}

/// Returns the variables used in a function's body, including types.
fn used(function: &Function) -> FxHashSet<Var> {
    let mut used = FxHashSet::default();
    function.lambda.body.each_use(&mut |v| _ = used.insert(v));
    function.lambda.body.walk(&mut |binding| function.ty(binding.var).each_var(&mut |v| _ = used.insert(v)));
    used
}

/// Returns the symbolic variables used in a function's body and result, in order of appearance.
fn expressions(function: &Function) -> Vec<PrimVar> {
    let mut found = Vec::new();
    let mut seen: FxHashSet<PrimVar> = FxHashSet::default();
    let mut note = |e: &PrimExpr| {
        e.each_var(&mut |v| {
            if seen.insert(v.clone()) {
                found.push(v.clone());
            }
        });
    };
    in_body(function, &function.lambda.body, &mut note);
    function.lambda.ret_ty.each_expr(&mut note);
    found
}

fn in_body(function: &Function, body: &Body, note: &mut dyn FnMut(&PrimExpr)) {
    for binding in body.bindings() {
        symbolic::each_value_expr(&binding.value, note);
        if let Value::Call(call) = &binding.value {
            call.ty_args.iter().for_each(|ty| ty.each_expr(note));
        }
        function.ty(binding.var).each_expr(note);
        binding.value.each_body(&mut |nested| in_body(function, nested, note));
    }
    body.result.each_expr(note);
}
