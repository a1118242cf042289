//! Tools for rewriting functions, binding by binding, shared by passes.

pub mod bundle;
pub mod canonicalize;
pub mod common_subexpr;
pub mod dead_code;
pub mod devices;
pub mod editor;
pub mod fuse_kernels;
pub mod groups;
pub mod leaves;
pub mod refine_types;
pub mod shared_functions;

use hammock_diagnostics::{Diagnostic, codes};
use hammock_ir::{
    AttrValue, Function as Global, Module, Name, PrimExpr, Span, Type,
    relax::{Binding, Block, Body, Call, Function, InferError, OpTable, Operand, Value, Var},
};
use hammock_ops::{Table, lookup};

/// Collects the bindings that replace a binding.
pub struct Emitter {
    /// Bindings so far, in order.
    pub bindings: Vec<Binding>,
    /// True if they go into a dataflow block.
    pub dataflow: bool,
}

impl Emitter {
    /// Appends a binding.
    pub fn push(&mut self, binding: Binding) {
        self.bindings.push(binding);
    }

    /// Binds a value to a new variable.
    pub fn bind(&mut self, f: &mut Function, name: &str, ty: Type, value: Value, span: Span) -> Var {
        let var = f.new_var(name, ty, self.dataflow, span);
        self.bindings.push(Binding { var, value, span });
        var
    }

    /// Binds a call to a new variable of the call's inferred type.
    ///
    /// # Errors
    /// If operands or attributes break the operator's type rule.
    pub fn call(
        &mut self,
        module: &Module,
        f: &mut Function,
        name: &str,
        call: Call,
        span: Span,
    ) -> Result<Var, Diagnostic> {
        let ty = call_ty(module, f, &call, span)?;
        Ok(self.bind(f, name, ty, Value::Call(call), span))
    }

    /// Evaluates a value for its effect.
    pub fn effect(&mut self, f: &mut Function, value: Value, span: Span) {
        self.bind(f, "_", Type::void(), value, span);
    }
}

impl Emitter {
    /// Returns an empty emitter for the bindings of a block.
    pub fn new(dataflow: bool) -> Self {
        Emitter { bindings: Vec::new(), dataflow }
    }

    /// Returns the block of these bindings.
    pub fn block(self) -> Block {
        Block { dataflow: self.dataflow, bindings: self.bindings }
    }
}

/// A tuple of integers, such as axes or bounds of slices, as an operand.
pub fn int_tuple(values: impl IntoIterator<Item = i64>) -> Operand {
    Operand::Tuple(values.into_iter().map(|value| Operand::Prim(PrimExpr::int64(value))).collect())
}

/// Returns a call of an operator, with defaults for the other attributes.
///
/// # Errors
/// If there is no operator of this name.
pub fn op_call<const N: usize>(
    name: &str,
    args: Vec<Operand>,
    attrs: [(&'static str, AttrValue); N],
) -> Result<Call, Diagnostic> {
    lookup(name).map(|op| op.call(args, attrs)).ok_or_else(|| Diagnostic::error(codes::NOT_LOWERABLE, name))
}

/// Infers the type of a call.
///
/// # Errors
/// If operands or attributes break the operator's type rule.
pub fn call_ty(module: &Module, f: &Function, call: &Call, span: Span) -> Result<Type, Diagnostic> {
    Table.infer(module, f, call).map_err(|error| rule_broken(error, span))
}

/// Returns the error for a call that breaks its operator's type rule.
pub fn rule_broken(error: InferError, span: Span) -> Diagnostic {
    let diagnostic = Diagnostic::error(codes::NOT_LOWERABLE, error.message).label(span, "");
    error.help.into_iter().fold(diagnostic, |diagnostic, help| diagnostic.help(help))
}

/// Rewriting of one binding into any number of bindings.
pub type Rewrite<'a> = dyn FnMut(&mut Function, Binding, &mut Emitter) -> Result<(), Diagnostic> + 'a;

/// Rewrites every binding of a function, those of nested bodies before the one that holds them.
pub fn bindings(function: &mut Function, rewrite: &mut Rewrite) -> Result<(), Diagnostic> {
    let body = take_body(function);
    function.lambda.body = body_bindings(function, body, rewrite)?;
    Ok(())
}

/// Rewrites the bindings of one body.
pub fn body_bindings(function: &mut Function, body: Body, rewrite: &mut Rewrite) -> Result<Body, Diagnostic> {
    let mut blocks = Vec::with_capacity(body.blocks.len());
    for block in body.blocks {
        let mut emitter = Emitter { bindings: Vec::with_capacity(block.bindings.len()), dataflow: block.dataflow };
        for mut binding in block.bindings {
            let mut failed = None;
            binding.value.each_body_mut(&mut |nested| match body_bindings(function, take(nested), rewrite) {
                Ok(new) => *nested = new,
                Err(error) => failed = failed.take().or(Some(error)),
            });
            if let Some(error) = failed {
                return Err(error);
            }
            rewrite(function, binding, &mut emitter)?;
        }
        blocks.push(Block { dataflow: block.dataflow, bindings: emitter.bindings });
    }
    Ok(Body { blocks, result: body.result })
}

/// Takes a function's body, to rewrite it while the function's variables grow.
pub fn take_body(function: &mut Function) -> Body {
    take(&mut function.lambda.body)
}

fn take(body: &mut Body) -> Body {
    std::mem::replace(body, Body::of(Operand::Tuple(Vec::new())))
}

/// Merges adjacent blocks of the same kind and drops empty ones, in nested bodies too.
pub fn merge_blocks(body: &mut Body) {
    let mut merged: Vec<Block> = Vec::with_capacity(body.blocks.len());
    for mut block in body.blocks.drain(..) {
        for binding in &mut block.bindings {
            binding.value.each_body_mut(&mut merge_blocks);
        }
        match merged.last_mut() {
            _ if block.bindings.is_empty() => {}
            Some(last) if last.dataflow == block.dataflow && !block.dataflow => last.bindings.extend(block.bindings),
            _ => merged.push(block),
        }
    }
    body.blocks = merged;
}

/// Runs `f` on every Relax function of a module. Meanwhile the module has only the function's signature, and keeps
/// only that if `f` fails.
pub fn relax_functions(
    module: &mut hammock_ir::Module,
    mut f: impl FnMut(&mut hammock_ir::Module, &Name, &mut Function) -> Result<(), Diagnostic>,
) -> Result<(), Diagnostic> {
    let names: Vec<Name> = module.relax_functions().map(|(n, _)| n.clone()).collect();
    names.iter().try_for_each(|name| relax_function(module, name, |module, function| f(module, name, function)))
}

/// Like [`relax_functions`], for one function.
pub fn relax_function(
    module: &mut hammock_ir::Module,
    name: &Name,
    f: impl FnOnce(&mut hammock_ir::Module, &mut Function) -> Result<(), Diagnostic>,
) -> Result<(), Diagnostic> {
    let Some(Global::Relax(function)) = module.functions.get_mut(name) else { return Ok(()) };
    let signature = function.signature();
    let mut function = std::mem::replace(function, signature);
    f(module, &mut function)?;
    module.functions.insert(name.clone(), Global::Relax(function));
    Ok(())
}
