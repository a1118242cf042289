//! DecomposeOpsForInference and DecomposeOpsForTraining: decompose composite operators into simpler ones.
//!
//! For inference, batch normalization uses the running statistics and returns them unchanged, whatever its attribute
//! `training`. For training, it uses the statistics of the batch and updates the running ones, and layer
//! normalization is decomposed too. In both, `tensor_to_shape` gets symbolic dimensions.

use crate::{
    Context, OptionKind, Pass, PassOption,
    analysis::functions,
    graph::KEEP_TRAINING,
    rewrite::editor::{self, Editor},
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    AttrValue, Attrs, DType, Module, PrimExpr, Type, prim,
    relax::{Call, Callee, Constant, Operand, Value},
};

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "DecomposeOps",
    doc: "Alias of DecomposeOpsForInference",
    options: &[FUNCTION, KEEP_TRAINING],
    run: for_inference,
};

/// See the module's documentation.
pub static FOR_INFERENCE: Pass = Pass {
    name: "DecomposeOpsForInference",
    doc: "Decomposes batch normalization, with the running statistics",
    options: &[FUNCTION, KEEP_TRAINING],
    run: for_inference,
};

/// See the module's documentation.
pub static FOR_TRAINING: Pass = Pass {
    name: "DecomposeOpsForTraining",
    doc: "Decomposes batch and layer normalization, with the statistics of the batch",
    options: &[FUNCTION],
    run: for_training,
};

const FUNCTION: PassOption = PassOption {
    name: "func_name",
    kind: OptionKind::Text,
    default: "\"\"",
    doc: "The only function to change; if empty, all",
};

fn for_inference(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let keep_training = context.options.is_on(KEEP_TRAINING.name);
    in_function(module, &FOR_INFERENCE, context, |e, value| {
        if let Some(call) = value.as_op("nn.batch_norm") {
            let training = call.attrs.get("training").and_then(AttrValue::as_bool) == Some(true);
            return if training && keep_training { None } else { batch_norm(e, call) };
        }
        tensor_to_shape(e, value)
    })
}

fn for_training(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    in_function(module, &FOR_TRAINING, context, |e, value| {
        if let Some(call) = value.as_op("nn.batch_norm") {
            return batch_norm_in_training(e, call);
        }
        layer_norm(e, value).or_else(|| tensor_to_shape(e, value))
    })
}

/// Applies a rule to the function named by the options, or to all.
fn in_function(
    module: &mut Module,
    pass: &Pass,
    context: &Context,
    rule: impl Fn(&mut Editor, &Value) -> Option<Value>,
) -> Result<(), Diagnostic> {
    let wanted = context.options.text(FUNCTION.name);
    if !wanted.is_empty() {
        functions::find(module, pass, &wanted)?;
    }
    editor::apply_only(module, |name, _| (wanted.is_empty() || *name == *wanted).then_some(&rule))
}

/// Decomposes batch normalization with the running statistics, which stay as they are.
fn batch_norm(e: &mut Editor, call: &Call) -> Option<Value> {
    let [data, gamma, beta, mean, variance] = call.operands()?;
    let result = normalized(e, call, data, [gamma, beta], [mean, variance])?;
    let result = e.bind(result)?;
    Some(Value::Operand(Operand::Tuple(vec![result, mean.clone(), variance.clone()])))
}

/// Decomposes batch normalization with the statistics of the batch, which update the running ones.
fn batch_norm_in_training(e: &mut Editor, call: &Call) -> Option<Value> {
    let [data, gamma, beta, mean, variance] = call.operands()?;
    let data_ty = e.tensor(data)?;
    let ndim = data_ty.ndim()? as i64;
    let axis = channel(call, ndim)?;
    let others: Vec<i64> = (0..ndim).filter(|a| *a != axis).collect();
    let batch_mean = e.emit("mean", [data.clone()], [("axis", others.clone().into())])?;
    let batch_variance = e.emit("variance", [data.clone()], [("axis", others.into())])?;
    let result = normalized(e, call, data, [gamma, beta], [&batch_mean, &batch_variance])?;
    let result = e.bind(result)?;
    let of_batch = Operand::Tuple(vec![result, batch_mean.clone(), batch_variance.clone()]);
    let of_batch = e.bind(Value::Operand(of_batch))?;
    let result = e.bind(Value::TupleGet(of_batch, 0))?;
    let momentum = call.attrs.get("momentum")?.as_float()?;
    let mut updated = |old: &Operand, new: Operand| {
        let dtype = data_ty.dtype?;
        let old = e.emit("multiply", [constant(1.0 - momentum, dtype)?, old.clone()], [])?;
        let new = e.emit("multiply", [constant(momentum, dtype)?, new], [])?;
        e.emit("add", [old, new], [])
    };
    let (mean, variance) = (updated(mean, batch_mean)?, updated(variance, batch_variance)?);
    Some(Value::Operand(Operand::Tuple(vec![result, mean, variance])))
}

/// Emits `(data - mean) / sqrt(variance + epsilon) * gamma + beta`, where all but the data have one element per
/// channel.
fn normalized(
    e: &mut Editor,
    call: &Call,
    data: &Operand,
    [gamma, beta]: [&Operand; 2],
    [mean, variance]: [&Operand; 2],
) -> Option<Value> {
    let ty = e.tensor(data)?;
    let ndim = ty.ndim()? as i64;
    let axis = channel(call, ndim)?;
    let others: Vec<i64> = (0..ndim).filter(|a| *a != axis).collect();
    let along = |e: &mut Editor, x: &Operand| e.emit("expand_dims", [x.clone()], [("axis", others.clone().into())]);
    let mean = along(e, mean)?;
    let centered = e.emit("subtract", [data.clone(), mean], [])?;
    let variance = along(e, variance)?;
    let deviation = deviation(e, call, variance, ty.dtype?)?;
    let mut result = e.make("divide", [centered, deviation], [])?;
    if is_on(call, "scale") {
        let factors = [e.bind(result)?, along(e, gamma)?];
        result = e.make("multiply", factors, [])?;
    }
    if is_on(call, "center") {
        let terms = [e.bind(result)?, along(e, beta)?];
        result = e.make("add", terms, [])?;
    }
    Some(result)
}

fn layer_norm(e: &mut Editor, value: &Value) -> Option<Value> {
    let call = value.as_op("nn.layer_norm")?;
    let [data, gamma, beta] = call.operands()?;
    let axes = call.attrs.get("axes")?;
    let reduction_attrs = [("axis", axes.clone()), ("keepdims", true.into())];
    let mean = e.emit("mean", [data.clone()], reduction_attrs.clone())?;
    let centered = e.emit("subtract", [data.clone(), mean], [])?;
    let variance = e.emit("variance", [data.clone()], reduction_attrs)?;
    let dtype = e.tensor(data)?.dtype?;
    let deviation = deviation(e, call, variance, dtype)?;
    let mut result = e.make("divide", [centered, deviation], [])?;
    if is_on(call, "scale") {
        let factors = [e.bind(result)?, gamma.clone()];
        result = e.make("multiply", factors, [])?;
    }
    if is_on(call, "center") {
        let terms = [e.bind(result)?, beta.clone()];
        result = e.make("add", terms, [])?;
    }
    Some(result)
}

/// Emits `sqrt(variance + epsilon)`.
fn deviation(e: &mut Editor, call: &Call, variance: Operand, dtype: DType) -> Option<Operand> {
    let epsilon = constant(call.attrs.get("epsilon")?.as_float()?, dtype)?;
    let variance = e.emit("add", [variance, epsilon], [])?;
    e.emit("sqrt", [variance], [])
}

/// Decomposes `tensor_to_shape`: the runtime reads the shape, whose dimensions get symbolic variables.
fn tensor_to_shape(e: &mut Editor, value: &Value) -> Option<Value> {
    let call = value.as_op("tensor_to_shape")?;
    let ty = e.value_ty(value)?;
    let Type::Shape(shape) = &ty else { return None };
    let dims: Vec<PrimExpr> = (0..shape.ndim()?).map(|_| prim::Var::int64("x").expr()).collect();
    let args = vec![Operand::Extern("vm.builtin.tensor_to_shape".into()), call.args.first()?.clone()];
    let callee = Callee::Op("call_pure_packed");
    let read = e.bind(Value::Call(Call { callee, args, attrs: Attrs::new(), ty_args: vec![ty] }))?;
    e.bind(Value::MatchCast(read, Type::shape(dims.clone())))?;
    Some(Value::Operand(Operand::Shape(dims)))
}

/// Returns the axis of the channels.
fn channel(batch_norm: &Call, ndim: i64) -> Option<i64> {
    let axis = batch_norm.attrs.get("axis")?.as_int()?;
    Some(if axis < 0 { axis + ndim } else { axis })
}

fn is_on(call: &Call, attr: &str) -> bool {
    call.attrs.get(attr).and_then(AttrValue::as_bool) == Some(true)
}

fn constant(value: f64, dtype: DType) -> Option<Operand> {
    Some(Operand::Const(Constant::float(value, dtype)?))
}
