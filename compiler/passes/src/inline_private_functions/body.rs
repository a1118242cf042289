//! Puts bodies of functions in the place of their calls.

use crate::{functions, retype::refined, symbolic};
use hammock_ir::{
    Module, Name, Span, Type, equal,
    prim::Substitution,
    relax::{Binding, Block, Body, Call, Function, Operand, Replacements, Value},
};
use rustc_hash::FxHashSet;

pub struct Inliner<'a> {
    pub module: &'a Module,
    pub inlined: &'a FxHashSet<Name>,
}

impl Inliner<'_> {
    /// Inlines the calls in a body of a function.
    pub fn body(&self, function: &mut Function, body: &mut Body) {
        let mut blocks: Vec<Block> = Vec::with_capacity(body.blocks.len());
        for mut block in std::mem::take(&mut body.blocks) {
            if block.dataflow && self.leaves_dataflow(&block) {
                block.dataflow = false;
                block.bindings.iter().for_each(|binding| function.vars[binding.var].dataflow = false);
            }
            let dataflow = block.dataflow;
            let mut bindings = Vec::with_capacity(block.bindings.len());
            for mut binding in block.bindings {
                binding.value.each_body_mut(&mut |nested| self.body(function, nested));
                let Some(inlined) = self.call(function, &binding) else {
                    bindings.push(binding);
                    continue;
                };
                inlined.arguments.iter().for_each(|binding| function.vars[binding.var].dataflow = dataflow);
                bindings.extend(inlined.arguments);
                for part in inlined.body.blocks {
                    if dataflow || !part.dataflow {
                        part.bindings.iter().for_each(|binding| function.vars[binding.var].dataflow = dataflow);
                        bindings.extend(part.bindings);
                    } else {
                        blocks.push(Block { dataflow, bindings: std::mem::take(&mut bindings) });
                        blocks.push(part);
                    }
                }
                bindings.push(Binding { value: Value::Operand(inlined.body.result), ..binding });
            }
            blocks.push(Block { dataflow, bindings });
        }
        body.blocks = blocks;
    }

    /// Whether a body that belongs in this dataflow block cannot stand there.
    fn leaves_dataflow(&self, block: &Block) -> bool {
        let has_control = |callee: &Function| {
            callee.lambda.body.bindings().any(|b| matches!(b.value, Value::If { .. } | Value::Function(_)))
        };
        block.bindings.iter().any(|binding| self.callee(&binding.value).is_some_and(has_control))
    }

    /// The function that a call calls, if it is to be inlined.
    fn callee(&self, value: &Value) -> Option<&Function> {
        functions::callee(value).filter(|name| self.inlined.contains(*name)).and_then(|name| self.module.relax(name))
    }

    /// A copy of the body that a binding calls, in variables of this function.
    fn call(&self, function: &mut Function, binding: &Binding) -> Option<Inlined> {
        let callee = self.callee(&binding.value)?;
        let Value::Call(Call { args, .. }) = &binding.value else { return None };
        if args.len() != callee.lambda.params.len() {
            return None;
        }
        let mut callee = callee.clone();
        callee.renew_dims();
        let (mut sizes, mut numbers) = (Substitution::default(), Replacements::default());
        for (param, arg) in callee.lambda.params.iter().zip(args) {
            if let Some(scalar) = callee.scalar(*param) {
                let value = match arg {
                    Operand::Prim(e) => Some(e.clone()),
                    other => other.as_var().and_then(|v| function.scalar(v)).map(|s| s.expr()),
                };
                sizes.extend(value.map(|value| (scalar.clone(), value)));
                numbers.extend(matches!(arg, Operand::Prim(_)).then(|| (*param, arg.clone())));
            }
            symbolic::matched(callee.ty(*param), &function.operand_ty(self.module, arg), &mut sizes);
        }
        callee.substitute_dims(&sizes);
        callee.replace(&numbers);
        Some(take_over(self.module, function, callee, args, binding.span))
    }
}

/// A body to put in the place of a call.
struct Inlined {
    /// Gives parameters their arguments.
    arguments: Vec<Binding>,
    body: Body,
}

/// Moves a function into another one's table of variables.
fn take_over(module: &Module, function: &mut Function, callee: Function, args: &[Operand], span: Span) -> Inlined {
    let lambda = function.adopt(callee);
    let mut arguments = Vec::with_capacity(args.len());
    for (param, arg) in lambda.params.iter().zip(args) {
        let (var, given) = (*param, function.operand_ty(module, arg));
        let wanted = function.ty(var).clone();
        let value = if equal::types(&refined(&wanted, &given), &given) || !has_sizes(&wanted) {
            Value::Operand(arg.clone())
        } else {
            let whole = function.new_var("arg", given, false, span);
            arguments.push(Binding { var: whole, value: Value::Operand(arg.clone()), span });
            Value::MatchCast(whole.into(), wanted)
        };
        arguments.push(Binding { var, value, span });
    }
    Inlined { arguments, body: lambda.body }
}

/// Whether values of a type are checked to be of it.
fn has_sizes(ty: &Type) -> bool {
    matches!(ty, Type::Tensor(_) | Type::Shape(_) | Type::Tuple(_))
}
