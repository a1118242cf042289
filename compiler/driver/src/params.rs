//! Binds weights to parameters by name.

use crate::Failure;
use hammock_ir::{
    AttrValue, Function as Global, Module, Name, PrimExpr, Tensor, Type,
    prim::{self, Substitution},
    print::type_text,
    relax::{Binding, Body, Call, Callee, Constant, Function, Operand, Replacements, Value, Var},
};
use hammock_runtime::{Shape, tools::Weights, value::DLTensor};
use hammock_syntax::{Diagnostic, codes};
use std::collections::{HashMap, HashSet};

/// Binds parameters of functions that others may call to the tensors of their names.
///
/// Where the module itself calls such a function, it keeps calling the function as it was, now private; and where all
/// of those calls give the same constant for a parameter, that parameter is bound too.
///
/// # Errors
/// When a tensor's dtype, rank or a fixed dimension is not that of the parameter of its name.
pub fn bind(module: &mut Module, weights: &Weights) -> Result<(), Failure> {
    let exported: Vec<Name> =
        module.relax_functions().filter(|(_, f)| !f.is_private()).map(|(n, _)| n.clone()).collect();
    let called = called(module);
    for name in exported {
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

/// What is to be said of tensors that belong to no parameter of a function that others may call, and stand for no
/// constant that the text left out: a warning, or an error when that is true of all.
pub fn unused(module: &Module, weights: &Weights) -> Option<Diagnostic> {
    let exported = module.relax_functions().filter(|(_, f)| !f.is_private());
    let names = exported.flat_map(|(_, f)| f.lambda.params.iter().map(|p| &*f.vars[*p].name));
    let names: Vec<&str> = names.collect();
    let constants = constants(module);
    let unused = weights.unused(&names, |tensor| constants.contains(&std::ptr::from_ref(tensor.as_dl())))?;
    let say = if unused.all { Diagnostic::error } else { Diagnostic::warning };
    let diagnostic = say(codes::UNUSED_WEIGHT, unused.error.message);
    Some(match unused.error.help {
        Some(help) => diagnostic.help(help),
        None => diagnostic,
    })
}

/// What is to be said of parameters that a function calls weights, those behind its first `num_input`, when they have
/// no tensor and others of it do.
pub fn missing(module: &Module, weights: &Weights) -> Vec<Diagnostic> {
    let mut said = Vec::new();
    for (name, function) in module.relax_functions().filter(|(_, f)| !f.is_private()) {
        let inputs = match function.lambda.attrs.get("num_input") {
            Some(AttrValue::Int(inputs)) => Some(*inputs),
            Some(AttrValue::Expr(inputs)) => inputs.as_int(),
            _ => None,
        };
        let Some(inputs) = inputs.and_then(|n| usize::try_from(n).ok()) else { continue };
        let names = function.lambda.params.iter().skip(inputs).map(|p| &*function.vars[*p].name);
        let (given, open): (Vec<&str>, Vec<&str>) = names.partition(|name| weights.get(name).is_some());
        if given.is_empty() || open.is_empty() {
            continue;
        }
        let message = format!("weights of `{name}` have no tensor: {}", open.join(", "));
        let near = weights.instead_of(&open);
        let help = near.unwrap_or_else(|| "you have to give them as arguments when you run the model".to_owned());
        said.push(Diagnostic::warning(codes::UNUSED_WEIGHT, message).help(help));
    }
    said
}

/// The tensors that are constants of graphs.
fn constants(module: &Module) -> HashSet<*const DLTensor> {
    let mut found = HashSet::new();
    let mut note = |operand: &Operand| {
        operand.walk(&mut |o| {
            if let Operand::Const(constant) = o {
                found.insert(std::ptr::from_ref(constant.tensor.as_dl()));
            }
        });
    };
    for (_, function) in module.relax_functions() {
        function.lambda.body.each_operand(&mut note);
    }
    found
}

/// The parameters of a function that weights of their names fit, by position.
fn matching(function: &Function, weights: &Weights) -> Result<HashMap<usize, Tensor>, Failure> {
    let (mut bound, mut sizes, mut wrong) = (HashMap::new(), HashMap::new(), Vec::new());
    for (i, param) in function.lambda.params.iter().enumerate() {
        let info = &function.vars[*param];
        let Some((name, tensor)) = weights.named(&info.name) else { continue };
        match fit(&info.ty, tensor, &mut sizes) {
            Ok(()) => drop(bound.insert(i, tensor.clone())),
            Err(why) => {
                let (dtype, shape, expected) = (tensor.dtype(), Shape::new(tensor.shape()), type_text(&info.ty));
                let message =
                    format!("weight `{name}` is {dtype} of shape {shape}, but the parameter is {expected}{why}");
                wrong.push(Diagnostic::error(codes::WEIGHT_MISMATCH, message).label(info.span, ""));
            }
        }
    }
    if wrong.is_empty() { Ok(bound) } else { Err(wrong.into()) }
}

/// Whether a tensor can be the value of a parameter. `sizes` are those of symbolic dimensions, by the parameters
/// before.
fn fit(ty: &Type, tensor: &Tensor, sizes: &mut HashMap<prim::Var, i64>) -> Result<(), String> {
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

/// The global functions that the module calls or refers to.
fn called(module: &Module) -> HashSet<Name> {
    let mut names = HashSet::new();
    for (_, f) in module.relax_functions() {
        each_call(&f.lambda.body, &mut |call| {
            call.each_global(&mut |n| {
                names.insert(n.clone());
            })
        });
    }
    names
}

fn each_call<'a>(body: &'a Body, f: &mut dyn FnMut(&'a Call)) {
    body.walk(&mut |binding| {
        if let Value::Call(call) = &binding.value {
            f(call)
        }
    });
}

fn each_binding_mut(body: &mut Body, f: &mut dyn FnMut(&mut Binding)) {
    for binding in body.blocks.iter_mut().flat_map(|b| &mut b.bindings) {
        f(binding);
        binding.value.each_body_mut(&mut |b| each_binding_mut(b, f));
    }
}

/// Copies a function under a private name and makes the module call the copy.
fn keep_private_copy(module: &mut Module, name: &Name) {
    let Some(function) = module.relax(name) else { return };
    let mut copy = function.clone();
    copy.lambda.attrs.remove("global_symbol");
    let private = module.add_unique(&format!("_{name}_unbound"), Global::Relax(copy));
    let rename = |n: &mut Name| {
        if n == name {
            *n = private.clone();
        }
    };
    for (_, f) in module.relax_functions_mut() {
        each_binding_mut(&mut f.lambda.body, &mut |binding| {
            if let Value::Call(Call { callee: Callee::Global(n), .. }) = &mut binding.value {
                rename(n);
            }
            binding.value.each_operand_mut(&mut |o| {
                o.map(&mut |o| {
                    if let Operand::Global(n) = o {
                        rename(n)
                    }
                })
            });
        });
    }
}

/// Replaces parameters by constants; symbolic dimensions that only they define take their values.
fn substitute(function: &mut Function, bound: HashMap<usize, Tensor>) {
    let mut values = Replacements::default();
    let mut dims = Substitution::default();
    let mut kept = Vec::new();
    for (i, param) in std::mem::take(&mut function.lambda.params).into_iter().enumerate() {
        let Some(tensor) = bound.get(&i) else {
            kept.push(param);
            continue;
        };
        if let Type::Tensor(t) = function.ty(param) {
            for (dim, n) in t.dims().into_iter().flatten().zip(tensor.shape()) {
                if let Some(var) = dim.as_var() {
                    dims.entry(var.clone()).or_insert_with(|| PrimExpr::int64(*n));
                }
            }
        }
        values.insert(param, Operand::Const(Constant::new(tensor.clone())));
    }
    function.lambda.params = kept;
    function.replace(&values);
    hammock_passes::substitute_dims(function, &dims);
}

/// Binds the parameters of private functions for which every call gives the same constant; whether there were any.
fn propagate(module: &mut Module) -> bool {
    let private: Vec<Name> = module.relax_functions().filter(|(_, f)| f.is_private()).map(|(n, _)| n.clone()).collect();
    let mut changed = false;
    for name in private {
        let Some(bound) = constant_everywhere(module, &name).filter(|b| !b.is_empty()) else { continue };
        changed = true;
        for (_, f) in module.relax_functions_mut() {
            each_binding_mut(&mut f.lambda.body, &mut |binding| {
                if let Value::Call(call) = &mut binding.value
                    && matches!(&call.callee, Callee::Global(n) if *n == name)
                {
                    let mut i = 0;
                    call.args.retain(|_| {
                        i += 1;
                        !bound.contains_key(&(i - 1))
                    });
                }
            });
        }
        if let Some(Global::Relax(f)) = module.functions.get_mut(&name) {
            substitute(f, bound);
        }
    }
    changed
}

/// The constants given for parameters by every call; `None` when the function is used other than by calls.
fn constant_everywhere(module: &Module, name: &Name) -> Option<HashMap<usize, Tensor>> {
    let params: &[Var] = &module.relax(name)?.lambda.params;
    let mut common: Option<HashMap<usize, Tensor>> = None;
    let mut escapes = false;
    for (caller, f) in module.relax_functions() {
        each_call(&f.lambda.body, &mut |call| {
            call.args.iter().for_each(|a| a.walk(&mut |o| escapes |= matches!(o, Operand::Global(n) if n == name)));
            if !matches!(&call.callee, Callee::Global(n) if n == name) {
                return;
            }
            let own = |i: usize, o: &Operand| caller == name && o.as_var() == params.get(i).copied();
            let given = |i: usize| call.args.get(i);
            match &mut common {
                Some(common) => common.retain(|i, t| {
                    given(*i).is_some_and(|o| own(*i, o) || matches!(o, Operand::Const(c) if same(&c.tensor, t)))
                }),
                None if caller == name => {}
                None => {
                    let constants = call.args.iter().enumerate().filter_map(|(i, o)| match o {
                        Operand::Const(c) => Some((i, c.tensor.clone())),
                        _ => None,
                    });
                    common = Some(constants.collect());
                }
            }
        });
    }
    if escapes { None } else { common }
}

fn same(a: &Tensor, b: &Tensor) -> bool {
    a.data_ptr() == b.data_ptr() && a.shape() == b.shape() && a.dtype() == b.dtype()
}
