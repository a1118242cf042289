//! TopologicalSort: sorts the bindings of dataflow blocks by a traversal of the graph.
//!
//! A traversal from the inputs visits a binding after all its operands; one from the outputs, after all its users,
//! and the order is reversed. Depth first, the bindings made ready by the last visited one come next; breadth first,
//! those that have been ready longest. Ties keep their order. A block in which memory is overwritten stays as it is.
//! The order `latest` is not a traversal: see `latest.rs`.

mod latest;

use crate::{
    Context, OptionKind, Pass, PassOption,
    analysis::use_order::{definers, each_used},
    rewrite,
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Module,
    relax::{
        Binding, Body, Function, Value, Var,
        memory::{MemoryDependences, Writers},
    },
};
use hammock_ops::Table;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "TopologicalSort",
    doc: "Sorts the bindings of dataflow blocks by a traversal of the graph",
    options: &[
        PassOption {
            name: "order",
            kind: OptionKind::Choice(&["depth-first", "breadth-first", "latest"]),
            default: "\"depth-first\"",
            doc: "Next of the ready bindings: the newest (depth first) or the oldest (breadth first); or each call as \
                  late as possible without extending other lifetimes",
        },
        PassOption {
            name: "direction",
            kind: OptionKind::Choice(&["from-inputs", "from-outputs"]),
            default: "\"from-inputs\"",
            doc: "Start of the traversal",
        },
    ],
    run,
};

#[derive(Clone, Copy)]
struct Traversal {
    depth_first: bool,
    from_inputs: bool,
}

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let order = context.options.text("order");
    let traversal = Traversal {
        depth_first: order == "depth-first",
        from_inputs: context.options.text("direction") == "from-inputs",
    };
    let traversal = (order != "latest").then_some(traversal);
    let writers = Writers::of(module, &Table);
    rewrite::relax_functions(module, |_, _, function| {
        let memory = MemoryDependences::of(function, &writers, &Table);
        let mut body = rewrite::take_body(function);
        sort(function, &memory, &function.lambda.params, &mut body, traversal);
        function.lambda.body = body;
        Ok(())
    })
}

/// Sorts the dataflow blocks of a body with these parameters, and of its nested bodies. Without `walk`, each call
/// moves as late as possible.
fn sort(
    function: &Function,
    memory: &MemoryDependences,
    params: &[Var],
    body: &mut Body,
    traversal: Option<Traversal>,
) {
    let order = traversal.map(|traversal| Graph::of(function, params, body).order(traversal));
    for block in &mut body.blocks {
        if block.dataflow && !block.bindings.iter().any(|binding| memory.writes(binding.var)) {
            match &order {
                Some(order) => {
                    let position = |binding: &Binding| order.get(&binding.var).copied().unwrap_or(usize::MAX);
                    block.bindings.sort_by_key(position);
                }
                None => latest::sink(function, block),
            }
        }
        for binding in &mut block.bindings {
            let params = match &binding.value {
                Value::Function(lambda) => lambda.params.clone(),
                _ => Vec::new(),
            };
            binding.value.each_body_mut(&mut |nested| sort(function, memory, &params, nested, traversal));
        }
    }
}

/// Parameters and bindings of a body as nodes, after one node for all inputs and one for results and unused values.
struct Graph {
    vars: Vec<Var>,
    users: Vec<VecDeque<usize>>,
    requirements: Vec<VecDeque<usize>>,
}

const INPUT: usize = 0;
const OUTPUT: usize = 1;
const FIRST: usize = 2;

impl Graph {
    fn of(function: &Function, params: &[Var], body: &Body) -> Graph {
        let vars: Vec<Var> = params.iter().copied().chain(body.bindings().map(|b| b.var)).collect();
        let nodes: FxHashMap<Var, usize> = vars.iter().copied().zip(FIRST..).collect();
        let count = vars.len() + FIRST;
        let mut graph = Graph { vars, users: vec![VecDeque::new(); count], requirements: vec![VecDeque::new(); count] };
        (0..params.len()).for_each(|param| graph.edge(INPUT, FIRST + param));
        let definers = definers(function, body.bindings());
        let bindings = FIRST + params.len()..count;
        for (binding, node) in body.bindings().zip(bindings.clone()) {
            each_used(function, &definers, binding, &mut |used| {
                if let Some(used) = nodes.get(&used).filter(|used| **used != node) {
                    graph.edge(*used, node);
                }
            });
        }
        body.result.each_var(&mut |used| nodes.get(&used).into_iter().for_each(|used| graph.edge(*used, OUTPUT)));
        for node in bindings.clone().filter(|node| graph.requirements[*node].is_empty()).collect::<Vec<_>>() {
            graph.edge(INPUT, node);
        }
        for node in bindings.rev().filter(|node| graph.users[*node].is_empty()).collect::<Vec<_>>() {
            graph.users[node].push_front(OUTPUT);
            graph.requirements[OUTPUT].push_front(node);
        }
        graph
    }

    fn edge(&mut self, from: usize, to: usize) {
        self.users[from].push_back(to);
        self.requirements[to].push_back(from);
    }

    /// Returns the position of each variable in the order of the traversal.
    fn order(self, traversal: Traversal) -> FxHashMap<Var, usize> {
        let (start, mut next, before) = match traversal.from_inputs {
            true => (INPUT, self.users, self.requirements),
            false => (OUTPUT, self.requirements, self.users),
        };
        if traversal.depth_first && traversal.from_inputs {
            // The stack is last in, first out.
            next.iter_mut().for_each(|users| users.make_contiguous().reverse());
        }
        let mut waiting: Vec<usize> = before.iter().map(VecDeque::len).collect();
        let mut ready = VecDeque::from([start]);
        let mut visited = Vec::with_capacity(next.len());
        while let Some(node) = if traversal.depth_first { ready.pop_back() } else { ready.pop_front() } {
            visited.push(node);
            for other in &next[node] {
                waiting[*other] -= 1;
                if waiting[*other] == 0 {
                    ready.push_back(*other);
                }
            }
        }
        if !traversal.from_inputs {
            visited.reverse();
        }
        let var = |node: &usize| node.checked_sub(FIRST).map(|i| self.vars[i]);
        visited.iter().filter_map(var).zip(0..).collect()
    }
}
