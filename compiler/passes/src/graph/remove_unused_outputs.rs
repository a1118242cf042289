//! RemoveUnusedOutputs: removes results of private functions that no call uses.
//!
//! Members of a returned tuple that no call uses are removed; a single remaining member is returned without a tuple.
//! Bindings that only computed unused members are removed.

use crate::{
    Context, Pass,
    analysis::{functions, types::value_ty},
    graph::{canonicalize_bindings, dead_code_elimination},
    rewrite::{self, Emitter, refine_types},
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Function as Global, Module, Name, Span, Type,
    relax::{Body, Function, Operand, Value, Var},
};
use rustc_hash::FxHashMap;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "RemoveUnusedOutputs",
    doc: "Removes results of private functions that no call uses",
    options: &[],
    run,
};

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let usage = usage(module);
    for (name, used) in &usage {
        if let Some(Global::Relax(function)) = module.functions.get_mut(name) {
            narrow(function, used);
        }
    }
    if !usage.is_empty() {
        rewrite::relax_functions(module, |module, _, function| follow(module, function, &usage))?;
    }
    context.then(&canonicalize_bindings::PASS, module)?;
    context.then(&dead_code_elimination::PASS, module)
}

/// Returns the used members of the results of functions that have unused ones.
fn usage(module: &Module) -> FxHashMap<Name, Vec<bool>> {
    let mut usage: FxHashMap<Name, Vec<bool>> = FxHashMap::default();
    for name in functions::private(module) {
        let members = module.relax(&name).and_then(|f| f.lambda.ret_ty.as_tuple()).map(<[Type]>::len);
        usage.extend(members.map(|members| (name, vec![false; members])));
    }
    for (_, function) in module.relax_functions() {
        let mut results: FxHashMap<Var, &Name> = FxHashMap::default();
        function.lambda.body.walk(&mut |binding| {
            let callee = functions::callee(&binding.value).filter(|name| usage.contains_key(*name));
            results.extend(callee.map(|name| (binding.var, name)));
        });
        if results.is_empty() {
            continue;
        }
        let mut uses = Vec::new();
        each_use(&function.lambda.body, &mut |var, member| uses.extend(results.get(&var).map(|name| (*name, member))));
        for (name, member) in uses {
            let Some(used) = usage.get_mut(name) else { continue };
            match member.and_then(|member| used.get_mut(member)) {
                Some(member) => *member = true,
                None => used.fill(true),
            }
        }
    }
    usage.retain(|_, used| used.contains(&false));
    usage
}

/// Calls `f` on each use of a variable, with the member if it uses only one.
fn each_use(body: &Body, f: &mut dyn FnMut(Var, Option<usize>)) {
    for binding in body.bindings() {
        match &binding.value {
            Value::TupleGet(Operand::Var(var), member) => f(*var, Some(*member)),
            value => value.each_operand(&mut |o| o.each_var(&mut |v| f(v, None))),
        }
        binding.value.each_body(&mut |nested| each_use(nested, f));
    }
    body.result.each_var(&mut |v| f(v, None));
}

/// Returns the used members as a tuple, or the only one itself.
fn select_used<T>(members: impl IntoIterator<Item = T>, used: &[bool], tuple: impl FnOnce(Vec<T>) -> T) -> T {
    let mut members: Vec<T> = members.into_iter().zip(used).filter(|(_, used)| **used).map(|(m, _)| m).collect();
    if members.len() == 1 { members.remove(0) } else { tuple(members) }
}

/// Makes a function return only the used members.
fn narrow(function: &mut Function, used: &[bool]) {
    let Type::Tuple(types) = function.lambda.ret_ty.clone() else { return };
    let result = std::mem::replace(&mut function.lambda.body.result, Operand::Tuple(Vec::new()));
    let mut out = Emitter::new(false);
    let members: Vec<Operand> = match result {
        Operand::Tuple(members) => members,
        whole => {
            let member = |(i, ty): (usize, &Type)| {
                out.bind(function, "gv", ty.clone(), Value::TupleGet(whole.clone(), i), Span::NONE).into()
            };
            types.iter().enumerate().map(member).collect()
        }
    };
    if !out.bindings.is_empty() {
        function.lambda.body.blocks.push(out.block());
    }
    function.lambda.body.result = select_used(members, used, Operand::Tuple);
    function.lambda.ret_ty = select_used(types, used, Type::Tuple);
}

/// Updates the calls in a function to the new results.
fn follow(module: &Module, function: &mut Function, usage: &FxHashMap<Name, Vec<bool>>) -> Result<(), Diagnostic> {
    let mut results: FxHashMap<Var, &[bool]> = FxHashMap::default();
    rewrite::bindings(function, &mut |function, mut binding, out| {
        if let Some(used) = functions::callee(&binding.value).and_then(|name| usage.get(name)) {
            results.insert(binding.var, used);
            if let Ok(ty) = value_ty(module, function, &binding.value) {
                function.vars[binding.var].ty = ty;
            }
        }
        if let Value::TupleGet(Operand::Var(var), member) = &binding.value
            && let Some(used) = results.get(var)
        {
            let now = used[..*member].iter().filter(|used| **used).count();
            let alone = used.iter().filter(|used| **used).count() == 1;
            let var = Operand::Var(*var);
            binding.value = if alone { Value::Operand(var) } else { Value::TupleGet(var, now) };
        }
        out.push(binding);
        Ok(())
    })?;
    if !results.is_empty() {
        refine_types::refine(module, function);
    }
    Ok(())
}
