//! MergeCompositeFunctions: merges connected groups of one external code generator into one function.
//!
//! Works on calls of functions with the attribute `Composite` (see FuseOpsByPattern). A call joins the calls for the
//! same code generator that compute its arguments, unless another call would have to run in between. Tuples of values
//! of one such group, and their members, join as well, if the tuples are only taken apart. Each group becomes a
//! function with the attribute `Codegen`, which defines the composite functions that it calls, so that it can be
//! compiled alone.

mod regions;

use crate::{
    Context, Pass,
    analysis::{
        attributes::{CODEGEN, COMPOSITE},
        composite::graphs,
        functions,
    },
    rewrite::{self, dead_code, groups::outline_groups, shared_functions::SharedFunctions},
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Function as Global, Module, Name, Span, Type,
    relax::{Binding, Block, Callee, Function, Outlining, Value, Var, memory::Writers},
};
use hammock_ops::Table;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "MergeCompositeFunctions",
    doc: "Merges connected groups of an external code generator into one function",
    options: &[],
    run,
};

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    let before: FxHashSet<Name> = module.functions.keys().cloned().collect();
    let mut shared = SharedFunctions::default();
    let writers = Writers::of(module, &Table);
    for name in graphs(module) {
        rewrite::relax_function(module, &name, |module, function| {
            let groups = regions::groups(module, function);
            if !groups.all.is_empty() {
                let (body, how) = (rewrite::take_body(function), Outlining { lift_constants: true, lift_sizes: true });
                function.lambda.body = outline_groups(module, function, body, &groups, (&writers, how), &mut shared)?;
            }
            Ok(())
        })?;
    }
    let merged = |(name, function): (&Name, &Global)| {
        let codegen = function.attrs()?.get(CODEGEN)?.as_str()?;
        (!before.contains(name)).then(|| (name.clone(), format!("{name}_{codegen}")))
    };
    let merged: Vec<(Name, String)> = module.functions.iter().filter_map(merged).collect();
    let mut renamed: FxHashMap<Name, Name> = FxHashMap::default();
    for (old, wanted) in merged {
        let Some(Global::Relax(slot)) = module.functions.get_mut(&old) else { continue };
        let function = std::mem::replace(slot, Function::empty());
        let name = module.free_name(&wanted);
        let mut function = with_composites(module, function);
        function.lambda.attrs.remove("Primitive");
        function.lambda.attrs.set("global_symbol", &*name);
        module.functions.insert(name.clone(), Global::Relax(function));
        renamed.insert(old, name);
    }
    module.functions.retain(|name, _| !renamed.contains_key(name));
    for (_, function) in module.relax_functions_mut() {
        functions::each_call_mut(&mut function.lambda.body, &mut |call| {
            if let Callee::Global(name) = &mut call.callee
                && let Some(new) = renamed.get(name)
            {
                *name = new.clone();
            }
        });
    }
    dead_code::eliminate(module, vec!["main".to_owned()])
}

/// Returns the function in plain blocks, with composite functions defined before their first calls.
fn with_composites(module: &Module, mut function: Function) -> Function {
    let body = rewrite::take_body(&mut function);
    let mut local: FxHashMap<Name, Var> = FxHashMap::default();
    let mut bindings = Vec::new();
    for mut binding in body.blocks.into_iter().flat_map(|block| block.bindings) {
        function.vars[binding.var].dataflow = false;
        if let Value::Call(call) = &mut binding.value
            && let Callee::Global(name) = &call.callee
            && let Some(composite) = module.relax(name).filter(|f| f.lambda.attrs.get(COMPOSITE).is_some())
        {
            let var = *local.entry(name.clone()).or_insert_with(|| {
                let definition = define(&mut function, composite);
                let var = definition.var;
                bindings.push(definition);
                var
            });
            call.callee = Callee::Var(var);
        }
        bindings.push(binding);
    }
    function.lambda.body.blocks = vec![Block { dataflow: false, bindings }];
    function.lambda.body.result = body.result;
    function
}

/// Returns the definition of a composite function inside another, in symbolic variables of its own.
fn define(function: &mut Function, composite: &Function) -> Binding {
    let mut composite = composite.clone();
    composite.lambda.attrs.remove("Primitive");
    composite.lambda.attrs.remove("global_symbol");
    composite.renew_dims();
    let lambda = function.adopt(composite);
    let ty = Type::Callable(Arc::new(function.lambda_ty(&lambda)));
    let var = function.new_var("composite", ty, false, Span::NONE);
    Binding { var, value: Value::Function(Box::new(lambda)), span: Span::NONE }
}
