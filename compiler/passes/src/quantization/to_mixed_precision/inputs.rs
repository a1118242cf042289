//! Parameters that are passed in 16 bits.

use super::Dtypes;
use crate::{analysis::functions::relax_refs, rewrite::Emitter};
use hammock_diagnostics::{Diagnostic, codes};
use hammock_ir::{
    AttrValue, DType, Module, Name, TensorType, Type,
    relax::{Block, Body, Function, Value, Var},
};
use hammock_ops::lookup;
use hammock_runtime::suggest::nearest;
use rustc_hash::FxHashSet;

/// Names of parameters to convert.
pub struct Inputs {
    names: Vec<String>,
    /// Functions used in the module itself, whose signatures must not change.
    used: FxHashSet<Name>,
}

fn wrong(message: String) -> Diagnostic {
    let message = format!("option `fp16_input_names` of pass `ToMixedPrecision`: {message}");
    Diagnostic::error(codes::BAD_PASS_OPTIONS, message)
}

impl Inputs {
    /// Checks the names.
    ///
    /// # Errors
    /// If no function has a parameter of a name.
    pub fn read(module: &Module, names: Vec<String>) -> Result<Self, Diagnostic> {
        let functions = || module.relax_functions().map(|(_, f)| f);
        let known = || functions().flat_map(|f| f.lambda.params.iter().map(|p| &*f.vars[*p].name));
        for name in &names {
            if !known().any(|known| known == name) {
                let error = wrong(format!("no function has a parameter `{name}`"));
                return Err(match nearest(name, known()) {
                    Some(near) => error.help(format!("did you mean `{near}`?")),
                    None => error.help("the names are those of parameters in the text"),
                });
            }
        }
        let mut used = FxHashSet::default();
        if !names.is_empty() {
            for function in functions() {
                relax_refs(&function.lambda.body, &mut |name| {
                    used.insert(name.clone());
                });
            }
        }
        Ok(Inputs { names, used })
    }

    /// Converts a function's parameters to 16 bits; returns the old ones with the new ones. Uses outside dataflow
    /// blocks still use the old one, which is then converted first.
    ///
    /// # Errors
    /// If a parameter is not float32, or the module itself calls the function.
    pub fn convert(
        &mut self,
        name: &Name,
        function: &mut Function,
        body: &mut Body,
        dtypes: Dtypes,
    ) -> Result<Vec<(Var, Var)>, Diagnostic> {
        let mut given = Vec::new();
        let mut leading = Emitter::new(false);
        for i in 0..function.lambda.params.len() {
            let param = function.lambda.params[i];
            let info = function.vars[param].clone();
            if !self.names.iter().any(|n| **n == *info.name) {
                continue;
            }
            let ty = match &info.ty {
                Type::Tensor(t) if t.dtype == Some(dtypes.short) => continue,
                Type::Tensor(t) if t.dtype == Some(DType::FLOAT32) => t,
                _ => {
                    let message = format!("`{}` of function `{name}` does not hold float32", info.name);
                    return Err(wrong(message).label(info.span, "").help("name parameters of float32 only"));
                }
            };
            if self.used.contains(name) {
                let error = wrong(format!("function `{name}` is used in the module, with `{}` in float32", info.name));
                return Err(error.label(info.span, "").help("run InlinePrivateFunctions first"));
            }
            let ty = TensorType { dtype: Some(dtypes.short), ..ty.clone() };
            let new = function.new_var(info.name, ty.into(), false, info.span);
            function.lambda.params[i] = new;
            given.push((param, new));
            if let Some(astype) = lookup("astype").filter(|_| is_used_outside(body, param)) {
                let call = astype.call(vec![new.into()], [("dtype", AttrValue::DType(DType::FLOAT32))]);
                let binding = hammock_ir::relax::Binding { var: param, value: Value::Call(call), span: info.span };
                leading.push(binding);
            }
        }
        if !leading.bindings.is_empty() {
            body.blocks.insert(0, Block { dataflow: false, bindings: leading.bindings });
        }
        Ok(given)
    }
}

/// Returns true if a variable is used in a result, outside dataflow blocks, or in nested bodies.
fn is_used_outside(body: &Body, var: Var) -> bool {
    let mut found = false;
    let mut see = |v: Var| found |= v == var;
    body.result.each_var(&mut see);
    for block in &body.blocks {
        for binding in &block.bindings {
            binding.value.each_body(&mut |nested| nested.each_use(&mut see));
            if !block.dataflow {
                binding.value.each_var(&mut see);
            }
        }
    }
    found
}
