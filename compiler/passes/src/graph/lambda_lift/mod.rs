//! LambdaLift: turns nested functions into global functions.
//!
//! Captured variables become extra parameters, after a nested function's own; symbolic variables that its parameters
//! do not define are passed as a shape. If nothing is captured, uses of the function become uses of the global one;
//! otherwise it becomes `R.make_closure(cls.lifted, (captured…))`, which is called with `R.invoke_closure`. To call
//! itself, it calls the global function with the captured values that it received. A nested function with a global
//! symbol keeps it, and is visible outside the module.

mod closures;
mod names;

use crate::{Context, Pass, analysis::symbolic, rewrite};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Attrs, Function as Global, Module, Name, PrimExpr, Span, Type,
    prim::Var as Dim,
    relax::{Body, Call, Callee, Function, Lambda, Operand, Value, Var},
    types::ShapeType,
};
use indexmap::IndexSet;
use rustc_hash::{FxHashMap, FxHashSet};

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "LambdaLift",
    doc: "Turns nested functions into global functions, and captures into closures",
    options: &[],
    run,
};

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    let names = names::of(module);
    if names.is_empty() {
        return Ok(());
    }
    rewrite::relax_functions(module, |module, name, function| {
        let mut lifted: FxHashMap<Var, Operand> = FxHashMap::default();
        rewrite::bindings(function, &mut |function, mut binding, out| {
            if let Value::Function(lambda) = binding.value {
                let mut lambda = *lambda;
                lambda.body.replace(&lifted);
                let captured = Captured::of(function, binding.var, &lambda);
                let global = names[&(name.clone(), binding.var)].clone();
                lift(module, function, binding.var, lambda, &captured, global.clone());
                if captured.is_empty() {
                    lifted.insert(binding.var, Operand::Global(global));
                    return Ok(());
                }
                let args = vec![Operand::Global(global), Operand::Tuple(captured.operands())];
                binding.value = Value::Call(Call::op("make_closure", args, Attrs::new()));
            }
            out.push(binding);
            Ok(())
        })?;
        function.replace(&lifted);
        Ok(())
    })?;
    closures::invoke(module)
}

/// Captured variables of a nested function.
struct Captured {
    vars: Vec<Var>,
    dims: Vec<Dim>,
}

impl Captured {
    fn of(function: &Function, itself: Var, lambda: &Lambda) -> Captured {
        let mut inner: FxHashSet<Var> = lambda.params.iter().copied().collect();
        lambda.body.walk(&mut |b| {
            inner.insert(b.var);
            if let Value::Function(nested) = &b.value {
                inner.extend(nested.params.iter().copied());
            }
        });
        let mut captured = IndexSet::new();
        let mut capture = |v: Var| {
            if v != itself && !inner.contains(&v) {
                // A shape is defined before the tensors that have it.
                function.ty(v).each_var(&mut |shape| _ = captured.insert(shape));
                captured.insert(v);
            }
        };
        inner.iter().for_each(|v| function.ty(*v).each_var(&mut capture));
        lambda.body.each_use(&mut capture);
        let vars: Vec<Var> = captured.into_iter().collect();
        let mut defined: FxHashSet<Dim> = FxHashSet::default();
        for v in lambda.params.iter().chain(&vars) {
            defined.extend(function.scalar(*v).cloned());
            function.ty(*v).each_expr(&mut |d| defined.extend(d.as_var().cloned()));
        }
        lambda.body.walk(&mut |b| {
            defined.extend(function.scalar(b.var).cloned());
            if let Value::MatchCast(_, ty) = &b.value {
                ty.each_expr(&mut |d| defined.extend(d.as_var().cloned()));
            }
        });
        let mut dims = Vec::new();
        let mut look = |e: &PrimExpr| {
            for var in symbolic::vars(e) {
                if !defined.contains(&var) && !dims.contains(&var) {
                    dims.push(var);
                }
            }
        };
        lambda.params.iter().chain(&vars).for_each(|v| function.ty(*v).each_expr(&mut look));
        symbolic::each_expr(&lambda.body, &mut look);
        lambda.ret_ty.each_expr(&mut look);
        Captured { vars, dims }
    }

    fn is_empty(&self) -> bool {
        self.vars.is_empty() && self.dims.is_empty()
    }

    /// Returns the captured values as arguments.
    fn operands(&self) -> Vec<Operand> {
        let mut operands: Vec<Operand> = self.vars.iter().map(|v| (*v).into()).collect();
        if !self.dims.is_empty() {
            operands.push(Operand::Shape(self.dims.iter().map(Dim::expr).collect()));
        }
        operands
    }
}

/// Adds the nested function to the module under a unique name.
fn lift(module: &mut Module, outer: &Function, itself: Var, mut lambda: Lambda, captured: &Captured, name: Name) {
    lambda.params.extend(&captured.vars);
    if lambda.attrs.get("global_symbol").is_some_and(|symbol| symbol.as_str() != Some(&*name)) {
        lambda.attrs.remove("global_symbol");
    }
    let (mut function, numbers) = Function::around(outer, lambda);
    if !captured.dims.is_empty() {
        let dims: Vec<PrimExpr> = captured.dims.iter().map(Dim::expr).collect();
        let ty = Type::Shape(ShapeType::Known(dims.into()));
        let shape = function.new_var("sizes", ty, false, Span::default());
        function.lambda.params.push(shape);
    }
    let captured = captured.operands().len();
    let own = function.lambda.params[function.lambda.params.len() - captured..].iter().map(|v| (*v).into()).collect();
    if let Some(itself) = numbers.new_var(itself) {
        call_globally(&mut function.lambda.body, itself, &name, own);
    }
    function.renew_dims();
    module.functions.insert(name, Global::Relax(function));
}

/// Turns recursive calls into calls of the global function, with the captured values that it received.
fn call_globally(body: &mut Body, itself: Var, name: &Name, captured: Vec<Operand>) {
    for binding in body.blocks.iter_mut().flat_map(|b| &mut b.bindings) {
        if let Value::Call(call) = &mut binding.value
            && matches!(call.callee, Callee::Var(v) if v == itself)
        {
            call.callee = Callee::Global(name.clone());
            call.args.extend(captured.iter().cloned());
        }
        binding.value.each_body_mut(&mut |b| call_globally(b, itself, name, captured.clone()));
    }
    let value = FxHashMap::from_iter([(itself, Operand::Global(name.clone()))]);
    if captured.is_empty() {
        body.replace(&value);
    }
}
