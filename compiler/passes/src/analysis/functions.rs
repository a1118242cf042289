//! Global functions and their uses, for passes that change signatures.

use crate::Pass;
use hammock_diagnostics::{Diagnostic, codes};
use hammock_ir::{
    Function as Global, Module, Name,
    prim::{PrimCallee, PrimKind},
    relax::{Body, Call, Callee, Operand, Value},
    tir::PrimFunc,
};
use hammock_runtime::suggest::nearest;
use rustc_hash::FxHashSet;

/// Returns the Relax function that an option of a pass names.
///
/// # Errors
/// If the module has none of that name.
pub fn find(module: &Module, pass: &Pass, name: &str) -> Result<Name, Diagnostic> {
    if let Some((name, _)) = module.relax_functions().find(|(known, _)| ***known == *name) {
        return Ok(name.clone());
    }
    let message = format!("pass `{}` is to change function `{name}`, but the module has no such graph", pass.name);
    let names: Vec<&str> = module.relax_functions().map(|(name, _)| &**name).collect();
    Err(Diagnostic::error(codes::BAD_PASS_OPTIONS, message).help(match nearest(name, names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("it has {}", names.join(", ")),
    }))
}

/// Returns global functions that are used as values, so that not all their callers are known.
pub fn escaping(module: &Module) -> FxHashSet<Name> {
    let mut names = FxHashSet::default();
    for (_, function) in module.relax_functions() {
        each_value(&function.lambda.body, &mut |name| _ = names.insert(name.clone()));
    }
    names
}

/// Calls `f` on each global function that a body uses as a value.
pub fn each_value(body: &Body, f: &mut dyn FnMut(&Name)) {
    body.each_operand(&mut |operand| {
        operand.walk(&mut |o| {
            if let Operand::Global(name) = o {
                f(name);
            }
        });
    });
}

/// Returns private Relax functions all of whose callers are known.
pub fn private(module: &Module) -> FxHashSet<Name> {
    let escaping = escaping(module);
    let private = module.relax_functions().filter(|(name, f)| f.is_private() && !escaping.contains(*name));
    private.map(|(name, _)| name.clone()).collect()
}

/// Calls `f` on every call in a body and in nested bodies.
pub fn each_call<'a>(body: &'a Body, f: &mut dyn FnMut(&'a Call)) {
    body.walk(&mut |binding| {
        if let Value::Call(call) = &binding.value {
            f(call)
        }
    });
}

/// Like [`each_call`], with mutable calls.
pub fn each_call_mut(body: &mut Body, f: &mut dyn FnMut(&mut Call)) {
    for binding in body.blocks.iter_mut().flat_map(|b| &mut b.bindings) {
        if let Value::Call(call) = &mut binding.value {
            f(call);
        }
        binding.value.each_body_mut(&mut |b| each_call_mut(b, f));
    }
}

/// Replaces uses of the global function `from` by `to` in all Relax functions.
pub fn rename_uses(module: &mut Module, from: &Name, to: &Name) {
    for (_, function) in module.relax_functions_mut() {
        rename_in(&mut function.lambda.body, from, to);
    }
}

fn rename_in(body: &mut Body, from: &Name, to: &Name) {
    let operand = |operand: &mut Operand| {
        operand.map(&mut |o| match o {
            Operand::Global(name) if name == from => *name = to.clone(),
            _ => {}
        })
    };
    for binding in body.blocks.iter_mut().flat_map(|block| &mut block.bindings) {
        match &mut binding.value {
            Value::Call(Call { callee: Callee::Global(name), .. }) if name == from => *name = to.clone(),
            _ => {}
        }
        binding.value.each_operand_mut(&mut |o| operand(o));
        binding.value.each_body_mut(&mut |nested| rename_in(nested, from, to));
    }
    operand(&mut body.result);
}

/// Returns the global function that a value calls.
pub fn callee(value: &Value) -> Option<&Name> {
    match value {
        Value::Call(Call { callee: Callee::Global(name), .. }) => Some(name),
        _ => None,
    }
}

/// Returns these functions and all that they use, directly or indirectly.
pub fn used_by(module: &Module, mut todo: Vec<Name>) -> FxHashSet<Name> {
    let mut seen = FxHashSet::default();
    while let Some(name) = todo.pop() {
        if seen.contains(&name) {
            continue;
        }
        match module.functions.get(&name) {
            Some(Global::Relax(f)) => relax_refs(&f.lambda.body, &mut |n| todo.push(n.clone())),
            Some(Global::Tir(f)) => tir_refs(f, &mut |n| todo.push(n.clone())),
            _ => {}
        }
        seen.insert(name);
    }
    seen
}

/// Calls `f` on each global function that a body uses.
pub fn relax_refs(body: &Body, f: &mut dyn FnMut(&Name)) {
    let operand = &mut |o: &Operand, f: &mut dyn FnMut(&Name)| {
        o.walk(&mut |o| {
            if let Operand::Global(name) = o {
                f(name)
            }
        })
    };
    body.walk(&mut |binding| {
        if let Value::Call(Call { callee: Callee::Global(name), .. }) = &binding.value {
            f(name);
        }
        binding.value.each_operand(&mut |o| operand(o, f));
        binding.value.each_body(&mut |b| operand(&b.result, f));
    });
    operand(&body.result, f);
}

fn tir_refs(func: &PrimFunc, f: &mut dyn FnMut(&Name)) {
    func.body.walk(&mut |s| {
        s.each_expr(&mut |e| {
            e.walk(&mut |e| {
                if let PrimKind::Call(c) = e.kind()
                    && let PrimCallee::Global(name) = &c.callee
                {
                    f(name)
                }
            })
        })
    });
}
