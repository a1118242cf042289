//! Functions for external code generators, which wrap the groups that they compile.

use crate::analysis::{
    attributes::{CODEGEN, COMPOSITE},
    composite::{codegen_of, graphs},
    functions::{each_call, each_call_mut, escaping},
};
use hammock_ir::{
    Attrs, Function as Global, Module, Name, Span, Type,
    relax::{Binding, Block, Body, Call, Callee, Function, Operand, Value, Var},
};
use indexmap::IndexMap;
use std::sync::Arc;

/// Wraps each group that a graph calls, unless it is used as a value.
pub fn wrap_composites(module: &mut Module) {
    let escaping = escaping(module);
    let mut wrapped: IndexMap<Name, Name> = IndexMap::new();
    for name in graphs(module) {
        for composite in called(module, &name) {
            if !wrapped.contains_key(&composite)
                && !escaping.contains(&composite)
                && let Some(new) = wrap(module, &composite)
            {
                wrapped.insert(composite, new);
            }
        }
    }
    module.functions.retain(|name, _| !wrapped.contains_key(name));
    for (_, function) in module.relax_functions_mut() {
        each_call_mut(&mut function.lambda.body, &mut |call| {
            if let Callee::Global(name) = &mut call.callee
                && let Some(new) = wrapped.get(name)
            {
                *name = new.clone();
            }
        });
    }
}

/// Returns the functions that a graph calls, in order.
fn called(module: &Module, name: &str) -> Vec<Name> {
    let mut called = Vec::new();
    if let Some(function) = module.relax(name) {
        each_call(&function.lambda.body, &mut |call| {
            if let Callee::Global(name) = &call.callee {
                called.push(name.clone());
            }
        });
    }
    called
}

/// Replaces a group by a function that defines and calls it, and returns its name; `None` if the function is not a
/// group.
fn wrap(module: &mut Module, composite: &Name) -> Option<Name> {
    let codegen = codegen_of(module.relax(composite)?.lambda.attrs.get(COMPOSITE)?.as_str()?).to_owned();
    let Some(Global::Relax(slot)) = module.functions.get_mut(composite) else { return None };
    let inner = std::mem::replace(slot, Function::empty());
    let name = module.free_name(&format!("{composite}_{codegen}"));
    let mut function = around(inner);
    function.lambda.attrs = Attrs::new().with(CODEGEN, &*codegen).with("global_symbol", &*name);
    module.functions.insert(name.clone(), Global::Relax(function));
    Some(name)
}

/// Returns a function that defines another and returns its result. Both have the same symbolic sizes.
fn around(mut inner: Function) -> Function {
    inner.lambda.attrs.remove("Primitive");
    inner.lambda.attrs.remove("global_symbol");
    let mut function = inner.signature();
    if inner.lambda.params.iter().any(|param| inner.scalar(*param).is_some()) {
        inner.renew_dims();
    }
    let inner = function.adopt(inner);
    let ty = Type::Callable(Arc::new(function.lambda_ty(&inner)));
    let local = function.new_var("local_func", ty, false, Span::NONE);
    let output = function.new_var("output", function.lambda.ret_ty.clone(), false, Span::NONE);
    let args = function.lambda.params.iter().map(|param: &Var| Operand::Var(*param)).collect();
    let call = Call { callee: Callee::Var(local), args, attrs: Attrs::new(), ty_args: Vec::new() };
    let bindings = vec![
        Binding { var: local, value: Value::Function(Box::new(inner)), span: Span::NONE },
        Binding { var: output, value: Value::Call(call), span: Span::NONE },
    ];
    function.lambda.body = Body { blocks: vec![Block { dataflow: false, bindings }], result: output.into() };
    function
}
