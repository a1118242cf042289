//! Calls of closures.
//!
//! The result of `make_closure`, or of a function that returns such a value, is an object without a function's type:
//! it is called with `invoke_closure`, or `invoke_pure_closure` if its type promised purity.

use crate::rewrite;
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Attrs, Module, Name, Type,
    relax::{Body, Call, Callee, Function, Operand, Value, Var},
};
use rustc_hash::FxHashSet;

/// Makes calls of closures explicit in all functions of a module.
pub fn invoke(module: &mut Module) -> Result<(), Diagnostic> {
    let mut makers: FxHashSet<Name> = FxHashSet::default();
    loop {
        let found = module.relax_functions().filter(|(name, f)| !makers.contains(*name) && returns_closure(f, &makers));
        let found: Vec<Name> = found.map(|(name, _)| name.clone()).collect();
        if found.is_empty() {
            break;
        }
        makers.extend(found);
    }
    rewrite::relax_functions(module, |_, name, function| {
        let mut body = rewrite::take_body(function);
        let mut closures = FxHashSet::default();
        find(&body, &makers, &mut closures);
        rewrite_calls(function, &closures, &mut body);
        closures.into_iter().for_each(|var| function.vars[var].ty = Type::Any);
        if makers.contains(name) {
            function.lambda.ret_ty = Type::Any;
        }
        function.lambda.body = body;
        Ok(())
    })
}

fn returns_closure(function: &Function, makers: &FxHashSet<Name>) -> bool {
    let mut closures = FxHashSet::default();
    find(&function.lambda.body, makers, &mut closures);
    function.lambda.body.result.as_var().is_some_and(|result| closures.contains(&result))
}

/// Collects the variables that are bound to closures.
fn find(body: &Body, makers: &FxHashSet<Name>, closures: &mut FxHashSet<Var>) {
    for binding in body.bindings() {
        binding.value.each_body(&mut |nested| find(nested, makers, closures));
        let is_closure = match &binding.value {
            Value::Call(Call { callee: Callee::Op(op), .. }) => *op == "make_closure",
            Value::Call(Call { callee: Callee::Global(name), .. }) => makers.contains(name),
            Value::Operand(Operand::Var(source)) => closures.contains(source),
            _ => false,
        };
        if is_closure {
            closures.insert(binding.var);
        }
    }
}

fn rewrite_calls(function: &Function, closures: &FxHashSet<Var>, body: &mut Body) {
    for binding in body.blocks.iter_mut().flat_map(|b| &mut b.bindings) {
        binding.value.each_body_mut(&mut |nested| rewrite_calls(function, closures, nested));
        if let Value::Call(call) = &mut binding.value
            && let Callee::Var(closure) = call.callee
            && closures.contains(&closure)
        {
            let pure = matches!(function.ty(closure), Type::Callable(ty) if ty.pure);
            let op = if pure { "invoke_pure_closure" } else { "invoke_closure" };
            let args = vec![closure.into(), Operand::Tuple(std::mem::take(&mut call.args))];
            let ty_args = vec![function.ty(binding.var).clone()];
            *call = Call { ty_args, ..Call::op(op, args, Attrs::new()) };
        }
    }
}
