//! BundleModelParams: weights come as one tuple.
//!
//! Parameters behind the first `num_input` of a function become fields of a tuple, which is its last parameter; each use
//! takes its field. Functions without `num_input` stay, as do those that are used as values: others call them.

use crate::{
    Context, OptionKind, Pass, PassOption,
    analysis::{functions, symbolic},
    rewrite::{self, Emitter},
};
use hammock_diagnostics::{Diagnostic, codes};
use hammock_ir::{
    Function as Global, Module, Name, Span, TensorShape, Type,
    prim::Var as PrimVar,
    relax::{Binding, Body, Callee, Function, Lambda, Operand, Value, Var},
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "BundleModelParams",
    doc: "Makes one tuple of the parameters that are weights",
    options: &[PassOption {
        name: "param_tuple_name",
        kind: OptionKind::OptionalText,
        default: "\"model_params\"",
        doc: "What the tuple is called",
    }],
    run,
};

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let tuple_name = Some(context.options.text("param_tuple_name")).filter(|name| !name.is_empty());
    let tuple_name = Name::from(tuple_name.unwrap_or_else(|| "model_params".into()));
    let escaping = functions::escaping(module);
    let mut bundled: FxHashMap<Name, usize> = FxHashMap::default();
    for (name, function) in module.functions.iter_mut() {
        let Global::Relax(function) = function else { continue };
        if !escaping.contains(name)
            && let Some(inputs) = inputs(&function.lambda)?
        {
            bundled.insert(name.clone(), inputs);
            bundle(function, inputs, &tuple_name);
        }
        nested(function, &tuple_name)?;
    }
    for (_, function) in module.relax_functions_mut() {
        functions::each_call_mut(&mut function.lambda.body, &mut |call| {
            if let Callee::Global(name) = &call.callee
                && let Some(inputs) = bundled.get(name)
            {
                bundle_arguments(&mut call.args, *inputs);
            }
        });
    }
    Ok(())
}

/// How many parameters are inputs, where a function says so.
fn inputs(lambda: &Lambda) -> Result<Option<usize>, Diagnostic> {
    match lambda.num_input() {
        Some(inputs) if inputs > lambda.params.len() => {
            let message = format!("`num_input` is {inputs}, but the function has only {}", lambda.params.len());
            let error = Diagnostic::error(codes::BAD_PASS_OPTIONS, message + " parameters");
            Err(error.label(lambda.span, "").help("`num_input` counts the parameters that are not weights"))
        }
        inputs => Ok(inputs),
    }
}

fn bundle_arguments(args: &mut Vec<Operand>, inputs: usize) {
    let weights = args.split_off(inputs.min(args.len()));
    args.push(Operand::Tuple(weights));
}

/// Bundles the weights of a global function.
pub fn bundle(function: &mut Function, inputs: usize, tuple_name: &Name) {
    let mut lambda = std::mem::replace(&mut function.lambda, Function::empty().lambda);
    bundle_lambda(function, &mut lambda, inputs, tuple_name);
    function.lambda = lambda;
}

/// Bundles the weights of nested functions, and the arguments of their calls.
fn nested(function: &mut Function, tuple_name: &Name) -> Result<(), Diagnostic> {
    let mut values: FxHashSet<Var> = FxHashSet::default();
    function.lambda.body.each_operand(&mut |o| o.each_var(&mut |v| _ = values.insert(v)));
    let mut bundled: FxHashMap<Var, usize> = FxHashMap::default();
    rewrite::bindings(function, &mut |function, mut binding, out| {
        if let Value::Function(lambda) = &mut binding.value
            && !values.contains(&binding.var)
            && let Some(inputs) = inputs(lambda)?
        {
            bundle_lambda(function, lambda, inputs, tuple_name);
            function.vars[binding.var].ty = Type::Callable(Arc::new(function.lambda_ty(lambda)));
            bundled.insert(binding.var, inputs);
        }
        out.push(binding);
        Ok(())
    })?;
    functions::each_call_mut(&mut function.lambda.body, &mut |call| {
        if let Callee::Var(var) = &call.callee
            && let Some(inputs) = bundled.get(var)
        {
            bundle_arguments(&mut call.args, *inputs);
        }
    });
    Ok(())
}

/// `function` has the table of the lambda's variables.
fn bundle_lambda(function: &mut Function, lambda: &mut Lambda, inputs: usize, tuple_name: &Name) {
    let weights = lambda.params.split_off(inputs);
    let known = symbolic::defined(function, &lambda.params);
    let scalars = weights.iter().filter_map(|v| function.scalar(*v));
    let unknown: Vec<PrimVar> = scalars.filter(|scalar| !known.contains(scalar)).cloned().collect();
    let types = weights.iter().map(|weight| without(function.ty(*weight), &unknown)).collect();
    let tuple = function.new_var(tuple_name.clone(), Type::Tuple(types), false, lambda.span);
    lambda.params.push(tuple);
    lambda.ret_ty = without(&lambda.ret_ty, &unknown);

    let mut named: FxHashSet<Var> = FxHashSet::default();
    function.vars.values().for_each(|info| info.ty.each_var(&mut |v| _ = named.insert(v)));
    let mut bundle = Bundle { tuple, fields: FxHashMap::default(), unknown };
    let mut prologue = Emitter::new(false);
    for (i, weight) in weights.into_iter().enumerate() {
        // What expressions and types name must have that name.
        if function.scalar(weight).is_some() || named.contains(&weight) {
            let (value, span) = (Value::TupleGet(tuple.into(), i), function.vars[weight].span);
            prologue.push(Binding { var: weight, value, span });
        } else {
            bundle.fields.insert(weight, i);
        }
    }
    bundle.body(function, &mut lambda.body);
    if !prologue.bindings.is_empty() {
        lambda.body.blocks.insert(0, prologue.block());
    }
}

/// A type without the sizes that these variables are needed for.
fn without(ty: &Type, unknown: &[PrimVar]) -> Type {
    let mut ty = ty.clone();
    if !unknown.is_empty() {
        ty.each_shape_mut(&mut |shape| {
            let is_unknown = |dims: &[hammock_ir::PrimExpr]| dims.iter().any(|d| unknown.iter().any(|v| d.uses(v)));
            if let Some(dims) = shape.dims().filter(|dims| is_unknown(dims)) {
                *shape = TensorShape::Rank(dims.len());
            }
        });
    }
    ty
}

/// Takes weights from their tuple wherever they are used.
struct Bundle {
    tuple: Var,
    fields: FxHashMap<Var, usize>,
    /// Symbolic variables that are weights themselves.
    unknown: Vec<PrimVar>,
}

impl Bundle {
    fn body(&self, function: &mut Function, body: &mut Body) {
        for block in &mut body.blocks {
            let mut out = Emitter::new(block.dataflow);
            for mut binding in std::mem::take(&mut block.bindings) {
                binding.value.each_body_mut(&mut |nested| self.body(function, nested));
                if let Value::Call(call) = &mut binding.value
                    && let Callee::Var(callee) = &mut call.callee
                    && let Some(field) = self.take(function, *callee, binding.span, &mut out)
                {
                    *callee = field;
                }
                binding.value.each_operand_mut(&mut |o| self.operand(function, o, binding.span, &mut out));
                out.push(binding);
            }
            *block = out.block();
        }
        let mut out = Emitter::new(false);
        self.operand(function, &mut body.result, Span::NONE, &mut out);
        if !out.bindings.is_empty() {
            body.blocks.push(out.block());
        }
    }

    fn operand(&self, function: &mut Function, operand: &mut Operand, span: Span, out: &mut Emitter) {
        match operand {
            Operand::Tuple(fields) => fields.iter_mut().for_each(|o| self.operand(function, o, span, out)),
            Operand::Var(var) => {
                if let Some(field) = self.take(function, *var, span, out) {
                    *var = field;
                }
            }
            _ => {}
        }
    }

    /// A new variable with the value of a weight; none for what is no weight.
    fn take(&self, function: &mut Function, var: Var, span: Span, out: &mut Emitter) -> Option<Var> {
        let field = *self.fields.get(&var)?;
        let (name, ty) = (function.vars[var].name.clone(), function.ty(var).clone());
        let erased = without(&ty, &self.unknown);
        let taken = out.bind(function, &name, erased, Value::TupleGet(self.tuple.into(), field), span);
        let mut depends = false;
        ty.each_expr(&mut |e| depends |= self.unknown.iter().any(|v| e.uses(v)));
        if !depends {
            return Some(taken);
        }
        Some(out.bind(function, &name, ty.clone(), Value::MatchCast(taken.into(), ty), span))
    }
}
