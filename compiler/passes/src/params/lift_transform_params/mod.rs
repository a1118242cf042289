//! LiftTransformParams: moves computations on weights into functions that run once.
//!
//! In a function with `num_input`, dataflow bindings that depend only on the parameters after the inputs move to a
//! function `NAME_transform_params`, which takes all weights as one tuple and returns the values needed at each run,
//! as a tuple. The function itself takes these instead of its weights: first weights that it uses directly, then
//! computed values, in order. Sizes that only weights define come first, as a shape.
//!
//! - `R.builtin.stop_lift_params(w)` is `w`, and its users are computed at each run.
//! - Values that need no weight, such as `R.zeros`, are cheap: they are computed where they are used, possibly twice.
//! - `shared_transform` creates one function `transform_params` for several functions with the same weights, with the
//!   bindings that all of them have.

mod plan;

use crate::{
    Context, OptionKind, Pass, PassOption,
    analysis::functions,
    rewrite::{self, bundle::bundle, canonicalize::canonicalize, dead_code::remove_unused},
};
use hammock_diagnostics::{Diagnostic, codes};
use hammock_ir::{
    Attrs, Function as Global, Module, Name, Span, Type, equal,
    prim::Substitution,
    relax::{Binding, Block, Call, Callee, Function, Operand, Replacements, Value, Var, memory::Writers},
};
use hammock_ops::Table;
use plan::{Plan, Transform};
use rustc_hash::FxHashMap;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "LiftTransformParams",
    doc: "Moves computations on weights into functions that run once",
    options: &[
        PassOption {
            name: "shared_transform",
            kind: OptionKind::BoolOrTexts,
            default: "false",
            doc: "Share one transformation among all functions with weights, or those named; they must take the same \
                  weights",
        },
        PassOption {
            name: "consume_params",
            kind: OptionKind::Bool,
            default: "false",
            doc: "Release each weight in the new functions once it is read",
        },
    ],
    run,
};

/// Suffix of the names of the new functions.
const SUFFIX: &str = "transform_params";

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let consumes = context.options.is_on("consume_params");
    let named = context.options.texts("shared_transform");
    let targets = targets(module, &named)?;
    check_callers(module, &targets)?;
    if context.options.is_on("shared_transform") || !named.is_empty() {
        return if targets.is_empty() { Ok(()) } else { lift(module, &targets, SUFFIX.into(), consumes) };
    }
    targets
        .iter()
        .try_for_each(|name| lift(module, std::slice::from_ref(name), format!("{name}_{SUFFIX}").into(), consumes))
}

/// Returns the functions that have weights, or those named.
fn targets(module: &Module, named: &[String]) -> Result<Vec<Name>, Diagnostic> {
    let mut targets = Vec::new();
    for name in named {
        let name = functions::find(module, &PASS, name)?;
        if module.relax(&name).is_some_and(|f| f.lambda.num_input().is_none()) {
            let message = format!("function `{name}` does not say which of its parameters are weights");
            let help = "give it `R.func_attr({\"num_input\": …})`: how many parameters are not";
            return Err(Diagnostic::error(codes::BAD_PASS_OPTIONS, message).help(help));
        }
        targets.push(name);
    }
    if named.is_empty() {
        let with_weights = module.relax_functions().filter(|(_, f)| f.lambda.num_input().is_some());
        targets.extend(with_weights.map(|(name, _)| name.clone()).filter(|name| !name.ends_with(SUFFIX)));
        targets.sort();
    }
    match targets
        .iter()
        .filter_map(|name| module.relax(name))
        .find(|f| f.lambda.num_input() > Some(f.lambda.params.len()))
    {
        Some(f) => {
            let error = Diagnostic::error(codes::BAD_PASS_OPTIONS, "`num_input` counts more parameters than there are");
            Err(error.label(f.lambda.span, "").help("it counts the parameters that are not weights"))
        }
        None => Ok(targets),
    }
}

/// Checks that the module does not call functions whose parameters change: callers there have no transformed weights.
fn check_callers(module: &Module, targets: &[Name]) -> Result<(), Diagnostic> {
    let escaping = functions::escaping(module);
    let mut called = targets.iter().find(|name| escaping.contains(*name)).cloned();
    for (_, function) in module.relax_functions() {
        functions::each_call(&function.lambda.body, &mut |call| {
            if let Callee::Global(name) = &call.callee
                && targets.contains(name)
            {
                called = Some(name.clone());
            }
        });
    }
    let Some(name) = called else { return Ok(()) };
    let message = format!("the weights of `{name}` cannot be transformed beforehand: the module calls it itself");
    Err(Diagnostic::error(codes::NOT_LOWERABLE, message)
        .help("remove its `num_input`, or run `InlinePrivateFunctions` first"))
}

/// Lifts the computations of all these functions on their weights.
fn lift(module: &mut Module, names: &[Name], transform_name: Name, consumes: bool) -> Result<(), Diagnostic> {
    if module.functions.contains_key(&transform_name) {
        let message = format!("the module already has a function `{transform_name}`");
        return Err(Diagnostic::error(codes::BAD_PASS_OPTIONS, message).help("rename it"));
    }
    let functions: Vec<&Function> = names.iter().filter_map(|name| module.relax(name)).collect();
    check_same_weights(names, &functions)?;
    let writers = Writers::of(module, &Table);
    let mut transform = Transform::of(&functions, &writers);
    let plans: Vec<Plan> = functions.iter().enumerate().map(|(i, f)| transform.plan(i, f)).collect();
    let lifted = transform.finish(&plans);
    for (name, plan) in names.iter().zip(plans) {
        if let Some(Global::Relax(function)) = module.functions.get_mut(name) {
            take_transformed(function, plan, &lifted)?;
        }
    }
    let mut function = lifted.function;
    function.lambda.attrs = Attrs::new().with("num_input", 0i64).with("global_symbol", &*transform_name);
    bundle(&mut function, 0, &"model_params".into());
    canonicalize(&mut function)?;
    remove_unused(module, &mut function, &writers);
    if consumes {
        consume(&mut function)?;
    }
    module.functions.insert(transform_name, Global::Relax(function));
    Ok(())
}

/// Checks that functions that share a transformation take the same weights.
fn check_same_weights(names: &[Name], functions: &[&Function]) -> Result<(), Diagnostic> {
    let weights = |f: &&Function| -> Vec<Var> { f.lambda.params[f.lambda.num_input().unwrap_or(0)..].to_vec() };
    let Some((first, others)) = functions.split_first() else { return Ok(()) };
    let (own, dims) = (weights(first), plan::dims(first));
    for (name, other) in names.iter().skip(1).zip(others) {
        let renamed: Substitution = plan::dims(other).into_iter().zip(dims.iter().map(|d| d.expr())).collect();
        let theirs = weights(other);
        let alike = |(a, b): (&Var, &Var)| equal::types(first.ty(*a), &other.ty(*b).substitute(&renamed));
        if own.len() != theirs.len() || !own.iter().zip(&theirs).all(alike) {
            let message =
                format!("`{}` and `{name}` take different weights, so they cannot share a transformation", names[0]);
            let error = Diagnostic::error(codes::BAD_PASS_OPTIONS, message).label(other.lambda.span, "");
            return Err(error.help("name the functions that do: `shared_transform=[\"f\",\"g\"]`"));
        }
    }
    Ok(())
}

/// Computations lifted out of functions.
struct Lifted {
    /// Function with the lifted computations.
    function: Function,
    /// Its outputs, in its own variables.
    outputs: Vec<Var>,
    /// Indices, among those of weights, of sizes that it returns too.
    sizes: Vec<usize>,
}

/// Makes a function take the transformed weights.
fn take_transformed(function: &mut Function, plan: Plan, lifted: &Lifted) -> Result<(), Diagnostic> {
    let span = function.lambda.span;
    function.lambda.params.truncate(plan.inputs);
    if !lifted.sizes.is_empty() {
        let ty = Type::shape(lifted.sizes.iter().map(|i| plan.dims[*i].expr()));
        let shape = function.new_var("vars_from_compile_time_params", ty, false, span);
        function.lambda.params.push(shape);
    }
    let mut same = Replacements::default();
    let mut own: FxHashMap<Var, Vec<Var>> = FxHashMap::default();
    for (var, theirs) in &plan.known {
        own.entry(*theirs).or_default().push(*var);
    }
    let renamed: Substitution = lifted_dims(lifted, &plan);
    for output in &lifted.outputs {
        let mut vars = own.remove(output).unwrap_or_default();
        vars.sort();
        let param = match vars.split_first() {
            Some((first, others)) => {
                same.extend(others.iter().map(|other| (*other, (*first).into())));
                function.vars[*first].dataflow = false;
                *first
            }
            None => {
                let info = &lifted.function.vars[*output];
                function.new_var(info.name.clone(), info.ty.substitute(&renamed), false, span)
            }
        };
        function.lambda.params.push(param);
    }
    for block in &mut function.lambda.body.blocks {
        block.bindings.retain(|binding| !plan.lifted.contains(&binding.var));
        for binding in &mut block.bindings {
            if let Value::Call(call) = &mut binding.value
                && call.is_op("builtin.stop_lift_params")
            {
                let weight = std::mem::replace(&mut call.args[0], Operand::Tuple(Vec::new()));
                binding.value = Value::Operand(weight);
            }
        }
    }
    function.replace(&same);
    canonicalize(function)
}

/// Returns the substitution of the transformation's sizes by those of the function's weights.
fn lifted_dims(lifted: &Lifted, plan: &Plan) -> Substitution {
    let theirs = plan::dims(&lifted.function);
    theirs.into_iter().zip(plan.dims.iter().map(|dim| dim.expr())).collect()
}

/// Makes a function that takes one tuple release each member after reading it.
fn consume(function: &mut Function) -> Result<(), Diagnostic> {
    let Some(tuple) = function.lambda.params.last().copied() else { return Ok(()) };
    let mut taken: FxHashMap<usize, Var> = FxHashMap::default();
    rewrite::bindings(function, &mut |function, binding, out| {
        let Value::TupleGet(Operand::Var(source), member) = &binding.value else {
            out.push(binding);
            return Ok(());
        };
        let (source, member, span) = (*source, *member, binding.span);
        if let Some(first) = taken.get(&member).filter(|_| source == tuple) {
            out.push(Binding { value: Value::Operand((*first).into()), ..binding });
            return Ok(());
        }
        let var = binding.var;
        out.push(binding);
        if source == tuple {
            taken.insert(member, var);
            let forget = Operand::Extern("vm.builtin.tuple_reset_item".into());
            let args = vec![forget, tuple.into(), Operand::int(member as i64)];
            let call = Call { ty_args: vec![Type::void()], ..Call::op("call_pure_packed", args, Attrs::new()) };
            out.effect(function, Value::Call(call), span);
        }
        Ok(())
    })
}

/// Sets the function's body: one dataflow block, and the returned tuple.
fn body_of(function: &mut Function, mut bindings: Vec<Binding>, members: Vec<Operand>) {
    let types = members.iter().map(|member| function.operand_ty(&Module::new(), member)).collect();
    function.lambda.ret_ty = Type::Tuple(types);
    if members.is_empty() {
        return;
    }
    let var = function.new_var("output_tuple", function.lambda.ret_ty.clone(), false, Span::NONE);
    bindings.push(Binding { var, value: Value::Operand(Operand::Tuple(members)), span: Span::NONE });
    function.lambda.body.blocks.push(Block { dataflow: true, bindings });
    function.lambda.body.result = var.into();
}
