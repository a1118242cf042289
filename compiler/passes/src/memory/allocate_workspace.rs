//! AllocateWorkspace: passes workspaces to functions of external code generators.
//!
//! A function with the attribute `Codegen` or `Composite` may state the bytes that it needs, by `WorkspaceSize`. It
//! gets another parameter, a tensor of the maximum size that any of them needs, and so do nested functions with the
//! attribute; its name changes with its type. Functions that call it allocate one such tensor and pass it to all of
//! them: they run one after another.

use crate::{Context, Pass, rewrite};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    AttrValue, Attrs, DType, Function as Global, Module, Name, PrimExpr, Type,
    relax::{Binding, Block, Body, Call, Callee, Function, Lambda, Operand, Value, Var},
};
use rustc_hash::{FxHashMap, FxHashSet};

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "AllocateWorkspace",
    doc: "Passes workspaces to functions of external code generators",
    options: &[],
    run,
};

const SIZE: &str = "WorkspaceSize";

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    let asking = module.relax_functions().filter_map(|(name, f)| Some((name.clone(), workspace_size(&f.lambda)?)));
    let asking: Vec<(Name, i64)> = asking.collect();
    let Some(bytes) = asking.iter().map(|(_, bytes)| *bytes).max().filter(|bytes| *bytes > 0) else { return Ok(()) };
    let ty = Type::tensor([PrimExpr::int64(bytes)], DType::UINT8);
    let mut renamed: FxHashMap<Name, Name> = FxHashMap::default();
    for (name, _) in asking {
        let Some(Global::Relax(function)) = module.functions.get_mut(&name) else { continue };
        let mut function = std::mem::replace(function, Function::empty());
        take_workspace(&mut function, &ty);
        let new = module.add_unique(&name, Global::Relax(function));
        if let Some(Global::Relax(function)) = module.functions.get_mut(&new) {
            function.lambda.attrs.set("global_symbol", new.clone());
        }
        module.functions.shift_remove(&name);
        renamed.insert(name, new);
    }
    rewrite::relax_functions(module, |_, _, function| {
        if !is_external(&function.lambda) {
            let mut body = rewrite::take_body(function);
            provide(function, &mut body, &renamed, &ty);
            function.lambda.body = body;
        }
        Ok(())
    })
}

fn is_external(lambda: &Lambda) -> bool {
    ["Codegen", "Composite"].iter().any(|name| lambda.attrs.get(name).is_some())
}

/// Returns the workspace size of a function of an external code generator.
fn workspace_size(lambda: &Lambda) -> Option<i64> {
    lambda.attrs.get(SIZE).and_then(AttrValue::as_int).filter(|_| is_external(lambda))
}

/// Adds the parameter to a function, and to nested functions that need a workspace, and passes it on.
fn take_workspace(function: &mut Function, ty: &Type) {
    let workspace = function.new_var("workspace", ty.clone(), false, function.lambda.span);
    function.lambda.params.push(workspace);
    function.lambda.attrs.remove(SIZE);
    let mut body = rewrite::take_body(function);
    pass_on(function, &mut body, workspace, ty, &mut FxHashSet::default());
    function.lambda.body = body;
}

fn pass_on(function: &mut Function, body: &mut Body, workspace: Var, ty: &Type, takers: &mut FxHashSet<Var>) {
    for binding in body.blocks.iter_mut().flat_map(|block| &mut block.bindings) {
        match &mut binding.value {
            Value::Function(lambda) if workspace_size(lambda).is_some() => {
                lambda.params.push(function.new_var("workspace", ty.clone(), false, lambda.span));
                lambda.attrs.remove(SIZE);
                function.vars[binding.var].ty = Type::Callable(function.lambda_ty(lambda).into());
                takers.insert(binding.var);
            }
            Value::Call(Call { callee: Callee::Var(callee), args, .. }) if takers.contains(callee) => {
                args.push(workspace.into());
            }
            value => value.each_body_mut(&mut |nested| pass_on(function, nested, workspace, ty, takers)),
        }
    }
}

/// Allocates a workspace at the beginning of a function's first dataflow block, or of the function, and passes it to
/// the renamed functions, if any is called.
fn provide(function: &mut Function, body: &mut Body, renamed: &FxHashMap<Name, Name>, ty: &Type) {
    let workspace = function.new_var("workspace_main", ty.clone(), false, function.lambda.span);
    let called_in: Vec<bool> = body.blocks.iter_mut().map(|block| call_with(block, renamed, workspace)).collect();
    let Some(first) = called_in.iter().position(|calls| *calls) else { return };
    let at = body.blocks[..=first].iter().position(|block| block.dataflow).unwrap_or(0);
    let is_local = body.blocks[at].dataflow && at == first && called_in.iter().filter(|calls| **calls).count() == 1;
    function.vars[workspace].dataflow = is_local;
    let args = vec![
        Operand::Shape(ty.as_tensor().and_then(|tensor| tensor.dims()).unwrap_or(&[]).to_vec()),
        Operand::DType(DType::UINT8),
        Operand::int(0),
        Operand::Str("global".into()),
    ];
    let value = Value::Call(Call::op("builtin.alloc_tensor", args, Attrs::new()));
    let span = body.blocks[at].bindings.first().map_or(function.lambda.span, |binding| binding.span);
    body.blocks[at].bindings.insert(0, Binding { var: workspace, value, span });
}

/// Updates the calls of renamed functions in a block; returns true if there are any.
fn call_with(block: &mut Block, renamed: &FxHashMap<Name, Name>, workspace: Var) -> bool {
    let mut calls = false;
    for binding in &mut block.bindings {
        if let Value::Call(Call { callee: Callee::Global(name), args, .. }) = &mut binding.value
            && let Some(new) = renamed.get(name)
        {
            *name = new.clone();
            args.push(workspace.into());
            calls = true;
        }
        binding.value.each_body_mut(&mut |body| {
            body.blocks.iter_mut().for_each(|block| calls |= call_with(block, renamed, workspace));
        });
    }
    calls
}
