//! Names of dimensions that nodes compute: those that the model declares for the nodes' results.

use super::Importer;
use crate::{
    schema::{Dimension, DimensionValue, GraphProto, ValueInfoProto, type_proto},
    value::Value,
};
use hammock_ir::{
    prim::{Substitution, Var},
    relax::Operand,
};
use rustc_hash::FxHashMap;

/// Symbolic dimensions and the names of the model for them.
#[derive(Default)]
pub struct SizeNames<'m> {
    /// Declared dimensions of results in the main graph, by the names of the results.
    declared: FxHashMap<&'m str, Vec<Option<&'m str>>>,
    /// The dimensions that get names, and their replacements.
    renamed: Substitution,
}

impl<'m> Importer<'m> {
    /// Collects the declared dimensions of a graph's results.
    pub fn declare_sizes(&mut self, graph: &'m GraphProto) {
        let results = graph.value_info.iter().chain(&graph.output);
        self.size_names.declared = results.filter_map(|info| Some((info.name.as_str(), names(info)?))).collect();
    }

    /// Names dimensions that a node of the main graph created, a variable each in the type of its result.
    pub(super) fn name_sizes(&mut self, name: &str, value: &Value, vars_before: usize) {
        let (Value::Operand(Operand::Var(var)) | Value::Narrow(Operand::Var(var), _)) = value else { return };
        let Some(names) = self.size_names.declared.get(name).filter(|_| self.frames.len() == 1) else { return };
        let Ok(dims) = self.build.dims(&Operand::Var(*var)) else { return };
        if dims.len() != names.len() || (var.as_u32() as usize) < vars_before {
            return;
        }
        for (dim, name) in dims.iter().zip(names.clone()) {
            let is_input = |dim: &Var| self.symbols.values().any(|symbol| symbol.as_var() == Some(dim));
            let unnamed = dim.as_var().filter(|dim| !self.size_names.renamed.contains_key(*dim) && !is_input(dim));
            if let (Some(dim), Some(name)) = (unnamed, name) {
                let named = Var::int64(self.names.add_size(name));
                self.size_names.renamed.insert(dim.clone(), named.expr());
            }
        }
    }

    /// Returns the replacements of dimensions by those with names of the model.
    pub fn renamed_sizes(&mut self) -> Substitution {
        std::mem::take(&mut self.size_names.renamed)
    }
}

/// Returns the name of each dimension of a declared tensor, if any has one.
fn names<'a>(info: &'a ValueInfoProto) -> Option<Vec<Option<&'a str>>> {
    let Some(type_proto::Value::Tensor(tensor)) = &info.r#type.as_ref()?.value else { return None };
    let name = |dim: &'a Dimension| match &dim.value {
        Some(DimensionValue::DimParam(name)) if !name.is_empty() => Some(name.as_str()),
        _ => None,
    };
    let names: Vec<Option<&str>> = tensor.shape.as_ref()?.dim.iter().map(name).collect();
    names.iter().any(Option::is_some).then_some(names)
}
