//! Extraction of graphs from Relax functions.

use super::{Graph, Kind, Node};
use hammock_compiler::value_type;
use hammock_ir::{
    Module, Name, Type,
    relax::{Binding, Body, Call, CallTir, Callee, Function, Operand, Value, Var},
};
use hammock_passes::editor::is_primitive;
use indexmap::IndexSet;
use std::collections::HashMap;

/// The nodes that a variable's value comes from; of a tuple, those of each member.
type Sources = Vec<Vec<usize>>;

pub fn graphs(modules: &[&Module]) -> Vec<Graph> {
    let Some(last) = modules.last() else { return Vec::new() };
    let functions = last.relax_functions().filter(|(_, function)| !is_primitive(function));
    functions.map(|(name, function)| graph(modules, name, function)).collect()
}

fn graph(modules: &[&Module], name: &Name, function: &Function) -> Graph {
    let graph = Graph { name: name.clone(), nodes: Vec::new(), edges: IndexSet::new(), kernels: Vec::new() };
    let mut extraction = Extraction { modules, graph };
    let params = &function.lambda.params;
    let values = params.iter().map(|param| {
        let info = &function.vars[*param];
        (*param, vec![vec![extraction.node(Kind::Parameter, &info.name, &info.ty, &[])]])
    });
    let values = values.collect();
    let scope = Scope { function, level: modules.len(), kernel: None };
    let result = extraction.body(&scope, &function.lambda.body, values);
    extraction.node(Kind::Result, "result", &function.lambda.ret_ty, &flat(&result));
    extraction.graph
}

/// A graph as it grows.
struct Extraction<'m> {
    modules: &'m [&'m Module],
    graph: Graph,
}

/// The function of the bindings.
struct Scope<'m> {
    function: &'m Function,
    /// Groups are in the modules before this one.
    level: usize,
    /// The kernel that computes the bindings.
    kernel: Option<usize>,
}

impl<'m> Extraction<'m> {
    /// Adds a node with edges from its operands.
    fn node(&mut self, kind: Kind, label: &str, ty: &Type, operands: &[usize]) -> usize {
        let node = self.graph.nodes.len();
        self.graph.nodes.push(Node { label: label.to_owned(), ty: value_type(ty).to_string(), kind });
        self.graph.edges.extend(operands.iter().map(|operand| (*operand, node)));
        node
    }

    /// Adds the nodes of a body; returns the sources of its result.
    fn body(&mut self, scope: &Scope<'m>, body: &'m Body, mut values: HashMap<Var, Sources>) -> Sources {
        for Binding { var, value, .. } in body.bindings() {
            let sources = self.value(scope, *var, value, &values);
            values.insert(*var, sources);
        }
        sources(&body.result, &values)
    }

    fn value(&mut self, scope: &Scope<'m>, var: Var, value: &'m Value, values: &HashMap<Var, Sources>) -> Sources {
        match value {
            Value::Operand(operand) | Value::MatchCast(operand, _) => sources(operand, values),
            Value::TupleGet(tuple, index) => {
                let mut members = sources(tuple, values);
                if members.len() > 1 && *index < members.len() { vec![members.swap_remove(*index)] } else { members }
            }
            Value::Call(call) => self.call(scope, var, call, values),
            Value::If { .. } => self.leaf(scope, var, "if", value, scope.kernel, values),
            Value::Function(_) => self.leaf(scope, var, "function", value, scope.kernel, values),
        }
    }

    fn call(&mut self, scope: &Scope<'m>, var: Var, call: &'m Call, values: &HashMap<Var, Sources>) -> Sources {
        let lowered = CallTir::of_kernel(call);
        let (name, args) = match (&call.callee, &lowered) {
            (_, Some(lowered)) => (lowered.kernel(), lowered.inputs()),
            (Callee::Global(name), None) => (Some(name), Some(call.args.as_slice())),
            _ => (None, None),
        };
        let group = name.and_then(|name| self.group(name, scope.level));
        let kernel = scope.kernel.or_else(|| {
            let name = name.filter(|_| lowered.is_some() || group.is_some())?;
            self.graph.kernels.push(name.clone());
            Some(self.graph.kernels.len() - 1)
        });
        if let (Some((level, function)), Some(args)) = (group, args) {
            let inner = Scope { function, level, kernel };
            let args = args.iter().map(|arg| sources(arg, values));
            let values = function.lambda.params.iter().copied().zip(args).collect();
            return self.body(&inner, &function.lambda.body, values);
        }
        let label = match &call.callee {
            Callee::Op(op) => name.map_or(*op, Name::as_str),
            Callee::Global(name) | Callee::Extern(name) => name.as_str(),
            Callee::Var(var) => scope.function.vars[*var].name.as_str(),
        };
        let mut operands: Vec<usize> = call.args.iter().flat_map(|arg| flat(&sources(arg, values))).collect();
        if let Callee::Var(callee) = &call.callee {
            operands.extend(values.get(callee).iter().flat_map(|sources| flat(sources)));
        }
        vec![vec![self.node(Kind::Operator(kernel), label, scope.function.ty(var), &operands)]]
    }

    /// A group of that name, with the module that has it, one before `level`.
    fn group(&self, name: &str, level: usize) -> Option<(usize, &'m Function)> {
        let groups = self.modules[..level].iter().enumerate().rev();
        groups.filter_map(|(i, module)| Some((i, module.relax(name)?))).find(|(_, group)| is_primitive(group))
    }

    /// Adds a value with bodies of its own as one node.
    fn leaf(
        &mut self,
        scope: &Scope<'m>,
        var: Var,
        label: &str,
        value: &Value,
        kernel: Option<usize>,
        values: &HashMap<Var, Sources>,
    ) -> Sources {
        let mut operands = Vec::new();
        value.each_use(&mut |used| operands.extend(values.get(&used).iter().flat_map(|sources| flat(sources))));
        vec![vec![self.node(Kind::Operator(kernel), label, scope.function.ty(var), &operands)]]
    }
}

/// The sources of an operand.
fn sources(operand: &Operand, values: &HashMap<Var, Sources>) -> Sources {
    match operand {
        Operand::Var(var) => values.get(var).cloned().unwrap_or_default(),
        Operand::Tuple(members) => members.iter().map(|member| flat(&sources(member, values))).collect(),
        _ => Vec::new(),
    }
}

fn flat(sources: &Sources) -> Vec<usize> {
    sources.iter().flatten().copied().collect()
}
