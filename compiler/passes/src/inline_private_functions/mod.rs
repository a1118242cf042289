//! InlinePrivateFunctions: the bodies of private functions replace their calls.
//!
//! Arguments take the place of parameters, and what they say of symbolic sizes that of the function's; a cast checks
//! what they do not say. Functions without calls left are removed. Functions that call themselves, by others too,
//! stay, and so do those that bodies would grow beyond [`MAX_BINDINGS`] by.

mod body;

use crate::{
    Context, Pass, canonicalize_bindings::canonicalize, dead_code_elimination::remove_unused, functions, rewrite,
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Module, Name,
    relax::{Body, Callee, Function},
};
use rustc_hash::{FxHashMap, FxHashSet};

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "InlinePrivateFunctions",
    doc: "Replaces calls of private functions by their bodies",
    options: &[],
    run,
};

/// As many bindings as functions may grow to: calls of functions that call others several times multiply.
const MAX_BINDINGS: usize = 200_000;

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    let calls = calls(module);
    let recursive = recursive(&calls);
    let can_go = |name: &Name, f: &Function| {
        f.is_private() && !recursive.contains(name) && !f.lambda.attrs.is_true("relax.force_pure")
    };
    let inlined = module.relax_functions().filter(|(name, f)| can_go(name, f));
    let inlined: FxHashSet<Name> = inlined.map(|(name, _)| name.clone()).collect();
    if inlined.is_empty() {
        return Ok(());
    }
    for name in callees_first(&calls, &inlined) {
        let Some(hammock_ir::Function::Relax(function)) = module.functions.get_mut(&name) else { continue };
        if !calls[&name].iter().any(|callee| inlined.contains(callee)) {
            continue;
        }
        let signature = function.signature();
        let mut function = std::mem::replace(function, signature);
        let mut whole = rewrite::take_body(&mut function);
        let left = MAX_BINDINGS.saturating_sub(count(&whole));
        body::Inliner { module, inlined: &inlined, left }.body(&mut function, &mut whole);
        function.lambda.body = whole;
        canonicalize(&mut function)?;
        remove_unused(module, &mut function);
        module.functions.insert(name, hammock_ir::Function::Relax(function));
    }
    let mut used = functions::escaping(module);
    for (_, function) in module.relax_functions() {
        functions::each_call(&function.lambda.body, &mut |call| {
            call.each_global(&mut |name| _ = used.insert(name.clone()));
        });
    }
    module.functions.retain(|name, _| !inlined.contains(name) || used.contains(name));
    Ok(())
}

/// How many bindings a body has, those of nested bodies included.
fn count(body: &Body) -> usize {
    let mut count = 0;
    body.walk(&mut |_| count += 1);
    count
}

/// The Relax functions that each Relax function calls.
fn calls(module: &Module) -> FxHashMap<Name, FxHashSet<Name>> {
    let mut calls = FxHashMap::default();
    for (name, function) in module.relax_functions() {
        let mut callees = FxHashSet::default();
        functions::each_call(&function.lambda.body, &mut |call| {
            if let Callee::Global(callee) = &call.callee
                && module.relax(callee).is_some()
            {
                callees.insert(callee.clone());
            }
        });
        calls.insert(name.clone(), callees);
    }
    calls
}

/// Functions on circles of calls (and those that lie between two circles): what is left when functions that call none of
/// the others, and those that none of the others calls, are taken away.
fn recursive(calls: &FxHashMap<Name, FxHashSet<Name>>) -> FxHashSet<Name> {
    let mut callers: FxHashMap<Name, FxHashSet<Name>> =
        calls.keys().map(|n| (n.clone(), FxHashSet::default())).collect();
    for (caller, callees) in calls {
        for callee in callees {
            callers.entry(callee.clone()).or_default().insert(caller.clone());
        }
    }
    let mut left: FxHashSet<Name> = calls.keys().cloned().collect();
    for (to, from) in [(calls, &callers), (&callers, calls)] {
        for name in peeled(to, from, &left) {
            left.remove(&name);
        }
    }
    left
}

/// Names without an edge `to` another name left, in an order in which each comes after all that it leads to.
fn peeled(
    to: &FxHashMap<Name, FxHashSet<Name>>,
    from: &FxHashMap<Name, FxHashSet<Name>>,
    among: &FxHashSet<Name>,
) -> Vec<Name> {
    let mut open: FxHashMap<&Name, usize> =
        among.iter().map(|name| (name, to[name].iter().filter(|other| among.contains(*other)).count())).collect();
    let mut order: Vec<Name> = among.iter().filter(|name| open[name] == 0).cloned().collect();
    order.sort();
    let mut next = 0;
    while let Some(name) = order.get(next).cloned() {
        next += 1;
        let mut freed: Vec<Name> = Vec::new();
        for other in from[&name].iter().filter(|other| among.contains(*other)) {
            if let Some(count) = open.get_mut(other) {
                *count -= 1;
                freed.extend((*count == 0).then(|| other.clone()));
            }
        }
        freed.sort();
        order.extend(freed);
    }
    order
}

/// All functions, those that are inlined after what they call.
fn callees_first(calls: &FxHashMap<Name, FxHashSet<Name>>, inlined: &FxHashSet<Name>) -> Vec<Name> {
    let mut callers: FxHashMap<Name, FxHashSet<Name>> =
        calls.keys().map(|n| (n.clone(), FxHashSet::default())).collect();
    for (caller, callees) in calls {
        for callee in callees {
            callers.entry(callee.clone()).or_default().insert(caller.clone());
        }
    }
    let mut order = peeled(calls, &callers, inlined);
    let mut others: Vec<Name> = calls.keys().filter(|name| !inlined.contains(*name)).cloned().collect();
    others.sort();
    order.extend(others);
    order
}
