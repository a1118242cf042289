//! Inputs with a default value, which is an initializer with the input's name. Callers may override it.

use crate::{graph::Importer, listing::brief, main_graph::initializer_names, names::identifier, schema::GraphProto};
use hammock_diagnostics::{Diagnostic, codes};
use hammock_runtime::suggest::nearest;
use rustc_hash::FxHashSet;

/// First version of the format in which initializers need not be inputs: since then, one that is an input is meant to
/// be overridden.
const OPTIONAL_INPUTS_SINCE: i64 = 4;

impl<'m> Importer<'m> {
    /// Returns the inputs with a default value that become parameters.
    pub(crate) fn overridden_inputs(&mut self, graph: &'m GraphProto) -> FxHashSet<&'m str> {
        let wanted = &self.options.overridden;
        let initializers: FxHashSet<&str> = initializer_names(graph).collect();
        let inputs = || graph.input.iter().map(|input| input.name.as_str());
        let with_default = || inputs().filter(|name| initializers.contains(name));
        let is_among = |names: &[String], input: &str| {
            names.iter().any(|name| name == input || identifier(name) == identifier(input))
        };
        let is_named = |input: &str| is_among(&wanted.named, input) || is_among(&wanted.required, input);
        let unnamed = inputs().filter(|input| !is_named(input));
        let every = wanted.unnamed > 0 && unnamed.count() == wanted.unnamed;
        let all = wanted.all && self.model.proto.ir_version >= OPTIONAL_INPUTS_SINCE;
        let overridden: FxHashSet<&str> = with_default().filter(|name| all || every || is_named(name)).collect();
        let missing =
            wanted.required.iter().find(|name| !with_default().any(|input| is_among(&[(*name).clone()], input)));
        if let Some(name) = missing {
            let message = format!("the model has no input `{}` with a default value", brief(name));
            let error = Diagnostic::error(codes::ONNX_UNSUPPORTED, message);
            let error = error.help(match nearest(name, with_default()) {
                Some(near) => format!("did you mean `{}`?", brief(near)),
                None if initializers.contains(name.as_str()) => {
                    "it is an initializer that the graph does not list among its inputs, so it is a constant".to_owned()
                }
                None => "`hammock inspect` shows the model's inputs".to_owned(),
            });
            self.report(error);
        }
        overridden
    }
}
