//! Weights given by name: binds them to parameters, and says which fit none.

use crate::{Failure, signatures};
use hammock_diagnostics::{Diagnostic, codes};
use hammock_ir::{Module, Name, Span, Tensor, relax::Operand};
use hammock_passes::NamedTensors;
use hammock_runtime::{
    tools::{Fit, Weights, Wrong},
    value::DLTensor,
};
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

/// All that does not fit between weights and the functions that others may call: an error if tensors are of another shape or
/// dtype than the parameters of their names, or none has a parameter; else a warning. Tensors that stand for constants which
/// the text left out are none of this.
pub fn misfit_in(module: &Module, weights: &Weights) -> Option<Diagnostic> {
    let constants = constants(module);
    let fit = weights.fit(&signatures(module), |tensor| constants.contains(&std::ptr::from_ref(tensor.as_dl())));
    let places = fit.wrong.iter().filter_map(|wrong| place(module, wrong));
    Some(places.fold(misfit(&fit)?, |d, span| d.label(span, "")))
}

/// What there is to say of weights beside the functions that they are for, if they do not fit.
pub fn misfit(fit: &Fit) -> Option<Diagnostic> {
    let (message, advice) = fit.message()?;
    let say = if fit.is_error() { Diagnostic::error } else { Diagnostic::warning };
    let code = if fit.wrong.is_empty() { codes::UNUSED_WEIGHT } else { codes::WEIGHT_MISMATCH };
    Some(advice.into_iter().fold(say(code, message), Diagnostic::help))
}

/// Where a parameter is declared.
fn place(module: &Module, wrong: &Wrong) -> Option<Span> {
    let named = |(name, f): &(&Name, &hammock_ir::relax::Function)| {
        module.functions.get(*name).and_then(|f| f.global_symbol()).unwrap_or(name) == wrong.function && !f.is_private()
    };
    let (_, function) = module.relax_functions().find(named)?;
    let param = function.lambda.params.iter().find(|param| *function.vars[**param].name == *wrong.parameter)?;
    Some(function.vars[*param].span).filter(|span| !span.is_none())
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
