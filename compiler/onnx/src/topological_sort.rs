//! Topological order of a graph's nodes.

use crate::schema::{GraphProto, NodeProto};
use rustc_hash::{FxHashMap, FxHashSet};

/// Sorts nodes topologically; the error has the nodes of a cycle and those that depend on it.
pub fn topological_sort(nodes: &[NodeProto]) -> Result<Vec<&NodeProto>, Vec<&NodeProto>> {
    let mut producers: FxHashMap<&str, usize> = FxHashMap::default();
    for (at, node) in nodes.iter().enumerate() {
        for output in node.output.iter().filter(|name| !name.is_empty()) {
            producers.entry(output).or_insert(at);
        }
    }
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    let mut pending_inputs = vec![0usize; nodes.len()];
    for (at, node) in nodes.iter().enumerate() {
        visit_inputs(node, &mut |name| {
            if let Some(producer) = producers.get(name) {
                users[*producer].push(at);
                pending_inputs[at] += 1;
            }
        });
    }
    // Of the ready nodes, the first in the file comes next.
    let mut ready: std::collections::BTreeSet<usize> = (0..nodes.len()).filter(|at| pending_inputs[*at] == 0).collect();
    let mut order = Vec::with_capacity(nodes.len());
    while let Some(at) = ready.pop_first() {
        order.push(&nodes[at]);
        for user in &users[at] {
            pending_inputs[*user] -= 1;
            if pending_inputs[*user] == 0 {
                ready.insert(*user);
            }
        }
    }
    if order.len() == nodes.len() {
        return Ok(order);
    }
    Err((0..nodes.len()).filter(|at| pending_inputs[*at] > 0).map(|at| &nodes[at]).collect())
}

/// Visits the names that a node reads, including outer names that its subgraphs read.
fn visit_inputs<'n>(node: &'n NodeProto, visit: &mut dyn FnMut(&'n str)) {
    node.input.iter().for_each(|name| visit(name));
    let graphs = node.attribute.iter().flat_map(|a| a.g.iter().chain(&a.graphs));
    for graph in graphs {
        let own = defined_names(graph);
        let mut outer = |name: &'n str| {
            if !own.contains(name) {
                visit(name);
            }
        };
        graph.node.iter().for_each(|inner| visit_inputs(inner, &mut outer));
        graph.output.iter().for_each(|output| outer(&output.name));
    }
}

/// Returns the names that a graph defines, which shadow outer names.
fn defined_names(graph: &GraphProto) -> FxHashSet<&str> {
    let inputs = graph.input.iter().map(|input| &input.name);
    let weights = graph.initializer.iter().map(|weight| &weight.name);
    let results = graph.node.iter().flat_map(|node| &node.output);
    let sparse = graph.sparse_initializer.iter().map(crate::sparse::name);
    inputs.chain(weights).chain(results).map(String::as_str).chain(sparse).collect()
}
