//! InlinePrivateFunctions: inlines calls of private functions.
//!
//! Arguments replace parameters, and their types define the function's symbolic sizes; a cast checks what they leave
//! open. Functions without remaining calls are removed. Recursive functions, also indirectly, stay. A function that
//! is called once costs nothing; copies for further calls make the module grow, and a function stays if they would
//! make it grow by more bindings than `max_growth` in total.

mod body;

use crate::{
    Context, OptionKind, Options, Pass, PassOption,
    analysis::functions,
    rewrite::{self, canonicalize::canonicalize, dead_code::remove_unused, editor},
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Module, Name,
    relax::{Callee, Function, Value, memory::Writers},
};
use hammock_ops::Table;
use rustc_hash::{FxHashMap, FxHashSet};

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "InlinePrivateFunctions",
    doc: "Inlines calls of private functions",
    options: &[MAX_GROWTH, PRIMITIVE],
    run,
};

/// Nested calls grow exponentially when inlined: there is always a bound.
const MAX_GROWTH: PassOption = PassOption {
    name: "max_growth",
    kind: OptionKind::Integer,
    default: "200000",
    doc: "Maximum number of bindings that the module may grow by",
};

const PRIMITIVE: PassOption = PassOption {
    name: "primitive",
    kind: OptionKind::Bool,
    default: "true",
    doc: "Also inline groups that FuseTIR would fuse",
};

/// Returns the options of the default pipeline: fused groups of a user's pipeline remain, and later passes take only
/// a fraction of a second longer.
pub fn bounded() -> Options {
    Options::of(&PASS).with([(MAX_GROWTH.name, 2000.into()), (PRIMITIVE.name, false.into())])
}

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let calls = calls(module);
    let recursive = recursive_functions(&calls);
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
    let plan = Plan::of(module, &calls, &candidates, context.options.integer(MAX_GROWTH.name));
    let writers = Writers::of(module, &Table);
    let mut open: Vec<Name> = module.relax_functions().map(|(name, _)| name.clone()).collect();
    open.retain(|name| !candidates.contains(name));
    let mut needed = FxHashSet::default();
    while let Some(name) = open.pop() {
        let Some(hammock_ir::Function::Relax(function)) = module.functions.get_mut(&name) else { continue };
        let signature = function.signature();
        let mut function = std::mem::replace(function, signature);
        if calls[&name].iter().any(|callee| plan.inlined.contains(callee)) {
            let mut whole = rewrite::take_body(&mut function);
            let Plan { inlined, has_control } = &plan;
            body::Inliner { module, inlined, has_control }.body(&mut function, &mut whole);
            function.lambda.body = whole;
            canonicalize(&mut function)?;
            remove_unused(module, &mut function, &writers);
        }
        each_reference(&function, &mut |other| {
            if candidates.contains(other) && needed.insert(other.clone()) {
                open.push(other.clone());
            }
        });
        module.functions.insert(name, hammock_ir::Function::Relax(function));
    }
    module.functions.retain(|name, _| !candidates.contains(name) || needed.contains(name));
    Ok(())
}

/// Calls `f` on each global function that a function calls or uses as a value.
fn each_reference(function: &Function, f: &mut dyn FnMut(&Name)) {
    functions::each_value(&function.lambda.body, f);
    functions::each_call(&function.lambda.body, &mut |call| call.each_global(f));
}

/// Functions to inline.
struct Plan {
    inlined: FxHashSet<Name>,
    /// Functions whose bodies have branches or functions in them once calls are inlined.
    has_control: FxHashSet<Name>,
}

impl Plan {
    fn of(
        module: &Module,
        calls: &FxHashMap<Name, FxHashSet<Name>>,
        candidates: &FxHashSet<Name>,
        max_growth: i64,
    ) -> Plan {
        let mut left = usize::try_from(max_growth).unwrap_or(0);
        let mut plan = Plan { inlined: candidates.clone(), has_control: FxHashSet::default() };
        let (sites, values) = (sites(module), functions::escaping(module));
        // Number of bindings of each function once calls are inlined.
        let mut sizes: FxHashMap<Name, usize> = FxHashMap::default();
        for name in callees_first(calls, candidates) {
            let Some(function) = module.relax(&name) else { continue };
            let (mut size, mut has_control) = (0usize, false);
            function.lambda.body.walk(&mut |binding| {
                has_control |= matches!(binding.value, Value::If { .. } | Value::Function(_));
                let callee = functions::callee(&binding.value).filter(|callee| plan.inlined.contains(*callee));
                has_control |= callee.is_some_and(|callee| plan.has_control.contains(callee));
                size = size.saturating_add(callee.and_then(|callee| sizes.get(callee)).copied().unwrap_or(1));
            });
            sizes.insert(name.clone(), size);
            if has_control {
                plan.has_control.insert(name.clone());
            }
            if !plan.inlined.contains(&name) {
                continue;
            }
            let sites = sites.get(&name).copied().unwrap_or(0);
            // The last call moves the function itself, unless that is used as a value too.
            let copies = if values.contains(&name) { sites } else { sites.saturating_sub(1) };
            // Arguments may need casts.
            let growth = size.saturating_add(function.lambda.params.len()).saturating_mul(copies);
            match left.checked_sub(growth) {
                Some(rest) => left = rest,
                None => _ = plan.inlined.remove(&name),
            }
        }
        plan
    }
}

/// Returns the number of calls of each function.
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

/// Returns the Relax functions that each Relax function calls.
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

/// Returns the functions on cycles of calls, and those between two cycles: what remains after repeatedly removing
/// functions that call no remaining function, and those that no remaining function calls.
fn recursive_functions(calls: &FxHashMap<Name, FxHashSet<Name>>) -> FxHashSet<Name> {
    let mut callers: FxHashMap<Name, FxHashSet<Name>> =
        calls.keys().map(|n| (n.clone(), FxHashSet::default())).collect();
    for (caller, callees) in calls {
        for callee in callees {
            callers.entry(callee.clone()).or_default().insert(caller.clone());
        }
    }
    let mut left: FxHashSet<Name> = calls.keys().cloned().collect();
    for (to, from) in [(calls, &callers), (&callers, calls)] {
        for name in peel_order(to, from, &left) {
            left.remove(&name);
        }
    }
    left
}

/// Returns the names that can be removed by repeatedly taking one without an edge `to` a remaining name, in that
/// order.
fn peel_order(
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

/// Returns all functions, with inlined functions after their callees.
fn callees_first(calls: &FxHashMap<Name, FxHashSet<Name>>, inlined: &FxHashSet<Name>) -> Vec<Name> {
    let mut callers: FxHashMap<Name, FxHashSet<Name>> =
        calls.keys().map(|n| (n.clone(), FxHashSet::default())).collect();
    for (caller, callees) in calls {
        for callee in callees {
            callers.entry(callee.clone()).or_default().insert(caller.clone());
        }
    }
    let mut order = peel_order(calls, &callers, inlined);
    let mut others: Vec<Name> = calls.keys().filter(|name| !inlined.contains(*name)).cloned().collect();
    others.sort();
    order.extend(others);
    order
}
