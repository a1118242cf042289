//! Kernels that are run by themselves: a graph function around one takes its arguments and gives what it writes.

use crate::Failure;
use hammock_diagnostics::codes;
use hammock_ir::{
    Attrs, Function as Global, Module, Name, PrimExpr, Span, TensorType, Type,
    prim::{PrimCallee, PrimKind, PrimType, Var as PrimVar},
    relax::{Binding, Block, Body, Call, Callee, Function, Lambda, Operand, Value, Var},
    tir::{PrimFunc, Stmt, StmtKind},
};
use hammock_runtime::near::nearest;

/// Gives a module of kernels only a function to call: `wanted`, where that is a kernel, or the only kernel there is.
/// Its parameters are the kernel's, outputs included; its result is the buffers that the kernel writes, a tuple when
/// they are several. Modules that have graphs stay as they are. Returns what the kernel is called from then on, if the
/// function took its name.
///
/// # Errors
/// When there are several kernels, and none of that name.
pub fn add_entry(module: &mut Module, wanted: &str) -> Result<Option<Name>, Failure> {
    let kernels: Vec<Name> = module.functions.keys().filter(|name| module.tir(name).is_some()).cloned().collect();
    if kernels.is_empty() || module.relax_functions().next().is_some() {
        return Ok(None);
    }
    let kernel = match kernels.as_slice() {
        [only] if wanted == "main" => only.clone(),
        _ => match kernels.iter().find(|name| ***name == *wanted) {
            Some(kernel) => kernel.clone(),
            None => {
                let message = format!("there is no function `{wanted}`");
                let help = format!("the module has the kernels {}; choose one with --func", kernels.join(", "));
                return Err(Failure::new(codes::BAD_ARGUMENT, message).help(help));
            }
        },
    };
    let aside = (*kernel == *wanted).then(|| step_aside(module, &kernel));
    let kernel = aside.clone().unwrap_or(kernel);
    if let Some(func) = module.tir(&kernel) {
        let entry = entry(&kernel, func, wanted);
        module.functions.insert(wanted.into(), Global::Relax(entry));
    }
    Ok(aside)
}

/// Leaves a module nothing but a kernel, those that it calls, and a function `main` that calls it: see [`add_entry`]. The
/// module's passes have run.
///
/// # Errors
/// When there is no such kernel.
pub fn keep_kernel(module: &mut Module, name: &str) -> Result<Kept, Failure> {
    let kernels: Vec<&str> = crate::kernels::functions(module).map(|(symbol, _)| symbol).collect();
    if !kernels.contains(&name) {
        let error = Failure::new(codes::UNKNOWN_NAME, format!("there is no kernel `{name}` after the passes"));
        return Err(error.help(match nearest(name, kernels) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`hammock opt --print-plans` lists them".to_owned(),
        }));
    }
    module.functions.retain(|_, function| matches!(function, Global::Tir(_)));
    let own = |(key, function): (&Name, &Global)| match function {
        Global::Tir(func) if func.global_symbol().unwrap_or(key) == name => Some((key.clone(), func.clone())),
        _ => None,
    };
    let Some((key, func)) = module.functions.iter().find_map(own) else {
        return Ok(Kept { name: name.into(), arguments: Ok(Vec::new()) });
    };
    let aside = (*key == *"main").then(|| step_aside(module, &key));
    let name = aside.clone().unwrap_or_else(|| name.into());
    module.functions.insert("main".into(), Global::Relax(entry(&aside.unwrap_or(key), &func, "main")));
    Ok(Kept { name, arguments: arguments(&func) })
}

/// The kernel that [`keep_kernel`] left.
pub struct Kept {
    /// What it is called now.
    pub name: Name,
    /// Arguments for its parameters, random ones for tensors; an error if their sizes are not known.
    pub arguments: Result<Vec<String>, Failure>,
}

/// Arguments for a kernel, as people write them.
fn arguments(func: &PrimFunc) -> Result<Vec<String>, Failure> {
    let unknown = |name: &Name| {
        let message = format!("what parameter `{name}` of the kernel is given is not known when it is compiled");
        let names: Vec<&str> = func.params.iter().map(|param| param.var.name().as_str()).collect();
        Failure::new(codes::BAD_ARGUMENT, message).help(format!("give one --arg each for: {}", names.join(", ")))
    };
    let argument = |param: &hammock_ir::tir::Param| {
        let Some(buffer) = &param.buffer else { return Err(unknown(param.var.name())) };
        let sizes = buffer.shape.iter().map(|size| size.as_int().map(|size| size.to_string()));
        let sizes: Vec<String> = sizes.collect::<Option<_>>().ok_or_else(|| unknown(&buffer.name))?;
        let fill = if buffer.dtype.is_float() { "random" } else { "zeros" };
        Ok(format!("{fill}({}):{}", sizes.join(","), buffer.dtype))
    };
    func.params.iter().map(argument).collect()
}

/// Leaves a kernel's name to its entry; gives the kernel's new one.
fn step_aside(module: &mut Module, name: &Name) -> Name {
    let Some(Global::Tir(mut func)) = module.functions.shift_remove(name) else { return name.clone() };
    func.attrs.remove("global_symbol");
    let new = module.add_unique(&format!("{name}_kernel"), Global::Tir(func));
    for function in module.functions.values_mut() {
        if let Global::Tir(func) = function {
            func.body.map_exprs(&mut |e| renamed(e, name, &new));
        }
    }
    new
}

/// An expression that calls a kernel by its new name.
fn renamed(e: &PrimExpr, from: &Name, to: &Name) -> PrimExpr {
    let e = e.map_children(&mut |c| renamed(c, from, to));
    match e.kind() {
        PrimKind::Call(call) if call.callee == PrimCallee::Global(from.clone()) => {
            PrimExpr::call(PrimCallee::Global(to.clone()), call.args.clone(), call.attrs.clone(), e.ty().clone())
        }
        _ => e,
    }
}

/// `def name(A, B): cls.kernel(A, B); return B`
fn entry(kernel: &Name, func: &PrimFunc, name: &str) -> Function {
    let mut function = Function::empty();
    let mut params = Vec::new();
    for param in &func.params {
        let (name, ty) = match &param.buffer {
            Some(buffer) => (&buffer.name, TensorType::with_rank(Some(buffer.ndim()), Some(buffer.dtype)).into()),
            None => match param.var.ty() {
                PrimType::Scalar(dtype) if !dtype.is_handle() => (param.var.name(), Type::Prim(*dtype)),
                _ => (param.var.name(), Type::Any),
            },
        };
        params.push(function.new_var(name.clone(), ty, false, Span::NONE));
    }
    let written = written(func);
    let mut results: Vec<Operand> = params.iter().zip(written).filter(|(_, w)| *w).map(|(p, _)| (*p).into()).collect();
    let result = if results.len() == 1 { results.remove(0) } else { Operand::Tuple(results) };
    let args = params.iter().map(|p: &Var| (*p).into()).collect();
    let call = Call { callee: Callee::Global(kernel.clone()), args, attrs: Attrs::new(), ty_args: Vec::new() };
    let var = function.new_var("_", Type::void(), false, func.span);
    let bindings = vec![Binding { var, value: Value::Call(call), span: func.span }];
    function.lambda = Lambda {
        params,
        ret_ty: Type::Any,
        pure: false,
        attrs: Attrs::new().with("global_symbol", name),
        body: Body { blocks: vec![Block { dataflow: false, bindings }], result },
        span: func.span,
    };
    function
}

/// Which parameters are buffers that the kernel writes; all of them, when it writes through pointers only.
fn written(func: &PrimFunc) -> Vec<bool> {
    let mut stored: Vec<PrimVar> = Vec::new();
    func.body.walk(&mut |stmt: &Stmt| match &stmt.kind {
        StmtKind::Store { buffer, .. } => stored.push(buffer.data.clone()),
        // What stands for a region of another buffer writes that.
        StmtKind::Block(block) => stored.extend(block.writes.iter().flatten().map(|region| region.buffer.data.clone())),
        _ => {}
    });
    let data = |param: &hammock_ir::tir::Param| param.buffer.as_ref().map(|buffer| buffer.data.clone());
    let writes: Vec<bool> = func.params.iter().map(|p| data(p).is_some_and(|data| stored.contains(&data))).collect();
    if writes.contains(&true) { writes } else { func.params.iter().map(|p| p.buffer.is_some()).collect() }
}
