//! What an imported model assumes about shapes that are only known when it runs.

use crate::Imported;
use hammock_diagnostics::Span;
use hammock_ir::{Function, print::graph_texts, relax::Value};

/// Shape that the imported program assumes and checks when it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assumption {
    /// The node, in the listing.
    pub span: Span,
    /// Type of the node's result, or of a value that it is computed from.
    pub ty: String,
}

impl Imported {
    /// Returns the assumptions about shapes in `main`, in order.
    pub fn assumptions(&self) -> Vec<Assumption> {
        let Some(Function::Relax(main)) = self.module.functions.get("main") else { return Vec::new() };
        let texts = graph_texts(&self.module).into_iter().find(|graph| graph.name == "main");
        let bindings = main.lambda.body.blocks.iter().flat_map(|block| &block.bindings);
        let texts = texts.map(|graph| graph.bindings).unwrap_or_default();
        bindings
            .zip(texts)
            .filter(|(binding, _)| matches!(binding.value, Value::MatchCast(..)))
            .map(|(binding, text)| Assumption { span: binding.span, ty: text.ty })
            .collect()
    }
}
