//! BindParams: binds parameters to the weights of their names.
//!
//! If the module itself calls a function whose parameters are bound, it keeps calling the original function, now
//! private; and if all of those calls pass the same constant for a parameter, that parameter is bound too. Symbolic
//! dimensions that only bound parameters define take their values.

use crate::{Context, NamedTensors, OptionKind, Pass, PassOption, analysis::functions};
use hammock_diagnostics::{Diagnostic, codes};
use hammock_ir::{
    Function as Global, Module, Name, PrimExpr, Tensor, Type,
    prim::{self, Substitution},
    print::type_text,
    relax::{Call, Callee, Constant, Function, Operand, Replacements},
};
use hammock_runtime::Shape;
use rustc_hash::{FxHashMap, FxHashSet};

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "BindParams",
    doc: "Binds parameters to the weights of their names",
    options: &[PassOption {
        name: "func_name",
        kind: OptionKind::Text,
        default: "\"\"",
        doc: "Function whose parameters are bound; if empty, all functions that are not private",
    }],
    run,
};

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let Some(weights) = context.environment.weights else {
        let error = Diagnostic::error(codes::BAD_PASS_OPTIONS, "pass `BindParams` has no weights to bind");
        return Err(error.help("`--params FILE` gives them"));
    };
    let wanted = context.options.text("func_name");
    let names = if wanted.is_empty() { exported(module) } else { vec![functions::find(module, &PASS, &wanted)?] };
    bind(module, names, weights).map_err(|mut wrong| wrong.swap_remove(0))
}

/// Binds parameters of visible functions to the tensors of their names.
///
/// # Errors
/// If a tensor's dtype, rank or a fixed dimension differs from the parameter's; one error for each.
pub fn bind_params(module: &mut Module, weights: &dyn NamedTensors) -> Result<(), Vec<Diagnostic>> {
    let names = exported(module);
    bind(module, names, weights)
}

fn exported(module: &Module) -> Vec<Name> {
    module.relax_functions().filter(|(_, f)| !f.is_private()).map(|(n, _)| n.clone()).collect()
}

fn bind(module: &mut Module, names: Vec<Name>, weights: &dyn NamedTensors) -> Result<(), Vec<Diagnostic>> {
    let called = called(module);
    for name in names {
        let Some(function) = module.relax(&name) else { continue };
        let bound = matching(function, weights)?;
        if bound.is_empty() {
            continue;
        }
        if called.contains(&name) {
            keep_private_copy(module, &name);
        }
        if let Some(Global::Relax(function)) = module.functions.get_mut(&name) {
            substitute(function, bound);
        }
    }
    while propagate(module) {}
    Ok(())
}

/// Returns the weights for a function's parameters, by index.
fn matching(function: &Function, weights: &dyn NamedTensors) -> Result<FxHashMap<usize, Tensor>, Vec<Diagnostic>> {
    let (mut bound, mut sizes, mut wrong) = (FxHashMap::default(), FxHashMap::default(), Vec::new());
    for (i, param) in function.lambda.params.iter().enumerate() {
        let info = &function.vars[*param];
        let Some((name, tensor)) = weights.named(&info.name) else { continue };
        match check_tensor(&info.ty, tensor, &mut sizes) {
            Ok(()) => drop(bound.insert(i, tensor.clone())),
            Err(why) => {
                let (dtype, shape, expected) = (tensor.dtype(), Shape::new(tensor.shape()), type_text(&info.ty));
                let message =
                    format!("weight `{name}` is {dtype} of shape {shape}, but the parameter is {expected}{why}");
                wrong.push(Diagnostic::error(codes::WEIGHT_MISMATCH, message).label(info.span, ""));
            }
        }
    }
    if wrong.is_empty() { Ok(bound) } else { Err(wrong) }
}

/// Checks a tensor against a parameter's type. `sizes` are the values of symbolic dimensions from earlier parameters.
fn check_tensor(ty: &Type, tensor: &Tensor, sizes: &mut FxHashMap<prim::Var, i64>) -> Result<(), String> {
    let t = match ty {
        Type::Tensor(t) => t,
        Type::Any => return Ok(()),
        _ => return Err(String::new()),
    };
    let shape = tensor.shape();
    if t.dtype.is_some_and(|d| d != tensor.dtype()) || t.ndim().is_some_and(|n| n != shape.len()) {
        return Err(String::new());
    }
    for (dim, size) in t.dims().into_iter().flatten().zip(shape) {
        if dim.as_int().is_some_and(|dim| dim != *size) {
            return Err(String::new());
        }
        if let Some(var) = dim.as_var() {
            let known = *sizes.entry(var.clone()).or_insert(*size);
            if known != *size {
                return Err(format!(", and `{}` is {known} by another weight", var.name()));
            }
        }
    }
    Ok(())
}

/// Returns the global functions that the module calls or refers to.
fn called(module: &Module) -> FxHashSet<Name> {
    let mut names = functions::escaping(module);
    for (_, f) in module.relax_functions() {
        functions::each_call(&f.lambda.body, &mut |call| {
            call.each_global(&mut |n| {
                names.insert(n.clone());
            })
        });
    }
    names
}

/// Copies a function under a private name and makes the module call the copy.
fn keep_private_copy(module: &mut Module, name: &Name) {
    let Some(function) = module.relax(name) else { return };
    let mut copy = function.clone();
    copy.lambda.attrs.remove("global_symbol");
    let private = module.add_unique(&format!("_{name}_unbound"), Global::Relax(copy));
    functions::rename_uses(module, name, &private);
}

/// Replaces parameters by constants; symbolic dimensions that only they define take their values.
fn substitute(function: &mut Function, bound: FxHashMap<usize, Tensor>) {
    let mut values = Replacements::default();
    let mut dims = Substitution::default();
    let mut unbound = Vec::new();
    for (i, param) in std::mem::take(&mut function.lambda.params).into_iter().enumerate() {
        let Some(tensor) = bound.get(&i) else {
            unbound.push(param);
            continue;
        };
        if let Type::Tensor(t) = function.ty(param) {
            for (dim, n) in t.dims().into_iter().flatten().zip(tensor.shape()) {
                if let Some(var) = dim.as_var() {
                    dims.entry(var.clone()).or_insert_with(|| PrimExpr::int64(*n));
                }
            }
        }
        let vdevice = function.ty(param).as_tensor().and_then(|t| t.vdevice.clone());
        values.insert(param, Operand::Const(Constant { vdevice, ..Constant::new(tensor.clone()) }));
    }
    function.lambda.params = unbound;
    function.replace(&values);
    function.substitute_dims(&dims);
}

/// Binds the parameters of private functions for which every call passes the same constant; returns true if there
/// were any.
fn propagate(module: &mut Module) -> bool {
    let mut given = constant_arguments(module);
    given.retain(|_, bound| !bound.is_empty());
    for (_, f) in module.relax_functions_mut() {
        functions::each_call_mut(&mut f.lambda.body, &mut |call| {
            if let Callee::Global(name) = &call.callee
                && let Some(bound) = given.get(name)
            {
                let mut positions = 0..;
                call.args.retain(|_| positions.next().is_none_or(|i| !bound.contains_key(&i)));
            }
        });
    }
    let changed = !given.is_empty();
    for (name, bound) in given {
        if let Some(Global::Relax(f)) = module.functions.get_mut(&name) {
            substitute(f, bound);
        }
    }
    changed
}

/// Returns the constants that every call of a private function passes for its parameters.
fn constant_arguments(module: &Module) -> FxHashMap<Name, FxHashMap<usize, Tensor>> {
    let private = functions::private(module);
    let mut given: FxHashMap<Name, FxHashMap<usize, Tensor>> = FxHashMap::default();
    let each_call = |from_itself: bool, f: &mut dyn FnMut(&Name, &Function, &Call)| {
        for (caller, function) in module.relax_functions() {
            functions::each_call(&function.lambda.body, &mut |call| match &call.callee {
                Callee::Global(name) if private.contains(name) && (caller == name) == from_itself => {
                    f(name, function, call);
                }
                _ => {}
            });
        }
    };
    each_call(false, &mut |name, _, call| match given.get_mut(name) {
        Some(common) => {
            common.retain(|i, tensor| matches!(call.args.get(*i), Some(Operand::Const(c)) if same(&c.tensor, tensor)))
        }
        None => {
            let constants = call.args.iter().enumerate().filter_map(|(i, o)| match o {
                Operand::Const(c) => Some((i, c.tensor.clone())),
                _ => None,
            });
            given.insert(name.clone(), constants.collect());
        }
    });
    // A recursive call that passes its own parameter on does not change it.
    each_call(true, &mut |name, function, call| {
        if let Some(common) = given.get_mut(name) {
            common.retain(|i, tensor| match call.args.get(*i) {
                Some(Operand::Const(c)) => same(&c.tensor, tensor),
                other => other.and_then(Operand::as_var) == function.lambda.params.get(*i).copied(),
            });
        }
    });
    given
}

fn same(a: &Tensor, b: &Tensor) -> bool {
    a.data_ptr() == b.data_ptr() && a.shape() == b.shape() && a.dtype() == b.dtype()
}
