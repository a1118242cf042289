//! ExpandTupleArguments: replaces tuple parameters of private functions by their members.
//!
//! A tuple parameter becomes one parameter per member, recursively. Functions used as values stay: not all of their
//! calls are known.

use crate::{
    Context, Pass,
    analysis::functions,
    graph::{canonicalize_bindings, dead_code_elimination},
    rewrite::{self, Emitter},
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Function as Global, Module, Name, Span, Type,
    relax::{Binding, Function, Operand, Value, Var},
};
use rustc_hash::FxHashSet;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "ExpandTupleArguments",
    doc: "Replaces tuple parameters of private functions by their members",
    options: &[],
    run,
};

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let mut expanded: FxHashSet<Name> = FxHashSet::default();
    for name in functions::private(module) {
        let Some(Global::Relax(function)) = module.functions.get_mut(&name) else { continue };
        if function.lambda.params.iter().any(|param| function.ty(*param).as_tuple().is_some()) {
            expand_params(function);
            expanded.insert(name);
        }
    }
    if !expanded.is_empty() {
        rewrite::relax_functions(module, |module, _, function| expand_calls(module, function, &expanded))?;
    }
    context.then(&canonicalize_bindings::PASS, module)?;
    context.then(&dead_code_elimination::PASS, module)
}

fn expand_params(function: &mut Function) {
    let mut out = Emitter::new(false);
    let mut params = Vec::new();
    for param in std::mem::take(&mut function.lambda.params) {
        expand_param(function, param, &mut params, &mut out);
    }
    function.lambda.params = params;
    function.lambda.body.blocks.insert(0, out.block());
}

/// Replaces a tuple parameter by parameters for its members, recursively, and binds the tuple to them.
fn expand_param(function: &mut Function, param: Var, params: &mut Vec<Var>, out: &mut Emitter) {
    let info = function.vars[param].clone();
    let Type::Tuple(types) = info.ty else { return params.push(param) };
    let mut members = Vec::with_capacity(types.len());
    for (i, ty) in types.into_iter().enumerate() {
        let member = function.new_var(format!("{}_{i}", info.name), ty, false, info.span);
        expand_param(function, member, params, out);
        members.push(Operand::Var(member));
    }
    out.push(Binding { var: param, value: Value::Operand(Operand::Tuple(members)), span: info.span });
}

fn expand_calls(module: &Module, function: &mut Function, expanded: &FxHashSet<Name>) -> Result<(), Diagnostic> {
    rewrite::bindings(function, &mut |function, mut binding, out| {
        if functions::callee(&binding.value).is_some_and(|name| expanded.contains(name))
            && let Value::Call(call) = &mut binding.value
        {
            for arg in std::mem::take(&mut call.args) {
                let ty = function.operand_ty(module, &arg);
                expand_arg(function, arg, &ty, &mut call.args, out, binding.span);
            }
        }
        out.push(binding);
        Ok(())
    })
}

fn expand_arg(f: &mut Function, arg: Operand, ty: &Type, args: &mut Vec<Operand>, out: &mut Emitter, span: Span) {
    match (arg, ty) {
        (Operand::Tuple(members), Type::Tuple(types)) => {
            for (member, ty) in members.into_iter().zip(types) {
                expand_arg(f, member, ty, args, out, span);
            }
        }
        (arg, Type::Tuple(types)) => {
            for (i, ty) in types.iter().enumerate() {
                let member = out.bind(f, "lv", ty.clone(), Value::TupleGet(arg.clone(), i), span);
                expand_arg(f, member.into(), ty, args, out, span);
            }
        }
        (arg, _) => args.push(arg),
    }
}
