//! TopologicalSort: bindings of dataflow blocks in the order of a walk over the graph.
//!
//! A walk from the inputs visits a binding once all that it uses has been visited; one from the outputs, once all that
//! uses it has been, and its order is turned round. Depth first, what the last visited binding made ready comes next;
//! breadth first, what has been ready for longest. Where several become ready at once, they keep their order.
//! A block in which memory is written over stays as it is. The order `latest` is no walk: see `latest.rs`.

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
    doc: "Orders the bindings of dataflow blocks by a walk over the graph",
    options: &[
        PassOption {
            name: "order",
            kind: OptionKind::Choice(&["depth-first", "breadth-first", "latest"]),
            default: "\"depth-first\"",
            doc: "Which of the bindings that are ready comes next: the newest or the oldest; or, walking nowhere, each \
                  call as late as that keeps nothing else in memory",
        },
        PassOption {
            name: "direction",
            kind: OptionKind::Choice(&["from-inputs", "from-outputs"]),
            default: "\"from-inputs\"",
            doc: "Where the walk begins",
        },
    ],
    run,
};

#[derive(Clone, Copy)]
struct Walk {
    depth_first: bool,
    from_inputs: bool,
}

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let order = context.options.text("order");
    let walk =
        Walk { depth_first: order == "depth-first", from_inputs: context.options.text("direction") == "from-inputs" };
    let walk = (order != "latest").then_some(walk);
    let writers = Writers::of(module, &Table);
    rewrite::relax_functions(module, |_, _, function| {
        let memory = MemoryDependences::of(function, &writers, &Table);
        let mut body = rewrite::take_body(function);
        sort(function, &memory, &function.lambda.params, &mut body, walk);
        function.lambda.body = body;
        Ok(())
    })
}

/// Sorts the dataflow blocks of a body with these parameters, and those of bodies nested in it. No walk: each call as late
/// as possible.
fn sort(function: &Function, memory: &MemoryDependences, params: &[Var], body: &mut Body, walk: Option<Walk>) {
    let order = walk.map(|walk| Graph::of(function, params, body).order(walk));
    for block in &mut body.blocks {
        if block.dataflow && !block.bindings.iter().any(|binding| memory.writes(binding.var)) {
            match &order {
                Some(order) => {
                    let place = |binding: &Binding| order.get(&binding.var).copied().unwrap_or(usize::MAX);
                    block.bindings.sort_by_key(place);
                }
                None => latest::sink(function, block),
            }
        }
        for binding in &mut block.bindings {
            let params = match &binding.value {
                Value::Function(lambda) => lambda.params.clone(),
                _ => Vec::new(),
            };
            binding.value.each_body_mut(&mut |nested| sort(function, memory, &params, nested, walk));
        }
    }
}

/// Parameters and bindings of a body as nodes, after one for all inputs and one for the results and what is unused.
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

    /// The place of each variable in the order of the walk.
    fn order(self, walk: Walk) -> FxHashMap<Var, usize> {
        let (start, mut next, before) = match walk.from_inputs {
            true => (INPUT, self.users, self.requirements),
            false => (OUTPUT, self.requirements, self.users),
        };
        if walk.depth_first && walk.from_inputs {
            // The last one that is put on the stack comes first.
            next.iter_mut().for_each(|users| users.make_contiguous().reverse());
        }
        let mut waiting: Vec<usize> = before.iter().map(VecDeque::len).collect();
        let mut ready = VecDeque::from([start]);
        let mut visited = Vec::with_capacity(next.len());
        while let Some(node) = if walk.depth_first { ready.pop_back() } else { ready.pop_front() } {
            visited.push(node);
            for other in &next[node] {
                waiting[*other] -= 1;
                if waiting[*other] == 0 {
                    ready.push_back(*other);
                }
            }
        }
        if !walk.from_inputs {
            visited.reverse();
        }
        let var = |node: &usize| node.checked_sub(FIRST).map(|i| self.vars[i]);
        visited.iter().filter_map(var).zip(0..).collect()
    }
}
