//! KillAfterLastUse: releases memory after its last use.
//!
//! After the last binding that uses an object, a `kill` empties its register: `kill_storage` for storages,
//! `kill_tensor` for tensors, `vm.kill_object` for tuples and other objects. Parameters, results of bodies,
//! constants, objects that are killed already, and values captured by nested functions stay. A use in a branch counts
//! as a use by the `if`. Tensors are released before storages.

use crate::{
    Context, Pass,
    rewrite::{self, canonicalize::canonicalize},
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Attrs, Module, Type,
    relax::{Binding, Body, Call, Function, Operand, Value, Var},
};
use rustc_hash::{FxHashMap, FxHashSet};

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "KillAfterLastUse",
    doc: "Inserts releases of storages, tensors and other objects after their last use",
    options: &[],
    run,
};

const KILL_TENSOR: &str = "memory.kill_tensor";
const KILL_STORAGE: &str = "memory.kill_storage";
const KILL_OBJECT: &str = "vm.kill_object";

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    rewrite::relax_functions(module, |_, _, function| {
        canonicalize(function)?;
        let mut body = rewrite::take_body(function);
        kill(function, &mut body);
        function.lambda.body = body;
        Ok(())
    })
}

fn kill(function: &mut Function, body: &mut Body) {
    let last = last_uses(function, body);
    let mut position = 0;
    for block in &mut body.blocks {
        let mut bindings = Vec::with_capacity(block.bindings.len() * 2);
        for mut binding in std::mem::take(&mut block.bindings) {
            if !matches!(binding.value, Value::Function(_)) {
                binding.value.each_body_mut(&mut |b| kill(function, b));
            }
            let span = binding.span;
            bindings.push(binding);
            for (op, var) in last.get(&position).into_iter().flatten() {
                let value = Value::Call(Call::op(op, vec![(*var).into()], Attrs::new()));
                let unit = function.new_var("_", Type::void(), false, span);
                bindings.push(Binding { var: unit, value, span });
            }
            position += 1;
        }
        block.bindings = bindings;
    }
}

/// Returns the objects to kill after each binding of the body, in order of definition.
fn last_uses(function: &Function, body: &Body) -> FxHashMap<usize, Vec<(&'static str, Var)>> {
    let mut last: FxHashMap<Var, usize> = FxHashMap::default();
    let mut retained: FxHashSet<Var> = FxHashSet::default();
    body.result.each_var(&mut |v| {
        retained.insert(v);
    });
    let mut defined = Vec::new();
    for (position, binding) in body.bindings().enumerate() {
        if let Some(killed) = killed_var(&binding.value) {
            retained.insert(killed);
            continue;
        }
        if let Some(op) = kill_op(function, binding) {
            defined.push((op, binding.var));
        }
        let captured = matches!(binding.value, Value::Function(_));
        let mut used = |v: Var| {
            last.insert(v, position);
            if captured {
                retained.insert(v);
            }
        };
        binding.value.each_use(&mut used);
    }
    let mut kills: FxHashMap<usize, Vec<_>> = FxHashMap::default();
    for (op, var) in defined {
        if let Some(position) = last.get(&var)
            && !retained.contains(&var)
        {
            kills.entry(*position).or_default().push((op, var));
        }
    }
    let rank = |op: &str| [KILL_TENSOR, KILL_STORAGE, KILL_OBJECT].iter().position(|known| *known == op);
    kills.values_mut().for_each(|kills| kills.sort_by_key(|(op, _)| rank(op)));
    kills
}

/// Returns the variable that a value kills.
fn killed_var(value: &Value) -> Option<Var> {
    match value {
        Value::Call(call) if [KILL_TENSOR, KILL_STORAGE, KILL_OBJECT].iter().any(|op| call.is_op(op)) => {
            call.args.first()?.as_var()
        }
        _ => None,
    }
}

fn kill_op(function: &Function, binding: &Binding) -> Option<&'static str> {
    if let Value::Call(call) = &binding.value
        && call.is_op("memory.alloc_storage")
    {
        return Some(KILL_STORAGE);
    }
    if matches!(binding.value, Value::Operand(Operand::Const(_))) {
        return None;
    }
    match function.ty(binding.var) {
        Type::Tensor(_) | Type::DTensor(_) => Some(KILL_TENSOR),
        Type::Any | Type::Callable(_) => Some(KILL_OBJECT),
        Type::Tuple(fields) if !fields.is_empty() => Some(KILL_OBJECT),
        _ => None,
    }
}
