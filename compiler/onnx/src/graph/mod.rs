//! Import of graphs: names become values, nodes become calls.

mod checkpoint;
pub mod looping;
pub mod node;
mod size_names;

use crate::{
    ImportOptions, Imported,
    attributes::Attributes,
    build::Builder,
    listing::{Listing, brief, node_name},
    model::{Model, damaged, domain, version},
    names::{self, Names},
    ops,
    schema::{FunctionProto, GraphProto, NodeProto, OperatorSetIdProto, TensorProto},
    topological_sort::topological_sort,
    value::{Outputs, Value},
};
use hammock_diagnostics::{Diagnostic, Span, codes};
use hammock_ir::{
    PrimExpr, Tensor,
    relax::{InferError, Operand},
};
use node::Node;
use rustc_hash::{FxHashMap, FxHashSet};
use size_names::SizeNames;

/// Maximum number of imported nodes; nodes of functions count once per call.
const MAX_NODES: usize = 200_000;

/// Maximum number of reported errors.
const MAX_ERRORS: usize = 20;

/// Importer of a model.
pub struct Importer<'m> {
    /// The decoded file.
    pub model: &'m Model,
    /// Options of the import.
    pub options: &'m ImportOptions,
    /// The function under construction.
    pub build: Builder,
    /// Names of parameters and symbolic dimensions.
    pub names: Names,
    /// Symbolic dimensions by their names in the model.
    pub symbols: FxHashMap<String, PrimExpr>,
    /// Names of the parameters for inputs, in order.
    pub parameters: Vec<String>,
    /// Names of the parameters for inputs with a default value.
    pub defaults: Vec<String>,
    /// Tensors read so far, by the address of their messages.
    pub tensors: FxHashMap<*const TensorProto, Tensor>,
    /// Number of nodes with random numbers that have no seed.
    pub unseeded_nodes: u64,
    size_names: SizeNames<'m>,
    frames: Vec<Frame<'m>>,
    /// Functions whose bodies are being imported.
    active: FxHashSet<*const FunctionProto>,
    listing: Listing,
    diagnostics: Vec<Diagnostic>,
    nodes_left: usize,
    /// State of loops whose size changes, by their bodies: values and axes.
    dynamic_axes: FxHashMap<*const GraphProto, Vec<(usize, usize)>>,
    /// Number of loops around the node.
    loop_depth: usize,
}

/// Scope of names.
#[derive(Default)]
struct Frame<'m> {
    values: FxHashMap<&'m str, Value>,
    /// Inputs of the function that its call omits.
    omitted: FxHashSet<&'m str>,
    opsets: &'m [OperatorSetIdProto],
    /// Values of the function's attributes.
    attrs: Attributes<'m>,
    /// The function whose body this is: outer names are not visible in it.
    function: Option<&'m FunctionProto>,
}

/// Outcome of importing a node.
enum NodeImport<'m> {
    Results(Outputs),
    /// The node calls this function, whose scope has been entered.
    Call(&'m FunctionProto),
}

/// Call of a function.
struct FunctionCall<'m> {
    proto: &'m NodeProto,
    /// Span of the enclosing node.
    outer: Span,
    /// Number of variables before the call.
    vars_before: usize,
}

/// Graph or function body that is being imported.
struct FunctionBody<'m> {
    nodes: std::vec::IntoIter<&'m NodeProto>,
    /// The call that is being inlined; `None` for a graph.
    call: Option<FunctionCall<'m>>,
}

impl<'m> Importer<'m> {
    /// Creates an importer.
    pub fn new(model: &'m Model, options: &'m ImportOptions) -> Self {
        let opsets = &model.proto.opset_import;
        let frame = Frame { opsets, ..Frame::default() };
        Importer {
            model,
            options,
            build: Builder::new(),
            names: Names::default(),
            symbols: FxHashMap::default(),
            parameters: Vec::new(),
            defaults: Vec::new(),
            tensors: FxHashMap::default(),
            unseeded_nodes: 0,
            size_names: SizeNames::default(),
            frames: vec![frame],
            active: FxHashSet::default(),
            listing: Listing::default(),
            diagnostics: Vec::new(),
            nodes_left: MAX_NODES,
            dynamic_axes: FxHashMap::default(),
            loop_depth: 0,
        }
    }

    /// Imports the model's graph as the function `main`.
    pub fn import(mut self, name: &str) -> Result<Imported, Box<Errors>> {
        let weights = self.model.graph().map_err(|error| self.report(error)).ok().map(|graph| self.import_main(graph));
        let source = match self.listing.into_source(name) {
            Ok(source) => Some(source),
            Err(error) => {
                self.diagnostics.push(*error);
                None
            }
        };
        match (self.diagnostics.is_empty(), weights, source) {
            (true, Some(weights), Some(source)) => {
                Ok(Imported { module: self.build.module, source, weights, defaults: self.defaults })
            }
            (_, _, source) => Err(Box::new(Errors { diagnostics: self.diagnostics, source })),
        }
    }

    /// Reports an error about the model.
    pub fn report(&mut self, diagnostic: Diagnostic) {
        if self.diagnostics.len() < MAX_ERRORS {
            self.diagnostics.push(diagnostic);
        }
    }

    /// Defines a name; a second definition is an error.
    pub fn define(&mut self, name: &'m str, value: Value) {
        let Some(frame) = self.frames.last_mut() else { return };
        if !name.is_empty() && frame.values.insert(name, value).is_some() {
            let error = damaged(format!("the name `{}` is defined twice", brief(name)));
            self.report(error.label(self.build.span, ""));
        }
    }

    /// Returns the value of a name.
    pub fn lookup(&self, name: &str) -> Option<&Value> {
        for frame in self.frames.iter().rev() {
            match frame.values.get(name) {
                Some(value) => return Some(value),
                None if frame.function.is_some() => return None,
                None => {}
            }
        }
        None
    }

    /// True if a name is an input of the enclosing function that the call omits.
    fn is_omitted(&self, name: &str) -> bool {
        let function = self.frames.iter().rev().find(|frame| frame.function.is_some());
        function.is_some_and(|frame| frame.omitted.contains(name))
    }

    /// Returns the value of a graph output.
    pub fn output(&mut self, name: &str) -> Value {
        match self.lookup(name) {
            Some(value) => value.clone(),
            // It may be missing because of an error that was reported already.
            None if !self.diagnostics.is_empty() => Value::Broken,
            None => {
                self.report(damaged(format!("the output `{}` of the graph is computed by no node", brief(name))));
                Value::Broken
            }
        }
    }

    /// Imports the nodes of a graph and inlines the functions that they call. Iterative, since chains of calls may be
    /// as long as there are nodes.
    pub fn import_nodes(&mut self, nodes: &'m [NodeProto]) {
        let mut bodies = vec![FunctionBody { nodes: self.sort_nodes(nodes), call: None }];
        while let Some(body) = bodies.last_mut() {
            if let Some(node) = body.nodes.next() {
                if let Some((call, nodes)) = self.import_node(node) {
                    bodies.push(FunctionBody { nodes: self.sort_nodes(nodes), call: Some(call) });
                }
            } else if let Some(call) = bodies.pop().and_then(|body| body.call) {
                self.leave_function(call);
            }
        }
    }

    fn sort_nodes(&mut self, nodes: &'m [NodeProto]) -> std::vec::IntoIter<&'m NodeProto> {
        let nodes = topological_sort(nodes).unwrap_or_else(|cycle| {
            let shown: Vec<String> = cycle.iter().take(6).map(|node| node_name(node)).collect();
            let message = format!("nodes need each other's results: {}", shown.join(", "));
            self.report(damaged(message).help("a graph has no cycles; loops are operators of their own"));
            Vec::new()
        });
        nodes.into_iter()
    }

    /// Imports a node. If it calls a function, enters it and returns the call with the function's nodes.
    fn import_node(&mut self, proto: &'m NodeProto) -> Option<(FunctionCall<'m>, &'m [NodeProto])> {
        if self.nodes_left == 0 {
            return None;
        }
        self.nodes_left -= 1;
        if self.nodes_left == 0 {
            self.report(damaged(format!("the model has more than {MAX_NODES} nodes, those of functions counted")));
            return None;
        }
        let outer = self.build.span;
        self.build.span = self.listing.add(proto, self.frames.len() - 1);
        let call = FunctionCall { proto, outer, vars_before: self.build.function.vars.len() };
        let results = match self.node_results(proto) {
            Ok(NodeImport::Call(function)) => return Some((call, &function.node)),
            Ok(NodeImport::Results(results)) => Ok(results),
            Err(error) => Err(error),
        };
        self.define_outputs(call, results);
        None
    }

    /// Leaves a function and defines the outputs of its call.
    fn leave_function(&mut self, call: FunctionCall<'m>) {
        let function = self.frames.last().and_then(|frame| frame.function);
        let results = function.map(|f| f.output.iter().map(|name| self.output(name)).collect()).unwrap_or_default();
        self.frames.pop();
        self.active.remove(&function.map_or(std::ptr::null(), std::ptr::from_ref));
        self.define_outputs(call, Ok(Outputs(results)));
    }

    fn define_outputs(&mut self, call: FunctionCall<'m>, results: Result<Outputs, Option<InferError>>) {
        let FunctionCall { proto, outer, vars_before } = call;
        match results {
            Ok(Outputs(values)) => {
                for (name, value) in proto.output.iter().zip(values) {
                    self.name_variable(name, &value, vars_before);
                    self.name_sizes(name, &value, vars_before);
                    self.define(name, value);
                }
            }
            Err(error) => {
                error.into_iter().for_each(|error| self.report_node_error(proto, error));
                proto.output.iter().for_each(|name| self.define(name, Value::Broken));
            }
        }
        self.build.span = outer;
    }

    /// Returns the results of a node; `Err(None)` if the error was reported already.
    fn node_results(&mut self, proto: &'m NodeProto) -> Result<NodeImport<'m>, Option<InferError>> {
        let inputs = self.inputs(proto)?;
        let frame = self.frames.last().ok_or(None)?;
        let attribute = |a: &'m crate::schema::AttributeProto| match a.ref_attr_name.as_str() {
            "" => Some((a.name.as_str(), a)),
            outer => Some((a.name.as_str(), frame.attrs.get(outer)?)),
        };
        let attrs = Attributes(proto.attribute.iter().filter_map(attribute).collect());
        if let Some(function) = self.model.function(proto) {
            return self.enter_function(function, inputs, attrs).map(|()| NodeImport::Call(function));
        }
        let domain = domain(&proto.domain);
        let opset = version(frame.opsets, domain).or_else(|| (!domain.is_empty()).then_some(1));
        let unknown = || InferError::new("the model does not say which version of its domain's operators it uses");
        let opset = opset.ok_or_else(unknown)?;
        let op = ops::find(domain, &proto.op_type).ok_or_else(|| InferError::new("it cannot be imported"))?;
        ops::attribute_schema::check_attributes(op, opset, proto.attribute.iter().map(|a| a.name.as_str()))?;
        let outputs = proto.output.len();
        let narrow = inputs.iter().flatten().find_map(Value::narrow);
        let import = op.import_of(&inputs);
        let mut node = Node { importer: self, attrs, opset, inputs, outputs };
        let Outputs(mut values) = import(&mut node)?;
        if let Some(element) = narrow {
            values = ops::narrow(op, values, element)?;
        }
        match proto.output.get(values.len()..).unwrap_or(&[]).iter().find(|name| !name.is_empty()) {
            Some(name) => Err(Some(InferError::new(format!("its output `{}` is not supported", brief(name))))),
            None => Ok(NodeImport::Results(Outputs(values))),
        }
    }

    fn inputs(&mut self, proto: &'m NodeProto) -> Result<Vec<Option<Value>>, Option<InferError>> {
        let mut inputs = Vec::with_capacity(proto.input.len());
        for name in &proto.input {
            inputs.push(match self.lookup(name) {
                _ if name.is_empty() => None,
                Some(Value::Broken) => return Err(None),
                Some(value) => Some(value.clone()),
                None if self.is_omitted(name) => None,
                None => return Err(Some(InferError::new(format!("there is no value `{}`", brief(name))))),
            });
        }
        Ok(inputs)
    }

    /// Enters the scope of a function that is to be inlined.
    fn enter_function(
        &mut self,
        function: &'m FunctionProto,
        inputs: Vec<Option<Value>>,
        attrs: Attributes<'m>,
    ) -> Result<(), Option<InferError>> {
        if !self.active.insert(function) {
            return Err(Some(InferError::new("the function calls itself")));
        }
        let given = attrs.0.into_iter();
        let defaults = function.attribute_proto.iter().map(|a| (a.name.as_str(), a));
        let attrs = Attributes(given.chain(defaults).collect());
        let given = inputs.into_iter().chain(std::iter::repeat(None));
        let (mut values, mut omitted) = (FxHashMap::default(), FxHashSet::default());
        for (name, value) in function.input.iter().zip(given) {
            match value {
                Some(value) => drop(values.insert(name.as_str(), value)),
                None => drop(omitted.insert(name.as_str())),
            }
        }
        let opsets =
            if function.opset_import.is_empty() { &self.model.proto.opset_import } else { &function.opset_import };
        self.frames.push(Frame { values, omitted, opsets, attrs, function: Some(function) });
        Ok(())
    }

    /// Imports a subgraph inline, with values for its inputs; outer names are visible in it.
    pub fn import_subgraph(&mut self, graph: &'m GraphProto, inputs: Vec<Value>) -> Result<Vec<Value>, InferError> {
        let before = self.diagnostics.len();
        // Each iteration of a loop counts, even if its body has no nodes.
        self.nodes_left = self.nodes_left.saturating_sub(1).max(1);
        let Some(outer) = self.frames.last() else { return Ok(Vec::new()) };
        let (opsets, attrs) = (outer.opsets, outer.attrs.clone());
        let values = graph.input.iter().map(|input| input.name.as_str()).zip(inputs).collect();
        self.frames.push(Frame { values, opsets, attrs, ..Frame::default() });
        self.initializers(graph, &FxHashSet::default(), &mut None);
        self.import_nodes(&graph.node);
        let results = graph.output.iter().map(|output| self.output(&output.name)).collect();
        self.frames.pop();
        if self.diagnostics.len() > before { Err(InferError::new("its graph has an error")) } else { Ok(results) }
    }

    /// Names a variable that a node created after the node's output.
    fn name_variable(&mut self, name: &str, value: &Value, before: usize) {
        if let Value::Operand(Operand::Var(var)) | Value::Narrow(Operand::Var(var), _) = value
            && var.as_u32() as usize >= before
            && !name.is_empty()
        {
            self.build.function.vars[*var].name = names::binding_name(name).into();
        }
    }

    fn report_node_error(&mut self, proto: &NodeProto, error: InferError) {
        let message = format!("node {} ({}): {}", node_name(proto), brief(&proto.op_type), error.message);
        let diagnostic = Diagnostic::error(codes::ONNX_NODE, message).label(self.build.span, "");
        let diagnostic = error.help.into_iter().fold(diagnostic, Diagnostic::help);
        self.report(diagnostic);
    }

    /// Clears the span, for bindings that belong to no node.
    pub fn clear_span(&mut self) {
        self.build.span = Span::NONE;
    }
}

/// Errors in a model, and the listing that their spans refer to.
#[derive(Debug)]
pub struct Errors {
    /// The errors; never empty.
    pub diagnostics: Vec<Diagnostic>,
    /// Listing of the visited nodes.
    pub source: Option<hammock_diagnostics::SourceFile>,
}

impl From<Diagnostic> for Errors {
    fn from(diagnostic: Diagnostic) -> Self {
        Errors { diagnostics: vec![diagnostic], source: None }
    }
}
