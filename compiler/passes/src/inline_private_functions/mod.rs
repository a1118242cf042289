//! InlinePrivateFunctions: the bodies of private functions replace their calls.
//!
//! Arguments take the place of parameters, and what they say of symbolic sizes that of the function's; a cast checks
//! what they do not say. Functions without calls left are removed. Functions that call themselves, by others too,
//! stay. A function that is called once costs nothing; copies for further calls make the module grow, and a function
//! stays when they would make it grow by more bindings than `max_growth` in all.

mod body;

use crate::{
    Context, OptionKind, Options, Pass, PassOption, canonicalize_bindings::canonicalize,
    dead_code_elimination::remove_unused, editor, functions, rewrite,
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Module, Name,
    relax::{Callee, Function, memory::Writers},
};
use hammock_ops::Table;
use rustc_hash::{FxHashMap, FxHashSet};

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "InlinePrivateFunctions",
    doc: "Replaces calls of private functions by their bodies",
    options: &[MAX_GROWTH, PRIMITIVE],
    run,
};

/// Functions that call others several times multiply: there is always a bound.
const MAX_GROWTH: PassOption = PassOption {
    name: "max_growth",
    kind: OptionKind::Integer,
    default: "200000",
    doc: "How many bindings the module may grow by",
};

const PRIMITIVE: PassOption = PassOption {
    name: "primitive",
    kind: OptionKind::Bool,
    default: "true",
    doc: "Also functions that FuseTIR is to make kernels of",
};

/// What the default pipeline inlines: groups that a user's pipeline has made remain, and the passes after this one take no
/// more than a fraction of a second longer.
pub fn within_reason() -> Options {
    Options::of(&PASS).with([(MAX_GROWTH.name, 2000.into()), (PRIMITIVE.name, false.into())])
}

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let calls = calls(module);
    let recursive = recursive(&calls);
    let with_primitive = context.options.is_on(PRIMITIVE.name);
    let can_go = |name: &Name, f: &Function| {
        f.is_private()
            && !recursive.contains(name)
            && !f.lambda.attrs.is_true("relax.force_pure")
            && (with_primitive || !editor::is_primitive(f))
    };
    let candidates = module.relax_functions().filter(|(name, f)| can_go(name, f));
    let candidates: FxHashSet<Name> = candidates.map(|(name, _)| name.clone()).collect();
    if candidates.is_empty() {
        return Ok(());
    }
    let mut inlined = candidates.clone();
    let writers = Writers::of(module, &Table);
    let sites = sites(module);
    let values = functions::escaping(module);
    let mut left = usize::try_from(context.options.integer(MAX_GROWTH.name)).unwrap_or(0);
    for name in callees_first(&calls, &inlined) {
        let Some(hammock_ir::Function::Relax(function)) = module.functions.get_mut(&name) else { continue };
        if calls[&name].iter().any(|callee| inlined.contains(callee)) {
            let signature = function.signature();
            let mut function = std::mem::replace(function, signature);
            let mut whole = rewrite::take_body(&mut function);
            body::Inliner { module, inlined: &inlined }.body(&mut function, &mut whole);
            function.lambda.body = whole;
            canonicalize(&mut function)?;
            remove_unused(module, &mut function, &writers);
            module.functions.insert(name.clone(), hammock_ir::Function::Relax(function));
        }
        if inlined.contains(&name) {
            let sites = sites.get(&name).copied().unwrap_or(0);
            // the last call takes the function itself, unless that is needed as a value too
            let copies = if values.contains(&name) { sites } else { sites.saturating_sub(1) };
            let growth = module.relax(&name).map_or(0, size).saturating_mul(copies);
            match left.checked_sub(growth) {
                Some(rest) => left = rest,
                None => _ = inlined.remove(&name),
            }
        }
    }
    let mut used = functions::escaping(module);
    for (_, function) in module.relax_functions() {
        functions::each_call(&function.lambda.body, &mut |call| {
            call.each_global(&mut |name| _ = used.insert(name.clone()));
        });
    }
    module.functions.retain(|name, _| !candidates.contains(name) || used.contains(name));
    Ok(())
}

/// How many bindings a call of a function becomes: those of nested bodies count, and arguments may need casts.
fn size(function: &Function) -> usize {
    let mut size = function.lambda.params.len();
    function.lambda.body.walk(&mut |_| size += 1);
    size
}

/// In how many places each function is called.
fn sites(module: &Module) -> FxHashMap<Name, usize> {
    let mut sites: FxHashMap<Name, usize> = FxHashMap::default();
    for (_, function) in module.relax_functions() {
        functions::each_call(&function.lambda.body, &mut |call| {
            if let Callee::Global(callee) = &call.callee {
                *sites.entry(callee.clone()).or_default() += 1;
            }
        });
    }
    sites
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
