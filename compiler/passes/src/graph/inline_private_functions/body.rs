//! Inlining of calls in a body.

use crate::analysis::{functions, symbolic, types::refine_type};
use hammock_ir::{
    Module, Name, Span, Type, equal,
    prim::Substitution,
    relax::{Binding, Block, Body, Call, Function, Operand, Replacements, Value},
};
use rustc_hash::FxHashSet;

pub struct Inliner<'a> {
    pub module: &'a Module,
    pub inlined: &'a FxHashSet<Name>,
    /// Functions whose bodies have branches or nested functions once calls are inlined.
    pub has_control: &'a FxHashSet<Name>,
}

/// A body whose bindings are being moved to the output.
struct Frame {
    blocks: std::vec::IntoIter<Block>,
    /// Bindings of the current block.
    bindings: std::vec::IntoIter<Binding>,
    /// True if the current block is a dataflow block.
    dataflow: bool,
    /// True if all blocks become part of the dataflow block around the call.
    joined: bool,
    /// Binding of the call's variable to the body's result.
    result: Option<Binding>,
}

/// Blocks so far; the last is still open.
struct Output {
    blocks: Vec<Block>,
    bindings: Vec<Binding>,
    dataflow: bool,
}

impl Output {
    /// Ends the current block and begins another.
    fn begin(&mut self, dataflow: bool) {
        let bindings = std::mem::take(&mut self.bindings);
        self.blocks.push(Block { dataflow: std::mem::replace(&mut self.dataflow, dataflow), bindings });
    }
}

impl Inliner<'_> {
    /// Inlines the calls in a body, and those in the inlined bodies. Each binding is moved once, whatever the depth
    /// of calls.
    pub fn body(&self, function: &mut Function, body: &mut Body) {
        let blocks = std::mem::take(&mut body.blocks);
        let mut frames = vec![Frame::new(blocks, false, None)];
        let mut output = Output { blocks: Vec::new(), bindings: Vec::new(), dataflow: false };
        while let Some(frame) = frames.last_mut() {
            if let Some(mut binding) = frame.bindings.next() {
                binding.value.each_body_mut(&mut |nested| self.body(function, nested));
                let Some(inlined) = self.call(function, &binding) else {
                    output.bindings.push(binding);
                    continue;
                };
                let dataflow = frame.dataflow;
                inlined.arguments.iter().for_each(|binding| function.vars[binding.var].dataflow = dataflow);
                output.bindings.extend(inlined.arguments);
                let result = Binding { value: Value::Operand(inlined.body.result), ..binding };
                frames.push(Frame::new(inlined.body.blocks, dataflow, Some(result)));
            } else if let Some(block) = frame.blocks.next() {
                let dataflow = frame.joined || block.dataflow && !self.leaves_dataflow(&block);
                if frame.joined || dataflow != block.dataflow {
                    block.bindings.iter().for_each(|binding| function.vars[binding.var].dataflow = dataflow);
                }
                if !frame.joined && (block.dataflow || output.dataflow || frame.result.is_none()) {
                    output.begin(dataflow);
                }
                (frame.dataflow, frame.bindings) = (dataflow, block.bindings.into_iter());
            } else {
                let result = frames.pop().and_then(|frame| frame.result);
                let dataflow = frames.last().is_some_and(|frame| frame.dataflow);
                if dataflow != output.dataflow {
                    output.begin(dataflow);
                }
                output.bindings.extend(result);
            }
        }
        output.begin(false);
        body.blocks = output.blocks;
    }

    /// True if a body inlined into this dataflow block cannot be in one.
    fn leaves_dataflow(&self, block: &Block) -> bool {
        let has_control = |name: &Name| self.inlined.contains(name) && self.has_control.contains(name);
        block.bindings.iter().any(|binding| functions::callee(&binding.value).is_some_and(has_control))
    }

    /// Returns the callee, if it is to be inlined.
    fn callee(&self, value: &Value) -> Option<&Function> {
        functions::callee(value).filter(|name| self.inlined.contains(*name)).and_then(|name| self.module.relax(name))
    }

    /// Copies the body that a binding calls, with variables of this function.
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
            symbolic::match_types(callee.ty(*param), &function.operand_ty(self.module, arg), &mut sizes);
        }
        callee.substitute_dims(&sizes);
        callee.replace(&numbers);
        Some(take_over(self.module, function, callee, args, binding.span))
    }
}

impl Frame {
    fn new(blocks: Vec<Block>, joined: bool, result: Option<Binding>) -> Frame {
        Frame { blocks: blocks.into_iter(), bindings: Vec::new().into_iter(), dataflow: joined, joined, result }
    }
}

/// A body that replaces a call.
struct Inlined {
    /// Bindings of parameters to arguments.
    arguments: Vec<Binding>,
    body: Body,
}

/// Moves a function into another's table of variables.
fn take_over(module: &Module, function: &mut Function, callee: Function, args: &[Operand], span: Span) -> Inlined {
    let lambda = function.adopt(callee);
    let mut arguments = Vec::with_capacity(args.len());
    for (param, arg) in lambda.params.iter().zip(args) {
        let (var, given) = (*param, function.operand_ty(module, arg));
        let wanted = function.ty(var).clone();
        let value = if equal::types(&refine_type(&wanted, &given), &given) || !has_sizes(&wanted) {
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

/// Returns true if a type has sizes to check.
fn has_sizes(ty: &Type) -> bool {
    matches!(ty, Type::Tensor(_) | Type::Shape(_) | Type::Tuple(_))
}
