//! Running without code generation: kernels are interpreted.
//!
//! Slow and exact: the reference that compiled kernels are compared with. The graph still runs on the virtual machine.

use crate::{Failure, emit::image, failure::not_lowerable, kernels::location};
use hammock_diagnostics::{SourceFile, Span};
use hammock_interp::{self as interp, Arg, Fault};
use hammock_ir::{Function as Global, Module, Name, tir::PrimFunc};
use hammock_kernels::{KernelError, inline_calls};
use hammock_runtime::{
    Any, Error, Function, Image, Tensor,
    vm::{Options, Vm},
};
use std::{collections::HashMap, sync::Arc};

/// Prepares a module at the VM's level to run with interpreted kernels, and perhaps with other bytecode than its own.
///
/// # Errors
/// When something in it cannot be compiled to bytecode, or names a function that does not exist.
pub fn reference(
    module: &Module,
    source: &SourceFile,
    bytecode: Option<&Image>,
    options: Options,
) -> Result<Vm, Failure> {
    let image = image(module, source, bytecode, &[], None)?;
    let kernels = module.functions.iter().filter_map(|(name, function)| kernel(module, name, function, source));
    let kernels: HashMap<Name, Function> = kernels
        .collect::<Result<_, _>>()
        .map_err(|e: KernelError| not_lowerable(format!("kernel `{}`: {e}", e.function), e.span, source))?;
    Vm::new(Arc::new(image), options, |name| Ok(kernels.get(name).cloned()))
        .map_err(|e| not_lowerable(e.to_string(), Span::NONE, source))
}

/// A kernel's symbol, and the function that interprets it.
fn kernel(
    module: &Module,
    name: &Name,
    function: &Global,
    source: &SourceFile,
) -> Option<Result<(Name, Function), KernelError>> {
    let Global::Tir(func) = function else { return None };
    let symbol = function.global_symbol().unwrap_or(name).into();
    let func = match inline_calls(func, &|name| module.tir(name), &|span| location(source, span)) {
        Ok(func) => func.into_owned(),
        Err(error) => return Some(Err(error)),
    };
    Some(Ok((symbol, Function::kernel(move |args| interpret(&func, args)))))
}

/// Runs a kernel; gives its result, and the new contents of the arguments that it wrote.
pub(crate) fn interpret(func: &PrimFunc, args: &[Any]) -> Result<(Any, Vec<(usize, Tensor)>), Error> {
    let mut values = args.iter().map(argument).collect::<Result<Vec<_>, _>>()?;
    let before = values.clone();
    let result = interp::run(func, &mut values).map_err(|e| {
        let message = match &e.fault {
            Fault::Stopped { message, .. } => message.clone(),
            Fault::Assertion { message, .. } => format!("{}: {message}", e.function),
            fault => format!("{}: {fault}", e.function),
        };
        Error::new(e.fault.kind().to_owned(), message)
    })?;
    let written = before.iter().zip(values).enumerate().filter_map(|(i, pair)| match pair {
        (Arg::Tensor(old), Arg::Tensor(new)) if !old.ptr_eq(&new) => Some((i, new)),
        _ => None,
    });
    let result = match result {
        Some(interp::Value::Int(v)) => v.into(),
        Some(interp::Value::Float(v)) => v.into(),
        _ => Any::default(),
    };
    Ok((result, written.collect()))
}

fn argument(value: &Any) -> Result<Arg, Error> {
    let tensor = value.get::<Tensor>().map(Arg::Tensor);
    let int = || value.get::<i64>().or_else(|| value.get::<bool>().map(i64::from)).map(Arg::Int);
    let float = || value.get::<f64>().map(Arg::Float);
    tensor.or_else(int).or_else(float).ok_or_else(|| {
        Error::type_error(format!(
            "interpreted kernels take tensors and numbers, not {}",
            hammock_runtime::show::show(value)
        ))
    })
}
