//! Shared by passes: rewrites bodies binding by binding.

use hammock_ir::{
    AttrValue, Function as Global, Name, PrimExpr, Span, Type,
    prim::Substitution,
    relax::{Binding, Block, Body, Function, Operand, Value, Var},
};
use hammock_ops::dims::simplify;
use hammock_syntax::Diagnostic;

/// Collects the bindings that replace one.
pub struct Emitter {
    /// Bindings so far, in order.
    pub bindings: Vec<Binding>,
    /// Whether they go into a dataflow block.
    pub dataflow: bool,
}

impl Emitter {
    /// Adds a binding as it is.
    pub fn push(&mut self, binding: Binding) {
        self.bindings.push(binding);
    }

    /// Binds a value to a new variable.
    pub fn bind(&mut self, f: &mut Function, name: &str, ty: Type, value: Value, span: Span) -> Var {
        let var = f.new_var(name, ty, self.dataflow, span);
        self.bindings.push(Binding { var, value, span });
        var
    }

    /// Evaluates a value for its effect.
    pub fn effect(&mut self, f: &mut Function, value: Value, span: Span) {
        self.bind(f, "_", Type::void(), value, span);
    }
}

/// A rewriting of one binding into any number of them.
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

/// Takes a function's body out, to rewrite it while the function's variables grow.
pub fn take_body(function: &mut Function) -> Body {
    take(&mut function.lambda.body)
}

fn take(body: &mut Body) -> Body {
    std::mem::replace(body, Body::of(Operand::Tuple(Vec::new())))
}

/// Replaces symbolic variables everywhere in a function: in types, operands and attributes. What has changed is in its
/// simplest form.
pub fn substitute_dims(function: &mut Function, values: &Substitution) {
    if values.is_empty() {
        return;
    }
    for info in function.vars.values_mut() {
        info.ty = substituted(&info.ty, values);
    }
    function.lambda.ret_ty = substituted(&function.lambda.ret_ty, values);
    body_dims(&mut function.lambda.body, values);
}

/// A type with symbolic variables replaced.
fn substituted(ty: &Type, values: &Substitution) -> Type {
    ty.map_exprs(&mut |e| with_values(e, values))
}

fn with_values(e: &PrimExpr, values: &Substitution) -> PrimExpr {
    let new = e.substitute(values);
    if new.same_node(e) { new } else { simplify(&new) }
}

fn body_dims(body: &mut Body, values: &Substitution) {
    let mut replace = |o: &mut Operand| match o {
        Operand::Prim(e) => *e = with_values(e, values),
        Operand::Shape(dims) => dims.iter_mut().for_each(|d| *d = with_values(d, values)),
        _ => {}
    };
    for binding in body.blocks.iter_mut().flat_map(|b| &mut b.bindings) {
        match &mut binding.value {
            Value::MatchCast(_, ty) => *ty = substituted(ty, values),
            Value::Call(call) => {
                call.ty_args.iter_mut().for_each(|ty| *ty = substituted(ty, values));
                call.attrs.iter_mut().for_each(|(_, value)| attr_dims(value, values));
            }
            Value::Function(lambda) => lambda.ret_ty = substituted(&lambda.ret_ty, values),
            _ => {}
        }
        binding.value.each_operand_mut(&mut |o| o.map(&mut replace));
        binding.value.each_body_mut(&mut |b| body_dims(b, values));
    }
    body.result.map(&mut replace);
}

fn attr_dims(value: &mut AttrValue, values: &Substitution) {
    match value {
        AttrValue::Expr(e) => *e = with_values(e, values),
        AttrValue::Type(ty) => *ty = substituted(ty, values),
        AttrValue::List(members) | AttrValue::Tuple(members) => members.iter_mut().for_each(|m| attr_dims(m, values)),
        _ => {}
    }
}

/// Joins neighbouring blocks of one kind and drops empty ones, in nested bodies too.
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

/// Runs `f` on every Relax function of a module; the module has only its signature meanwhile, and keeps only
/// that when `f` fails.
pub fn relax_functions(
    module: &mut hammock_ir::Module,
    mut f: impl FnMut(&mut hammock_ir::Module, &Name, &mut Function) -> Result<(), Diagnostic>,
) -> Result<(), Diagnostic> {
    let names: Vec<Name> = module.relax_functions().map(|(n, _)| n.clone()).collect();
    for name in names {
        let Some(Global::Relax(function)) = module.functions.get_mut(&name) else { continue };
        let signature = function.signature();
        let mut function = std::mem::replace(function, signature);
        f(module, &name, &mut function)?;
        module.functions.insert(name, Global::Relax(function));
    }
    Ok(())
}
