//! Functions and closures of programs as packed functions.
//!
//! Their errors are those of the model's own calls: for an argument that does not fit, of the same class, with a message
//! that names the parameter.
use super::{Returns, function::Function};
use crate::{arguments::misfit, error::from_exception};
use hammock_runtime::{Any, Error, Function as Data, Vm, image::Signature, vm::CallLimits};
use pyo3::Python;
use std::sync::Arc;

/// A function of a program, whose calls have these limits.
pub fn of_model(vm: Vm, limits: CallLimits, signature: Arc<Signature>) -> Function {
    let own = signature.clone();
    let data = Data::new(move |args| {
        let result = vm.call_with(&limits, &own.function, args);
        result.map_err(|error| explain(error, &own, args))
    });
    Function { data, returns: Returns::Numpy, signature: Some(signature) }
}

/// The function that a value is: a packed function, or a closure, whose program it keeps alive.
pub fn of_value(value: &Any, returns: Returns) -> Option<Function> {
    if let Some(data) = value.get::<&Data>() {
        return Some(Function::new(data.clone(), returns));
    }
    let vm = Vm::of_closure(value)?;
    let signature = Arc::new(vm.closure_signature(value).ok()?);
    let (closure, own) = (value.clone(), signature.clone());
    let data = Data::new(move |args| vm.invoke(&closure, args).map_err(|error| explain(error, &own, args)));
    Some(Function { data, returns, signature: Some(signature) })
}

/// The error of a call; that for the first argument that does not fit, if one does not.
#[cold]
fn explain(error: Error, signature: &Signature, args: &[Any]) -> Error {
    let Ok(owned) = args.iter().map(Any::owned).collect::<Result<Vec<_>, _>>() else { return error };
    let misfit = Python::try_attach(|py| Some(from_exception(py, misfit(signature, &owned)?)));
    misfit.flatten().unwrap_or(error)
}
