//! UpdateParamType: changes the types of parameters, and of values computed from them.
//!
//! A model with float16 weights, say, is the same graph with other types. It is an error if an operator does not
//! accept the new types of its operands.

use crate::{
    Context, OptionKind, Pass, PassOption,
    analysis::{functions, types::value_ty},
    rewrite,
};
use hammock_diagnostics::{Diagnostic, codes};
use hammock_ir::{
    DType, Function as Global, Module, Name, PrimExpr, TensorShape, TensorType, Type, equal,
    prim::Var as PrimVar,
    relax::{Binding, Body, Call, Callee, Function, Value, Var},
};
use hammock_runtime::suggest::nearest;
use rustc_hash::FxHashSet;
use serde_json::Value as Json;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "UpdateParamType",
    doc: "Changes the types of parameters, and of values computed from them",
    options: &[PassOption {
        name: "types",
        kind: OptionKind::Types,
        default: "{}",
        doc: "New types of tensors, by names of parameters; `f.x` is only in function `f`",
    }],
    run,
};

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let types = context.options.entries("types");
    let mut used: FxHashSet<String> = FxHashSet::default();
    let mut updated: FxHashSet<Name> = FxHashSet::default();
    rewrite::relax_functions(module, |module, name, function| {
        let mut changed: FxHashSet<Var> = FxHashSet::default();
        for param in function.lambda.params.clone() {
            let own = function.vars[param].name.clone();
            let full = format!("{name}.{own}");
            let Some((key, wanted)) = types.iter().find(|(key, _)| *key == full || **key == *own) else { continue };
            used.insert(key.clone());
            let ty = wanted_type(function, param, wanted)?;
            function.vars[param].ty = ty;
            changed.insert(param);
        }
        if changed.is_empty() {
            return Ok(());
        }
        updated.insert(name.clone());
        let body = rewrite::take_body(function);
        let result = follow(module, function, &body, &mut changed);
        let mut follows = false;
        body.result.each_var(&mut |v| follows |= changed.contains(&v));
        if follows {
            function.lambda.ret_ty = function.operand_ty(module, &body.result);
        }
        function.lambda.body = body;
        result
    })?;
    if let Some((unknown, _)) = types.iter().find(|(key, _)| !used.contains(key)) {
        return Err(no_parameter(module, unknown));
    }
    check_calls(module, &updated)
}

fn no_parameter(module: &Module, name: &str) -> Diagnostic {
    let params = module.relax_functions().flat_map(|(_, f)| f.lambda.params.iter().map(|p| &*f.vars[*p].name));
    let error = Diagnostic::error(codes::BAD_PASS_OPTIONS, format!("no function has a parameter `{name}`"));
    match nearest(name, params) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => error.help("write `{\"x\": {\"dtype\": \"float16\"}}` with the name of a parameter"),
    }
}

/// Returns the type of a parameter with another shape or dtype.
fn wanted_type(function: &Function, param: Var, wanted: &Json) -> Result<Type, Diagnostic> {
    let wrong = |message: String| {
        let message = format!("parameter `{}` cannot change its type: {message}", function.vars[param].name);
        Diagnostic::error(codes::BAD_PASS_OPTIONS, message).label(function.vars[param].span, "")
    };
    let Type::Tensor(old) = function.ty(param) else {
        return Err(wrong(format!("it is {}, not a tensor", function.ty(param).kind())).help("only tensors can"));
    };
    let mut ty: TensorType = old.clone();
    if let Some(dtype) = wanted.get("dtype").and_then(Json::as_str) {
        let dtype = dtype.parse::<DType>();
        ty.dtype = Some(dtype.map_err(|e| wrong(e.to_string()).help("write a dtype such as \"float16\""))?);
    }
    if let Some(shape) = wanted.get("shape").and_then(Json::as_array) {
        let mut known: Vec<PrimVar> = Vec::new();
        for param in &function.lambda.params {
            function.ty(*param).each_expr(&mut |e| e.each_var(&mut |v| known.push(v.clone())));
        }
        let mut dim = |size: &Json| match (size.as_i64(), size.as_str()) {
            (Some(size), _) if size >= 0 => Ok(PrimExpr::int64(size)),
            (_, Some(name)) => {
                let var = known.iter().find(|v| **v.name() == *name).cloned();
                let var = var.unwrap_or_else(|| PrimVar::int64(name));
                known.push(var.clone());
                Ok(var.expr())
            }
            _ => Err(wrong(format!("`{size}` is no size")).help("sizes are numbers from 0 on, or names")),
        };
        ty.shape = TensorShape::Known(shape.iter().map(&mut dim).collect::<Result<_, _>>()?);
    }
    Ok(ty.into())
}

/// Updates the types of variables whose values' types have changed.
fn follow(
    module: &Module,
    function: &mut Function,
    body: &Body,
    changed: &mut FxHashSet<Var>,
) -> Result<(), Diagnostic> {
    for binding in body.bindings() {
        let mut failed = None;
        binding.value.each_body(&mut |nested| {
            failed = failed.take().or(follow(module, function, nested, changed).err());
        });
        if let Some(error) = failed {
            return Err(error);
        }
        if !uses(binding, changed) {
            continue;
        }
        let ty = match &binding.value {
            Value::If { then, .. } => function.operand_ty(module, &then.result),
            Value::Function(lambda) => Type::Callable(function.lambda_ty(lambda).into()),
            value => value_ty(module, function, value).map_err(|e| {
                let error = Diagnostic::error(codes::NOT_LOWERABLE, format!("after `UpdateParamType`, {}", e.message));
                error.label(binding.span, "").help("give the other operands types that go with it")
            })?,
        };
        if !equal::types(&ty, function.ty(binding.var)) {
            function.vars[binding.var].ty = ty;
            changed.insert(binding.var);
        }
    }
    Ok(())
}

/// Returns true if a binding's value uses a variable whose type has changed.
fn uses(binding: &Binding, changed: &FxHashSet<Var>) -> bool {
    let mut found = false;
    binding.value.each_operand(&mut |o| o.each_var(&mut |v| found |= changed.contains(&v)));
    if let Value::Call(Call { callee: Callee::Var(v), .. }) = &binding.value {
        found |= changed.contains(v);
    }
    binding.value.each_body(&mut |b| b.each_use(&mut |v| found |= changed.contains(&v)));
    found
}

/// Checks the calls of functions whose parameters have changed.
fn check_calls(module: &Module, updated: &FxHashSet<Name>) -> Result<(), Diagnostic> {
    for function in module.functions.values() {
        let Global::Relax(function) = function else { continue };
        let mut wrong = None;
        function.lambda.body.walk(&mut |binding| {
            if wrong.is_none()
                && functions::callee(&binding.value).is_some_and(|name| updated.contains(name))
                && let Err(error) = value_ty(module, function, &binding.value)
            {
                let error =
                    Diagnostic::error(codes::NOT_LOWERABLE, format!("after `UpdateParamType`, {}", error.message));
                wrong = Some(error.label(binding.span, "").help("change the types of the caller's parameters as well"));
            }
        });
        if let Some(error) = wrong {
            return Err(error);
        }
    }
    Ok(())
}
