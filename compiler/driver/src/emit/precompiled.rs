//! Precompiled bytecode that replaces a module's own.

use crate::{Failure, kernels};
use hammock_diagnostics::{Diagnostic, SourceFile, codes};
use hammock_ir::{
    Function, Module,
    relax::{Callee, Operand, Value},
    tir::PrimFunc,
};
use hammock_runtime::{
    Image, builtins,
    executable::{FunctionKind, Instruction},
};
use std::collections::{HashMap, HashSet};

/// An image with precompiled bytecode, which calls the module's kernels.
///
/// # Errors
/// If it has no bytecode, or calls functions that the module lacks.
pub fn adopt(given: &Image, module: &Module, source: &SourceFile) -> Result<Image, Failure> {
    check_callees(given, module, source)?;
    let mut image = given.clone();
    let graphs = || given.executable.functions.iter().filter(|f| f.kind != FunctionKind::Packed);
    if graphs().count() > 0 && graphs().all(|f| f.start == f.end) {
        let names: Vec<String> = graphs().map(|f| format!("`{}`", f.name)).collect();
        let message = format!("there is no bytecode, only machine code for TVM's runtime: {}", names.join(", "));
        return Err(Failure::new(codes::UNSUPPORTED_FILE, message)
            .help("leave out `--bytecode`, or export the library with TVM's `exec_mode=\"bytecode\"`"));
    }
    // Machine code next to the bytecode is not used.
    let graphs = image.executable.functions.iter_mut().filter(|f| f.kind == FunctionKind::Compiled);
    graphs.filter(|f| f.start < f.end).for_each(|f| f.kind = FunctionKind::Bytecode);
    Ok(image)
}

/// Refuses bytecode that calls kernels the module lacks.
fn check_callees(image: &Image, module: &Module, source: &SourceFile) -> Result<(), Failure> {
    let mut known: HashSet<&str> = kernels::functions(module).map(|(name, _)| name).collect();
    known.extend(external(module));
    let called = image.executable.functions.iter().filter(|f| f.kind == FunctionKind::Packed);
    let is_there = |name: &str| known.contains(name) || builtins().any(|b| b.name == name);
    let missing: Vec<String> = called.filter(|f| !is_there(&f.name)).map(|f| format!("`{}`", f.name)).collect();
    if missing.is_empty() {
        return check_arities(image, module, source);
    }
    let (names, file) = (missing.join(", "), source.name());
    let message = format!("the bytecode calls functions that are neither kernels of {file} nor builtins: {names}");
    Err(Failure::new(codes::MISSING_KERNELS, message)
        .help("give the module as it was when the bytecode was generated: after the passes, with its TIR functions")
        .help("a function that will be registered is declared in the module: `f = R.ExternFunc(\"symbol\")`"))
}

/// Refuses bytecode that calls a kernel with another number of arguments.
fn check_arities(image: &Image, module: &Module, source: &SourceFile) -> Result<(), Failure> {
    let kernels: HashMap<&str, &PrimFunc> = kernels::functions(module).collect();
    let code = &image.executable.code;
    for instruction in (0..code.len()).filter_map(|index| code.get(index)) {
        let Instruction::Call { function, args, .. } = instruction else { continue };
        let callee = usize::try_from(function).ok().and_then(|at| image.executable.functions.get(at));
        let Some((name, kernel)) = callee.and_then(|f| Some((&f.name, kernels.get(f.name.as_str())?))) else {
            continue;
        };
        if kernel.params.len() != args.len() {
            let (takes, gives) = (kernel.params.len(), args.len());
            let message = format!(
                "the bytecode calls `{name}` with {gives} arguments, but the kernel in {} takes {takes}",
                source.name()
            );
            let d = Diagnostic::error(codes::MISSING_KERNELS, message);
            let d = if kernel.span.is_none() { d } else { d.label(kernel.span, "") };
            return Err(Failure::from(d).within(source).help("the bytecode was generated from another module"));
        }
    }
    Ok(())
}

/// Functions that a module declares to be looked up by name at run time.
fn external(module: &Module) -> Vec<&str> {
    let mut names = Vec::new();
    for function in module.functions.values() {
        match function {
            Function::Tir(_) => {}
            Function::Extern(f) => names.push(&*f.symbol),
            Function::Relax(f) => {
                let body = &f.lambda.body;
                body.walk(&mut |binding| {
                    if let Value::Call(call) = &binding.value
                        && let Callee::Extern(name) = &call.callee
                    {
                        names.push(name);
                    }
                });
                body.each_operand(&mut |operand| {
                    operand.walk(&mut |part| {
                        if let Operand::Extern(name) = part {
                            names.push(name);
                        }
                    });
                });
            }
        }
    }
    names
}
