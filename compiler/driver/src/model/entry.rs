//! Entry functions: a graph that calls a single kernel with its own parameters, and returns the buffers that it writes.

use crate::Failure;
use hammock_diagnostics::codes;
use hammock_ir::{
    Attrs, Function as Global, Module, Name, PrimExpr, Span, TensorType, Type,
    arith::Analyzer,
    prim::{PrimCallee, PrimKind, PrimType, Substitution, Var as PrimVar},
    relax::{Binding, Block, Body, Call, Callee, Function, Lambda, Operand, Value, Var},
    tir::{Param, PrimFunc, Stmt, StmtKind},
};
use hammock_runtime::suggest::nearest;
use indexmap::{IndexMap, IndexSet};

/// Adds a function `wanted` to a module without graphs. It calls the kernel of that name, or the only kernel. Its parameters
/// are the kernel's, outputs included; its result is the buffer that the kernel writes, or a tuple of them. Returns the
/// kernel's new name, if the function took it.
///
/// # Errors
/// If there are several kernels, and none of that name.
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
    let aside = (*kernel == *wanted).then(|| rename_kernel(module, &kernel));
    let kernel = aside.clone().unwrap_or(kernel);
    if let Some(func) = module.tir(&kernel) {
        let entry = entry(&kernel, func, wanted);
        module.functions.insert(wanted.into(), Global::Relax(entry));
    }
    Ok(aside)
}

/// Removes all graphs of a lowered module, and adds a function `main` that calls one kernel: see [`add_entry`].
///
/// # Errors
/// If there is no such kernel.
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
        return Ok(Kept { name: name.into(), params: Vec::new() });
    };
    let aside = (*key == *"main").then(|| rename_kernel(module, &key));
    let name = aside.clone().unwrap_or_else(|| name.into());
    module.functions.insert("main".into(), Global::Relax(entry(&aside.unwrap_or(key), &func, "main")));
    Ok(Kept { name, params: func.params.clone() })
}

/// The kernel of [`keep_kernel`].
pub struct Kept {
    /// Its name in the module now.
    pub name: Name,
    /// Its parameters.
    params: Vec<Param>,
}

impl Kept {
    /// Arguments for its parameters in the syntax of `--arg`, random for tensors of floats; `sizes` has the values of
    /// symbolic sizes and of scalar parameters by name.
    ///
    /// # Errors
    /// If a size is missing, or is not one of the kernel's.
    pub fn arguments(&self, sizes: &[(&str, i64)]) -> Result<Vec<String>, Failure> {
        let shapes = self.params.iter().filter_map(|param| param.buffer.as_ref()).flat_map(|buffer| &buffer.shape);
        let mut open: IndexMap<&PrimVar, ()> = IndexMap::new();
        shapes.for_each(|size| size.each_var(&mut |var| _ = open.insert(var, ())));
        let scalars = self.params.iter().filter(|param| param.buffer.is_none());
        open.extend(scalars.map(|param| (&param.var, ())));
        let names = || {
            let names: IndexSet<&str> = open.keys().map(|var| var.name().as_str()).collect();
            names.iter().map(|name| format!("--arg {name}=N")).collect::<Vec<_>>().join(" ")
        };
        if let Some((other, _)) = sizes.iter().find(|(name, _)| open.keys().all(|var| **var.name() != **name)) {
            let error = Failure::new(codes::BAD_ARGUMENT, format!("kernel `{}` has no size `{other}`", self.name));
            return Err(if open.is_empty() { error } else { error.help(format!("it has {}", names())) });
        }
        let value = |var: &PrimVar| Some((var.clone(), sizes.iter().find(|(name, _)| **name == **var.name())?.1));
        let known: Vec<(PrimVar, i64)> = open.keys().filter_map(|var| value(var)).collect();
        let values = known.iter().map(|(var, value)| (var.clone(), PrimExpr::int(*value, var.dtype()))).collect();
        let arguments = self.params.iter().map(|param| argument(param, &values)).collect::<Option<_>>();
        arguments.ok_or_else(|| {
            let missing = open.keys().find(|var| !values.contains_key(**var)).map(|var| var.name().as_str());
            let message = match missing {
                Some(name) => format!("the size `{name}` of kernel `{}` is not known", self.name),
                None => format!("kernel `{}` takes a pointer, for which there is no random argument", self.name),
            };
            Failure::new(codes::BAD_ARGUMENT, message).help(match missing {
                Some(_) => format!("give {} with numbers for N, or one --arg for each parameter, in order", names()),
                None => "give one --arg for each parameter, in order".to_owned(),
            })
        })
    }
}

/// An argument for a parameter, sizes replaced by their values; `None` if these are not all known.
fn argument(param: &Param, values: &Substitution) -> Option<String> {
    let Some(buffer) = &param.buffer else { return values.get(&param.var)?.as_int().map(|value| value.to_string()) };
    let size = |size: &PrimExpr| Analyzer::new().simplify(&size.substitute(values)).as_int();
    let sizes: Vec<String> = buffer.shape.iter().map(|s| Some(size(s)?.to_string())).collect::<Option<_>>()?;
    let fill = if buffer.dtype.is_float() { "random" } else { "zeros" };
    Some(format!("{fill}({}):{}", sizes.join(","), buffer.dtype))
}

/// Renames a kernel, so that its entry function can have the name; returns the new one.
fn rename_kernel(module: &mut Module, name: &Name) -> Name {
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

/// An expression with calls of `from` replaced by calls of `to`.
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

/// True for each parameter that is a buffer which the kernel writes; for all of them if it writes only through pointers.
fn written(func: &PrimFunc) -> Vec<bool> {
    let mut stored: Vec<PrimVar> = Vec::new();
    func.body.walk(&mut |stmt: &Stmt| match &stmt.kind {
        StmtKind::Store { buffer, .. } => stored.push(buffer.data.clone()),
        // A matched buffer writes to the buffer that it is a region of.
        StmtKind::Block(block) => stored.extend(block.writes.iter().flatten().map(|region| region.buffer.data.clone())),
        _ => {}
    });
    let data = |param: &Param| param.buffer.as_ref().map(|buffer| buffer.data.clone());
    let writes: Vec<bool> = func.params.iter().map(|p| data(p).is_some_and(|data| stored.contains(&data))).collect();
    if writes.contains(&true) { writes } else { func.params.iter().map(|p| p.buffer.is_some()).collect() }
}
