//! Weights given by name: binds them to parameters, and says which fit none.

use crate::Failure;
use hammock_diagnostics::{Diagnostic, codes};
use hammock_ir::{Module, Tensor, relax::Operand};
use hammock_passes::NamedTensors;
use hammock_runtime::{tools::Weights, value::DLTensor};
use std::collections::HashSet;

/// Binds parameters to the tensors of their names, as the pass BindParams does.
///
/// # Errors
/// When a tensor's dtype, rank or a fixed dimension is not that of the parameter of its name.
pub fn bind(module: &mut Module, weights: &Weights) -> Result<(), Failure> {
    hammock_passes::bind_params(module, &Named(weights)).map_err(Failure::from)
}

/// Named tensors as passes ask for them.
pub struct Named<'a>(pub &'a Weights);

impl NamedTensors for Named<'_> {
    fn named(&self, parameter: &str) -> Option<(&str, &Tensor)> {
        self.0.named(parameter)
    }
}

/// What is to be said of tensors that belong to no parameter of a function that others may call, and stand for no
/// constant that the text left out: a warning, or an error when that is true of all.
pub fn unused(module: &Module, weights: &Weights) -> Option<Diagnostic> {
    let exported = module.relax_functions().filter(|(_, f)| !f.is_private());
    let names = exported.flat_map(|(_, f)| f.lambda.params.iter().map(|p| &*f.vars[*p].name));
    let names: Vec<&str> = names.collect();
    let constants = constants(module);
    let unused = weights.unused(&names, |tensor| constants.contains(&std::ptr::from_ref(tensor.as_dl())))?;
    let say = if unused.all { Diagnostic::error } else { Diagnostic::warning };
    let diagnostic = say(codes::UNUSED_WEIGHT, unused.error.message);
    Some(match unused.error.help {
        Some(help) => diagnostic.help(help),
        None => diagnostic,
    })
}

/// What is to be said of parameters that a function calls weights, those behind its first `num_input`, when they have
/// no tensor and others of it do.
pub fn missing(module: &Module, weights: &Weights) -> Vec<Diagnostic> {
    let mut said = Vec::new();
    for (name, function) in module.relax_functions().filter(|(_, f)| !f.is_private()) {
        let Some(inputs) = function.lambda.num_input() else { continue };
        let names = function.lambda.params.iter().skip(inputs).map(|p| &*function.vars[*p].name);
        let (given, open): (Vec<&str>, Vec<&str>) = names.partition(|name| weights.get(name).is_some());
        if given.is_empty() || open.is_empty() {
            continue;
        }
        let message = format!("weights of `{name}` have no tensor: {}", open.join(", "));
        let near = weights.instead_of(&open);
        let help = near.unwrap_or_else(|| "you have to give them as arguments when you run the model".to_owned());
        said.push(Diagnostic::warning(codes::UNUSED_WEIGHT, message).help(help));
    }
    said
}

/// The tensors that are constants of graphs.
fn constants(module: &Module) -> HashSet<*const DLTensor> {
    let mut found = HashSet::new();
    let mut note = |operand: &Operand| {
        operand.walk(&mut |o| {
            if let Operand::Const(constant) = o {
                found.insert(std::ptr::from_ref(constant.tensor.as_dl()));
            }
        });
    };
    for (_, function) in module.relax_functions() {
        function.lambda.body.each_operand(&mut note);
    }
    found
}
