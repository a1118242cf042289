//! Import of the model's main graph: inputs and weights become parameters, outputs the result.

use crate::{
    Weights, dtype,
    graph::Importer,
    listing::brief,
    model::damaged,
    schema::{DimensionValue, GraphProto, TensorProto, TypeProto, ValueInfoProto, type_proto},
    sparse, tensor,
    value::{
        Value,
        sequence::{Element, OptionalType, OptionalValue, Sequence},
        strings::Strings,
    },
};
use hammock_diagnostics::{Diagnostic, codes};
use hammock_ir::{
    Function, PrimExpr, Tensor, TensorShape, TensorType, Type, prim,
    relax::{Block, Body, Constant, Operand, Value as Bound},
};
use hammock_tools::ElementType;
use rustc_hash::FxHashSet;

/// Maximum number of elements of a weight that stays a constant even if weights are parameters: operators may need its
/// value.
const MAX_CONSTANT_INTEGERS: usize = 1024;
const MAX_CONSTANT_FLOATS: usize = 8;

impl<'m> Importer<'m> {
    /// Imports the graph as `main`; returns the weights that are parameters.
    pub(crate) fn import_main(&mut self, graph: &'m GraphProto) -> Vec<(String, Tensor)> {
        let overridden = self.overridden_inputs(graph);
        let initializers = initializer_names(graph).filter(|name| !overridden.contains(name)).collect();
        self.name_parameters(graph, &initializers);
        let inputs = graph.input.iter().map(|input| input.name.as_str());
        self.defaults =
            inputs.filter(|name| overridden.contains(name)).map(|name| self.names.intern_parameter(name)).collect();
        self.apply_shapes(graph);
        self.declare_sizes(graph);
        // If weights are parameters, an input with a default value is one of them.
        let with_defaults = self.options.weights == Weights::Parameters;
        let is_input = |name: &str| !(initializers.contains(name) || with_defaults && overridden.contains(name));
        let inputs = || graph.input.iter().filter(|input| is_input(&input.name));
        self.parameters = inputs().map(|input| self.names.intern_parameter(&input.name)).collect();
        for input in inputs() {
            let value = match self.input_value(input) {
                Ok(value) => value,
                Err(error) => {
                    self.report(error);
                    Value::Broken
                }
            };
            self.define(&input.name, value);
        }
        let inputs = self.build.function.lambda.params.len();
        let mut weights = with_defaults.then(Vec::new);
        self.initializers(graph, &overridden, &mut weights);
        self.import_nodes(&graph.node);
        self.clear_span();
        let results: Vec<Value> = graph.output.iter().map(|output| self.checked_output(output)).collect();
        let weights = weights.unwrap_or_default();
        if !results.iter().any(|value| matches!(value, Value::Broken)) {
            self.finish_function(&results, (!weights.is_empty()).then_some(inputs));
        }
        weights
    }

    /// Reserves the names of inputs, then of weights, before dimensions and results of nodes get names.
    fn name_parameters(&mut self, graph: &GraphProto, own: &FxHashSet<&str>) {
        let inputs = graph.input.iter().map(|input| input.name.as_str()).filter(|name| !own.contains(name));
        let weights = graph.initializer.iter().filter(|_| self.options.weights == Weights::Parameters);
        for name in inputs.chain(weights.map(|weight| weight.name.as_str())) {
            self.names.intern_parameter(name);
        }
    }

    fn new_parameter(&mut self, name: &str, ty: Type) -> Operand {
        let name = self.names.intern_parameter(name);
        let var = self.build.function.new_var(name, ty, false, hammock_diagnostics::Span::NONE);
        self.build.function.lambda.params.push(var);
        Operand::Var(var)
    }

    fn parameter(&mut self, name: &str, ty: Type, element: ElementType) -> Value {
        Value::of(self.new_parameter(name, ty), element)
    }

    /// Defines an input as a parameter: a tensor, or a sequence or optional value, whose types are checked where their
    /// tensors are used.
    fn input_value(&mut self, input: &'m ValueInfoProto) -> Result<Value, Diagnostic> {
        let element = |ty: Option<&TypeProto>, of: &str| {
            Element::declared(ty).map_err(|what| unsupported(input, &format!("{of} of {what}")))
        };
        let nested = |ty: &'m type_proto::Element| ty.elem_type.as_ref().and_then(|ty| ty.value.as_ref());
        Ok(match input.r#type.as_ref().and_then(|ty| ty.value.as_ref()) {
            Some(type_proto::Value::Sequence(sequence)) => {
                let element = element(sequence.elem_type.as_ref(), "a sequence")?;
                Value::Sequence(Sequence::Dynamic(self.new_parameter(&input.name, Type::Any), element))
            }
            Some(type_proto::Value::Optional(optional)) => {
                let ty = match nested(optional) {
                    Some(type_proto::Value::Sequence(sequence)) => {
                        OptionalType::Sequence(element(sequence.elem_type.as_ref(), "an optional sequence")?)
                    }
                    _ => OptionalType::Tensor(element(optional.elem_type.as_ref(), "an optional")?),
                };
                Value::Optional(OptionalValue::Dynamic(self.new_parameter(&input.name, Type::Any), ty))
            }
            Some(type_proto::Value::Tensor(tensor)) if tensor.elem_type == dtype::STRING => {
                let dims = self.input_dims(input)?;
                let known = dims.into_iter().map(|dim| dim.as_int().map(PrimExpr::int64)).collect();
                Value::Strings(Strings::Dynamic(self.new_parameter(&input.name, Type::Any), known))
            }
            _ => {
                let (ty, element) = self.parameter_type(input)?;
                self.parameter(&input.name, ty, element)
            }
        })
    }

    fn parameter_type(&mut self, input: &'m ValueInfoProto) -> Result<(Type, ElementType), Diagnostic> {
        let tensor = match &input.r#type {
            Some(TypeProto { value: Some(type_proto::Value::Tensor(tensor)) }) => tensor,
            Some(TypeProto { value: Some(type_proto::Value::Sequence(_)) }) => {
                return Err(unsupported(input, "a sequence with a default value"));
            }
            Some(TypeProto { value: Some(type_proto::Value::Optional(_)) }) => {
                return Err(unsupported(input, "optional with a default value"));
            }
            Some(TypeProto { value: Some(type_proto::Value::Map(_)) }) => return Err(unsupported(input, "a map")),
            Some(TypeProto { value: Some(_) }) => return Err(unsupported(input, "a sparse tensor")),
            _ => return Err(damaged(format!("the input `{}` has no type", brief(&input.name)))),
        };
        let number = i64::from(tensor.elem_type);
        let element = ElementType::of(number);
        let element = element.ok_or_else(|| unsupported(input, &format!("a tensor of {}", dtype::name(number))))?;
        let dtype = element.held;
        let dims = self.input_dims(input)?.into();
        let ty = Type::from(TensorType { shape: TensorShape::Known(dims), dtype: Some(dtype), vdevice: None });
        match ty.excess() {
            Some(excess) => Err(damaged(format!("the input `{}` is too large: {excess}", brief(&input.name)))),
            None => Ok((ty, element)),
        }
    }

    /// Returns a dimension: a constant, or a variable with the model's name for it.
    pub(crate) fn dimension(&mut self, value: Option<&DimensionValue>, input: &str, axis: usize) -> PrimExpr {
        let name = match value {
            Some(DimensionValue::DimValue(size)) if *size >= 0 => return PrimExpr::int64(*size),
            Some(DimensionValue::DimParam(name)) if !name.is_empty() => name.clone(),
            _ => format!("{input}_{axis}"),
        };
        let names = &mut self.names;
        let named = || prim::Var::int64(names.add_size(&name)).expr();
        self.symbols.entry(name.clone()).or_insert_with(named).clone()
    }

    /// Defines the initializers of a graph: constants, or parameters that are collected in `weights`. Overridden
    /// defaults are defined as inputs already, or are parameters.
    pub(crate) fn initializers(
        &mut self,
        graph: &'m GraphProto,
        overridden: &FxHashSet<&str>,
        weights: &mut Option<Vec<(String, Tensor)>>,
    ) {
        let are_inputs = weights.is_none();
        let is_defined = |name: &str| are_inputs && overridden.contains(name);
        for proto in graph.initializer.iter().filter(|proto| !is_defined(&proto.name)) {
            if proto.data_type == dtype::STRING && !overridden.contains(proto.name.as_str()) {
                let strings = Strings::read(proto).map(Value::Strings);
                let value = strings.unwrap_or_else(|why| {
                    self.report(bad_tensor(proto, &why.message));
                    Value::Broken
                });
                self.define(&proto.name, value);
                continue;
            }
            let value = match self.read_tensor(proto) {
                Ok(tensor) if overridden.contains(proto.name.as_str()) => {
                    self.default_value(graph, proto, tensor, weights)
                }
                Ok(tensor) => self.weight_value(proto, tensor, weights),
                Err(why) => {
                    self.report(bad_tensor(proto, &why));
                    Value::Broken
                }
            };
            self.define(&proto.name, value);
        }
        for proto in graph.sparse_initializer.iter().filter(|proto| !is_defined(sparse::name(proto))) {
            let value = match sparse::read(proto, &self.model.folder) {
                Ok(tensor) => Value::Operand(Operand::Const(Constant::new(tensor))),
                Err(why) => {
                    self.report(damaged(format!("the sparse initializer `{}`: {why}", brief(sparse::name(proto)))));
                    Value::Broken
                }
            };
            self.define(sparse::name(proto), value);
        }
    }

    /// Reads a tensor of the file. Cached, since loop bodies are imported once per iteration.
    pub(crate) fn read_tensor(&mut self, proto: &'m TensorProto) -> Result<Tensor, String> {
        let key = std::ptr::from_ref(proto);
        if let Some(read) = self.tensors.get(&key) {
            return Ok(read.clone());
        }
        let read = tensor::read(proto, &self.model.folder)?;
        self.tensors.insert(key, read.clone());
        Ok(read)
    }

    fn weight_value(
        &mut self,
        proto: &TensorProto,
        tensor: Tensor,
        weights: &mut Option<Vec<(String, Tensor)>>,
    ) -> Value {
        let limit = if tensor.dtype().is_floating() { MAX_CONSTANT_FLOATS } else { MAX_CONSTANT_INTEGERS };
        let Some(weights) = weights.as_mut().filter(|_| tensor.element_count() > limit) else {
            return tensor::value(proto, tensor);
        };
        let Some(element) = ElementType::of(i64::from(proto.data_type)) else { return Value::Broken };
        let ty = Type::tensor(tensor.shape().iter().copied(), tensor.dtype());
        let value = self.parameter(&proto.name, ty, element);
        if let Value::Operand(Operand::Var(var)) | Value::Narrow(Operand::Var(var), _) = &value {
            weights.push((self.build.function.vars[*var].name.to_string(), tensor));
        }
        value
    }

    /// Defines an input's default value as a parameter of the input's type.
    fn default_value(
        &mut self,
        graph: &'m GraphProto,
        proto: &TensorProto,
        tensor: Tensor,
        weights: &mut Option<Vec<(String, Tensor)>>,
    ) -> Value {
        let input = graph.input.iter().find(|input| input.name == proto.name);
        match input.map(|input| self.parameter_type(input)) {
            Some(Ok((ty, element))) => {
                let value = self.parameter(&proto.name, ty, element);
                weights.get_or_insert_default().push((self.names.intern_parameter(&proto.name), tensor));
                value
            }
            Some(Err(error)) => {
                self.report(error);
                Value::Broken
            }
            None => self.weight_value(proto, tensor, weights),
        }
    }

    /// Assembles the function.
    fn finish_function(&mut self, results: &[Value], num_input: Option<usize>) {
        let results: Result<Vec<Operand>, _> = results.iter().map(|value| self.bind_result(value)).collect();
        let mut results = match results {
            Ok(results) => results,
            Err(error) => return self.report(damaged(error.message)),
        };
        let result = if results.len() == 1 { results.remove(0) } else { Operand::Tuple(results) };
        let renamed = self.renamed_sizes();
        let build = &mut self.build;
        let bindings = std::mem::take(&mut build.bindings);
        let mut function = std::mem::replace(&mut build.function, hammock_ir::relax::Function::empty());
        // A dataflow block has no branches.
        let dataflow = !bindings.iter().any(|binding| matches!(binding.value, Bound::If { .. }));
        if !dataflow {
            bindings.iter().for_each(|binding| function.vars[binding.var].dataflow = false);
        }
        let blocks = if bindings.is_empty() { Vec::new() } else { vec![Block { dataflow, bindings }] };
        function.lambda.body = Body { blocks, result };
        function.substitute_dims(&renamed);
        let ty = function.operand_ty(&build.module, &function.lambda.body.result);
        function.lambda.ret_ty = ty.closed(&function.sizes_of(&function.lambda.params));
        function.lambda.attrs.set("global_symbol", "main");
        if let Some(inputs) = num_input {
            function.lambda.attrs.set("num_input", inputs as i64);
        }
        build.module.functions.insert("main".into(), Function::Relax(function));
    }

    /// Returns a result as a variable that is visible outside the dataflow block.
    fn bind_result(&mut self, value: &Value) -> Result<Operand, hammock_ir::relax::InferError> {
        let operand = self.build.any_operand(value)?;
        let operand = match operand {
            Operand::Var(_) => operand,
            other => {
                let ty = self.build.ty(&other);
                Operand::Var(self.build.bind(ty, Bound::Operand(other))?)
            }
        };
        if let Operand::Var(var) = operand {
            self.build.function.vars[var].dataflow = false;
        }
        Ok(operand)
    }
}

/// Returns the names of a graph's initializers, dense and sparse.
pub(crate) fn initializer_names(graph: &GraphProto) -> impl Iterator<Item = &str> {
    let sparse = graph.sparse_initializer.iter().map(sparse::name);
    graph.initializer.iter().map(|tensor| tensor.name.as_str()).chain(sparse)
}

fn unsupported(input: &ValueInfoProto, what: &str) -> Diagnostic {
    let message = format!("the input `{}` is {what}, which is not supported", brief(&input.name));
    Diagnostic::error(codes::ONNX_UNSUPPORTED, message)
}

fn bad_tensor(proto: &TensorProto, why: &str) -> Diagnostic {
    let name = brief(&proto.name);
    damaged(format!("the initializer `{name}`: {why}"))
}
