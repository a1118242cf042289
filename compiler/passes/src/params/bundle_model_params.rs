//! BundleModelParams: bundles weights into one tuple parameter.
//!
//! Parameters after the first `num_input` of a function become fields of a tuple, which is its last parameter; each
//! use takes its field. Functions without `num_input` stay, as do those used as values: their callers are unknown.

use crate::{
    Context, OptionKind, Pass, PassOption,
    analysis::functions,
    rewrite::{
        self,
        bundle::{bundle, bundle_lambda},
    },
};
use hammock_diagnostics::{Diagnostic, codes};
use hammock_ir::{
    Function as Global, Module, Name, Type,
    relax::{Callee, Function, Lambda, Operand, Value, Var},
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "BundleModelParams",
    doc: "Bundles weights into one tuple parameter",
    options: &[PassOption {
        name: "param_tuple_name",
        kind: OptionKind::OptionalText,
        default: "\"model_params\"",
        doc: "Name of the tuple",
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

/// Returns the number of inputs, if a function states it.
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
