//! CanonicalizeBindings: one name for one value.
//!
//! `y = x` disappears and uses of `y` become uses of `x`; `t = (a, b)` followed by `t[0]` becomes `a`. A dataflow
//! variable that was renamed to an output takes the output's name and becomes visible outside.

use crate::{Context, Pass, rewrite};
use hammock_ir::{
    Module,
    relax::{Function, Operand, Value, Var},
};
use hammock_syntax::Diagnostic;
use rustc_hash::FxHashMap;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "CanonicalizeBindings",
    doc: "Replaces aliases by the variables they stand for, and fields of known tuples by their values",
    options: &[],
    run,
};

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    rewrite::relax_functions(module, |_, _, function| canonicalize(function))
}

/// Canonicalizes one function.
pub fn canonicalize(function: &mut Function) -> Result<(), Diagnostic> {
    let mut aliases: FxHashMap<Var, Operand> = FxHashMap::default();
    let mut tuples: FxHashMap<Var, Vec<Operand>> = FxHashMap::default();
    rewrite::bindings(function, &mut |function, mut binding, out| {
        binding.value.each_operand_mut(&mut |o| o.map(&mut |o| resolve(&aliases, o)));
        let source = match &binding.value {
            Value::Operand(o @ (Operand::Var(_) | Operand::Const(_) | Operand::Global(_))) => Some(o.clone()),
            Value::TupleGet(Operand::Var(t), i) => tuples.get(t).and_then(|fields| fields.get(*i)).cloned(),
            _ => None,
        };
        if let (Value::Operand(Operand::Tuple(fields)), false) = (&binding.value, function.ty(binding.var).is_void()) {
            tuples.insert(binding.var, fields.clone());
        }
        match source {
            Some(source) => {
                expose(function, &source, binding.var);
                aliases.insert(binding.var, source);
            }
            None => out.push(binding),
        }
        Ok(())
    })?;
    function.replace(&aliases);
    rewrite::merge_blocks(&mut function.lambda.body);
    Ok(())
}

fn resolve(aliases: &FxHashMap<Var, Operand>, operand: &mut Operand) {
    if let Operand::Var(v) = operand
        && let Some(source) = aliases.get(v)
    {
        *operand = source.clone();
    }
}

/// A dataflow variable that stands for one visible outside becomes visible itself.
fn expose(function: &mut Function, source: &Operand, alias: Var) {
    if let Operand::Var(v) = source
        && function.vars[*v].dataflow
        && !function.vars[alias].dataflow
    {
        function.vars[*v].dataflow = false;
        function.vars[*v].name = function.vars[alias].name.clone();
    }
}
