//! The graph of a model's functions before and after fusion: `hammock opt --graph`, and a part of `hammock report`.
//!
//! - [`extract`]: operators of a function, and the kernels that they are fused to.
//! - [`layout`]: positions of boxes and edges.
//! - [`svg`]: the drawing.

mod extract;
mod layout;
mod svg;

use hammock_compiler::{Build, Dump};
use hammock_ir::{Module, Name};
use indexmap::{IndexMap, IndexSet};
use std::collections::HashMap;
pub use svg::svg;

/// A function's operators, and the kernels that they are fused to.
pub struct Graph {
    /// The function.
    name: Name,
    nodes: Vec<Node>,
    /// Producers with their consumers.
    edges: IndexSet<(usize, usize)>,
    /// Names of the kernels, one for each call.
    kernels: Vec<Name>,
}

/// A value of the graph.
struct Node {
    label: String,
    /// Its type, for people.
    ty: String,
    kind: Kind,
}

/// The kind of a node.
enum Kind {
    /// A parameter of the function.
    Parameter,
    /// An operator, and the call of a kernel that computes it.
    Operator(Option<usize>),
    /// The function's result.
    Result,
}

impl Node {
    /// The call of a kernel that computes it.
    fn kernel(&self) -> Option<usize> {
        if let Kind::Operator(kernel) = self.kind { kernel } else { None }
    }
}

/// Extracts the graphs of the functions of the last module. Fused groups are functions of it and of those before it, which
/// are the same module after earlier passes.
fn graphs(modules: &[&Module]) -> Vec<Graph> {
    extract::graphs(modules)
}

/// Extracts the graphs of a module, as its passes fused it.
pub fn fused_graphs(build: &Build, dump: &Dump) -> Vec<Graph> {
    let module = [&build.model().module];
    let fused: Vec<&Module> = dump.groups.iter().collect();
    graphs(if fused.is_empty() { &module } else { &fused })
}

/// The ids of the boxes of a function's kernels in the drawing of these graphs: of each kernel's first call.
pub fn call_links<'g>(graphs: &'g [Graph], function: &str) -> HashMap<&'g str, String> {
    let mut links = HashMap::new();
    for (number, graph) in graphs.iter().enumerate().filter(|(_, graph)| &*graph.name == function) {
        for (call, nodes) in graph.calls().iter().enumerate() {
            if let Some(kernel) = nodes.first().and_then(|node| graph.nodes[*node].kernel()) {
                links.entry(graph.kernels[kernel].as_str()).or_insert_with(|| svg::call_id(number, call));
            }
        }
    }
    links
}

impl Graph {
    /// What is drawn after fusion: the nodes of each call of a kernel, in order, and those that are in none.
    fn calls(&self) -> Vec<Vec<usize>> {
        let mut calls: IndexMap<Result<usize, usize>, Vec<usize>> = IndexMap::new();
        for (number, node) in self.nodes.iter().enumerate() {
            calls.entry(node.kernel().ok_or(number)).or_default().push(number);
        }
        calls.into_values().collect()
    }
}

#[cfg(test)]
mod tests;
