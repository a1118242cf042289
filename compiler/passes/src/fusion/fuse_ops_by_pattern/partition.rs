//! Matches of a pattern as groups.

use crate::{
    analysis::{
        attributes::COMPOSITE,
        composite::{codegen_of, name_of},
    },
    libraries::{self, Site},
    rewrite::groups::{Group, Groups},
};
use hammock_diagnostics::{Diagnostic, codes};
use hammock_ir::{
    Attrs, Module,
    relax::{Body, Function, Graph, Value, Var, pattern::NamedPattern},
};
use rustc_hash::FxHashMap;

/// Returns the groups of a function. If the code generator is a library of the runtime, they are those that it computes.
///
/// # Errors
/// If the pattern can match in too many ways.
pub fn groups(module: &Module, function: &Function, pattern: &NamedPattern) -> Result<Groups, Diagnostic> {
    let graph = Graph::of(function);
    let (site, library) = (Site { module, function, graph: &graph }, libraries::find(codegen_of(&pattern.name)));
    let is_computed = |root, values: &[Var]| {
        library.is_none_or(|library| (library.call)(&site, root).is_some_and(|call| call.value_count == values.len()))
    };
    let mut found = Matches::default();
    let mut roots = Vec::new();
    candidates(&function.lambda.body, &mut roots);
    for (root, span) in roots {
        let matched = pattern.pattern.find(module, function, &graph, root).map_err(|_| {
            let message = format!("there are too many ways in which the pattern `{}` may fit", pattern.name);
            Diagnostic::error(codes::BAD_PATTERN, message)
                .label(span, "this value was compared last")
                .help("write alternatives out, and sums of many terms as fewer")
        })?;
        if let Some(values) = matched.filter(|values| is_computed(root, values)) {
            found.add(values, root);
        }
    }
    Ok(found.into_groups(&function.lambda.body, &pattern.name))
}

/// Collects the calls in dataflow blocks.
fn candidates(body: &Body, out: &mut Vec<(Var, hammock_ir::Span)>) {
    for block in &body.blocks {
        for binding in &block.bindings {
            if block.dataflow && matches!(binding.value, Value::Call(_)) {
                out.push((binding.var, binding.span));
            }
            binding.value.each_body(&mut |nested| candidates(nested, out));
        }
    }
}

/// Matches so far.
#[derive(Default)]
struct Matches {
    groups: Vec<Vec<Var>>,
    of: FxHashMap<Var, usize>,
}

impl Matches {
    /// Makes matched values a group, unless they overlap another partially.
    fn add(&mut self, values: Vec<Var>, root: Var) {
        let earlier: Vec<usize> = values.iter().filter_map(|value| self.of.get(value).copied()).collect();
        let whole = |group: &usize| self.groups[*group].iter().all(|value| values.contains(value));
        if self.of.contains_key(&root) || !earlier.iter().all(whole) {
            return;
        }
        earlier.into_iter().for_each(|group| self.groups[group].clear());
        self.of.extend(values.iter().map(|value| (*value, self.groups.len())));
        self.groups.push(values);
    }

    fn into_groups(self, body: &Body, composite: &str) -> Groups {
        let mut groups = Groups::default();
        let mut numbers: FxHashMap<usize, usize> = FxHashMap::default();
        body.walk(&mut |binding| {
            let Some(group) = self.of.get(&binding.var) else { return };
            let number = *numbers.entry(*group).or_insert_with(|| {
                let attrs = Attrs::new().with(COMPOSITE, composite).with("Primitive", true);
                groups.all.push(Group { name: "fused".to_owned(), attrs });
                groups.all.len() - 1
            });
            groups.all[number].name += &name_of(&binding.value);
            groups.of.insert(binding.var, number);
        });
        groups
    }
}
