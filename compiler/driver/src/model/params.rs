//! Binds weights to parameters by name, and reports those that fit none.

use super::signature::signatures;
use crate::Failure;
use hammock_diagnostics::{Diagnostic, codes};
use hammock_ir::{Module, Name, Span, Tensor, relax::Operand};
use hammock_passes::NamedTensors;
use hammock_runtime::value::DLTensor;
use hammock_tools::{Fit, Weights, Wrong};
use std::collections::HashSet;

/// Replaces parameters by the tensors of their names, like the pass BindParams.
///
/// # Errors
/// If a tensor's dtype, rank or a static dimension differs from its parameter's.
pub fn bind(module: &mut Module, weights: &Weights) -> Result<(), Failure> {
    hammock_passes::bind_params(module, &Named(weights)).map_err(Failure::from)
}

/// Weights as the named tensors of passes.
pub struct Named<'a>(pub &'a Weights);

impl NamedTensors for Named<'_> {
    fn named(&self, parameter: &str) -> Option<(&str, &Tensor)> {
        self.0.named(parameter)
    }
}

/// A diagnostic about weights that do not fit a module's public functions: an error if the shape or dtype of a tensor differs
/// from its parameter's, or no tensor has a parameter; otherwise a warning. Tensors that are constants of the text are not
/// reported.
pub fn misfit_in(module: &Module, weights: &Weights) -> Option<Diagnostic> {
    let constants = constants(module);
    let fit = weights.fit(&signatures(module), |tensor| constants.contains(&std::ptr::from_ref(tensor.as_dl())));
    let spans = fit.wrong.iter().filter_map(|wrong| declaration(module, wrong));
    Some(spans.fold(misfit(&fit)?, |d, span| d.label(span, "")))
}

/// A diagnostic about weights that do not fit.
pub fn misfit(fit: &Fit) -> Option<Diagnostic> {
    let (message, advice) = fit.message()?;
    let say = if fit.is_error() { Diagnostic::error } else { Diagnostic::warning };
    let code = if fit.wrong.is_empty() { codes::UNUSED_WEIGHT } else { codes::WEIGHT_MISMATCH };
    Some(advice.into_iter().fold(say(code, message), Diagnostic::help))
}

/// Span of a parameter's declaration.
fn declaration(module: &Module, wrong: &Wrong) -> Option<Span> {
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
