//! Names of lifted functions: a function's global symbol; otherwise the names of the global function around it and of
//! its variable, `main_inner`; if that is ambiguous or taken, all names on the path, `main_outer_inner`; finally with
//! a number, `main_inner_0`.

use hammock_ir::{
    Module, Name,
    relax::{Body, Function, Lambda, Value, Var},
};
use rustc_hash::{FxHashMap, FxHashSet};

/// A nested function: the global function around it, and its variable there.
pub type NestedKey = (Name, Var);

struct Nested {
    key: NestedKey,
    /// Names from the global function to its own.
    path: Vec<Name>,
    symbol: Option<Name>,
}

/// Returns a name for each nested function of a module.
pub fn of(module: &Module) -> FxHashMap<NestedKey, Name> {
    let mut nested = Vec::new();
    for (name, function) in module.relax_functions() {
        collect(name, function, &mut vec![name.clone()], &function.lambda.body, &mut nested);
    }
    let mut taken: FxHashSet<Name> = module.functions.keys().cloned().collect();
    let mut names = FxHashMap::default();
    let short = |nested: &Nested| format!("{}_{}", nested.path[0], nested.path[nested.path.len() - 1]);
    let long = |nested: &Nested| nested.path.iter().map(|name| &**name).collect::<Vec<_>>().join("_");
    assign(&mut nested, &mut taken, &mut names, |nested| nested.symbol.clone());
    assign(&mut nested, &mut taken, &mut names, |nested| Some(short(nested).into()));
    assign(&mut nested, &mut taken, &mut names, |nested| (nested.path.len() > 2).then(|| long(nested).into()));
    for nested in nested {
        let name = (0..).map(|n| Name::from(format!("{}_{n}", short(&nested)))).find(|name| !taken.contains(name));
        if let Some(name) = name {
            taken.insert(name.clone());
            names.insert(nested.key, name);
        }
    }
    names
}

fn collect(global: &Name, function: &Function, path: &mut Vec<Name>, body: &Body, nested: &mut Vec<Nested>) {
    for binding in body.bindings() {
        if let Value::Function(lambda) = &binding.value {
            path.push(function.vars[binding.var].name.clone());
            nested.push(Nested { key: (global.clone(), binding.var), path: path.clone(), symbol: symbol(lambda) });
            collect(global, function, path, &lambda.body, nested);
            path.pop();
        } else {
            binding.value.each_body(&mut |body| collect(global, function, path, body, nested));
        }
    }
}

fn symbol(lambda: &Lambda) -> Option<Name> {
    lambda.attrs.get("global_symbol")?.as_str().map(Name::from)
}

/// Assigns the names that a rule proposes, where they are free and unique.
fn assign(
    nested: &mut Vec<Nested>,
    taken: &mut FxHashSet<Name>,
    names: &mut FxHashMap<NestedKey, Name>,
    wanted: impl Fn(&Nested) -> Option<Name>,
) {
    let mut times: FxHashMap<Name, usize> = FxHashMap::default();
    nested.iter().filter_map(&wanted).for_each(|name| *times.entry(name).or_default() += 1);
    nested.retain(|nested| match wanted(nested).filter(|name| times[name] == 1 && !taken.contains(name)) {
        Some(name) => {
            taken.insert(name.clone());
            names.insert(nested.key.clone(), name);
            false
        }
        None => true,
    });
}
