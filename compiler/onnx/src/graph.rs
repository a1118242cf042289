//! A graph becomes a function: names become values, nodes calls.

use crate::{
    ImportOptions, Imported,
    attributes::Attributes,
    build::Builder,
    listing::{Listing, brief, node_name},
    model::{Model, damaged, domain, version},
    names::{self, Names},
    node::Node,
    ops,
    order::sorted,
    schema::{FunctionProto, GraphProto, NodeProto, OperatorSetIdProto, TensorProto},
    value::{Outputs, Value},
};
use hammock_diagnostics::{Diagnostic, Span, codes};
use hammock_ir::{
    PrimExpr, Tensor,
    relax::{InferError, Operand},
};
use rustc_hash::{FxHashMap, FxHashSet};

/// The most nodes that are imported, those of functions as often as they are called.
const MOST_NODES: usize = 200_000;

/// The most errors that are reported.
const MOST_ERRORS: usize = 20;

/// What imports a model.
pub struct Importer<'m> {
    /// The file.
    pub model: &'m Model,
    /// What to do with weights.
    pub options: &'m ImportOptions,
    /// The function under construction.
    pub build: Builder,
    /// Names of parameters.
    pub names: Names,
    /// Sizes that the model names.
    pub symbols: FxHashMap<String, PrimExpr>,
    /// Names of the parameters for inputs, in order.
    pub parameters: Vec<String>,
    /// Parameters for inputs with a default value.
    pub defaults: Vec<String>,
    /// Tensors that were read, by their messages.
    pub tensors: FxHashMap<*const TensorProto, Tensor>,
    frames: Vec<Frame<'m>>,
    /// Functions whose bodies are being imported.
    active: FxHashSet<*const FunctionProto>,
    listing: Listing,
    diagnostics: Vec<Diagnostic>,
    nodes_left: usize,
}

/// Names that are visible at once.
#[derive(Default)]
struct Frame<'m> {
    values: FxHashMap<&'m str, Value>,
    /// Inputs of a function that its call leaves out.
    omitted: FxHashSet<&'m str>,
    opsets: &'m [OperatorSetIdProto],
    /// What the call of a function gives for the function's attributes.
    attrs: Attributes<'m>,
    /// The function that this is the body of: it sees no names around it.
    function: Option<&'m FunctionProto>,
}

/// What importing a node comes to.
enum Step<'m> {
    Results(Outputs),
    /// The node calls this function, whose names are visible now.
    Call(&'m FunctionProto),
}

/// A node that calls a function.
struct FunctionCall<'m> {
    proto: &'m NodeProto,
    /// The line of the node around it.
    outer: Span,
    /// Variables before it.
    vars_before: usize,
}

/// A graph or the body of a function, being imported.
struct FunctionBody<'m> {
    nodes: std::vec::IntoIter<&'m NodeProto>,
    /// The call that it takes the place of.
    call: Option<FunctionCall<'m>>,
}

impl<'m> Importer<'m> {
    /// Nothing is imported yet.
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
            frames: vec![frame],
            active: FxHashSet::default(),
            listing: Listing::default(),
            diagnostics: Vec::new(),
            nodes_left: MOST_NODES,
        }
    }

    /// Imports the model's graph as the function `main`.
    pub fn import(mut self, name: &str) -> Result<Imported, Box<Errors>> {
        let weights = self.model.graph().map_err(|error| self.report(error)).ok().map(|graph| self.main(graph));
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
        if self.diagnostics.len() < MOST_ERRORS {
            self.diagnostics.push(diagnostic);
        }
    }

    /// Gives a name a value; each name has one.
    pub fn define(&mut self, name: &'m str, value: Value) {
        let Some(frame) = self.frames.last_mut() else { return };
        if !name.is_empty() && frame.values.insert(name, value).is_some() {
            let error = damaged(format!("the name `{}` is defined twice", brief(name)));
            self.report(error.label(self.build.span, ""));
        }
    }

    /// The value of a name.
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

    /// True if a name is an input of the function around it that the function's call leaves out.
    fn is_omitted(&self, name: &str) -> bool {
        let function = self.frames.iter().rev().find(|frame| frame.function.is_some());
        function.is_some_and(|frame| frame.omitted.contains(name))
    }

    /// The value of a graph's output.
    pub fn output(&mut self, name: &str) -> Value {
        match self.lookup(name) {
            Some(value) => value.clone(),
            // It may be missing only because of what was reported.
            None if !self.diagnostics.is_empty() => Value::Broken,
            None => {
                self.report(damaged(format!("the output `{}` of the graph is computed by no node", brief(name))));
                Value::Broken
            }
        }
    }

    /// Imports the nodes of a graph, with the functions that they call: these in a loop, since functions that call each
    /// other may be as many as there are nodes.
    pub fn nodes(&mut self, nodes: &'m [NodeProto]) {
        let mut bodies = vec![FunctionBody { nodes: self.sorted(nodes), call: None }];
        while let Some(body) = bodies.last_mut() {
            if let Some(node) = body.nodes.next() {
                if let Some((call, nodes)) = self.node(node) {
                    bodies.push(FunctionBody { nodes: self.sorted(nodes), call: Some(call) });
                }
            } else if let Some(call) = bodies.pop().and_then(|body| body.call) {
                self.finish_call(call);
            }
        }
    }

    fn sorted(&mut self, nodes: &'m [NodeProto]) -> std::vec::IntoIter<&'m NodeProto> {
        let nodes = sorted(nodes).unwrap_or_else(|cycle| {
            let shown: Vec<String> = cycle.iter().take(6).map(|node| node_name(node)).collect();
            let message = format!("nodes need each other's results: {}", shown.join(", "));
            self.report(damaged(message).help("a graph has no cycles; loops are operators of their own"));
            Vec::new()
        });
        nodes.into_iter()
    }

    /// Imports a node, or begins to if it calls a function: gives the call then, and the nodes that are next.
    fn node(&mut self, proto: &'m NodeProto) -> Option<(FunctionCall<'m>, &'m [NodeProto])> {
        if self.nodes_left == 0 {
            return None;
        }
        self.nodes_left -= 1;
        if self.nodes_left == 0 {
            self.report(damaged(format!("the model has more than {MOST_NODES} nodes, those of functions counted")));
            return None;
        }
        let outer = self.build.span;
        self.build.span = self.listing.add(proto, self.frames.len() - 1);
        let call = FunctionCall { proto, outer, vars_before: self.build.function.vars.len() };
        let results = match self.imported(proto) {
            Ok(Step::Call(function)) => return Some((call, &function.node)),
            Ok(Step::Results(results)) => Ok(results),
            Err(error) => Err(error),
        };
        self.define_outputs(call, results);
        None
    }

    /// Ends the body of a function with its results.
    fn finish_call(&mut self, call: FunctionCall<'m>) {
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
                    self.name(name, &value, vars_before);
                    self.define(name, value);
                }
            }
            Err(error) => {
                error.into_iter().for_each(|error| self.refuse(proto, error));
                proto.output.iter().for_each(|name| self.define(name, Value::Broken));
            }
        }
        self.build.span = outer;
    }

    /// The results of a node; no error is given where one was reported already.
    fn imported(&mut self, proto: &'m NodeProto) -> Result<Step<'m>, Option<InferError>> {
        let inputs = self.inputs(proto)?;
        let frame = self.frames.last().ok_or(None)?;
        let attribute = |a: &'m crate::schema::AttributeProto| match a.ref_attr_name.as_str() {
            "" => Some((a.name.as_str(), a)),
            outer => Some((a.name.as_str(), frame.attrs.get(outer)?)),
        };
        let attrs = Attributes(proto.attribute.iter().filter_map(attribute).collect());
        if let Some(function) = self.model.function(proto) {
            return self.begin_call(function, inputs, attrs).map(|()| Step::Call(function));
        }
        let domain = domain(&proto.domain);
        let opset = version(frame.opsets, domain).or_else(|| (!domain.is_empty()).then_some(1));
        let unknown = || InferError::new("the model does not say which version of its domain's operators it uses");
        let opset = opset.ok_or_else(unknown)?;
        let op = ops::find(domain, &proto.op_type).ok_or_else(|| InferError::new("it cannot be imported"))?;
        ops::known_attributes::expect_known(op, opset, proto.attribute.iter().map(|a| a.name.as_str()))?;
        let outputs = proto.output.len();
        let narrow = inputs.iter().flatten().find_map(Value::narrow);
        let mut node = Node { importer: self, attrs, opset, inputs, outputs };
        let Outputs(mut values) = (op.import)(&mut node)?;
        if let Some(element) = narrow {
            values = ops::narrow(op, values, element)?;
        }
        match proto.output.get(values.len()..).unwrap_or(&[]).iter().find(|name| !name.is_empty()) {
            Some(name) => Err(Some(InferError::new(format!("its output `{}` is not supported", brief(name))))),
            None => Ok(Step::Results(Outputs(values))),
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

    /// Makes the names of a function visible, whose body is imported in place of its call.
    fn begin_call(
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

    /// Imports a graph of a node's attribute, in place, with values for its inputs; it sees the names around it.
    pub fn inner(&mut self, graph: &'m GraphProto, inputs: Vec<Value>) -> Result<Vec<Value>, InferError> {
        let before = self.diagnostics.len();
        // Each turn of a loop counts, also that of a body without nodes.
        self.nodes_left = self.nodes_left.saturating_sub(1).max(1);
        let Some(outer) = self.frames.last() else { return Ok(Vec::new()) };
        let (opsets, attrs) = (outer.opsets, outer.attrs.clone());
        let values = graph.input.iter().map(|input| input.name.as_str()).zip(inputs).collect();
        self.frames.push(Frame { values, opsets, attrs, ..Frame::default() });
        self.initializers(graph, &FxHashSet::default(), &mut None);
        self.nodes(&graph.node);
        let results = graph.output.iter().map(|output| self.output(&output.name)).collect();
        self.frames.pop();
        if self.diagnostics.len() > before { Err(InferError::new("its graph has an error")) } else { Ok(results) }
    }

    /// Names a variable that a node has made after the node's output.
    fn name(&mut self, name: &str, value: &Value, before: usize) {
        if let Value::Operand(Operand::Var(var)) | Value::Narrow(Operand::Var(var), _) = value
            && var.as_u32() as usize >= before
            && !name.is_empty()
        {
            self.build.function.vars[*var].name = names::of_binding(name).into();
        }
    }

    fn refuse(&mut self, proto: &NodeProto, error: InferError) {
        let message = format!("node {} ({}): {}", node_name(proto), brief(&proto.op_type), error.message);
        let diagnostic = Diagnostic::error(codes::ONNX_NODE, message).label(self.build.span, "");
        let diagnostic = error.help.into_iter().fold(diagnostic, Diagnostic::help);
        self.report(diagnostic);
    }

    /// Where nothing of the model is meant.
    pub fn nowhere(&mut self) {
        self.build.span = Span::NONE;
    }
}

/// What is wrong with a model, and the listing that it is said of.
#[derive(Debug)]
pub struct Errors {
    /// At least one error.
    pub diagnostics: Vec<Diagnostic>,
    /// The nodes that were looked at.
    pub source: Option<hammock_diagnostics::SourceFile>,
}

impl From<Diagnostic> for Errors {
    fn from(diagnostic: Diagnostic) -> Self {
        Errors { diagnostics: vec![diagnostic], source: None }
    }
}
